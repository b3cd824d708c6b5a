# mypy: disable-error-code="no-untyped-call"
"""A small model with LLaDA's layout: ``model.transformer.{wte, blocks, ln_f, ff_out}``, aligned logits, 2-D mask."""

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from .bidirectional import Block
from .configuration_llada import LLaDAConfig


class LLaDAModel(nn.Module):
    """The transformer without the wrapper."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        sizes = (config.d_model, config.n_heads, config.n_kv_heads, config.mlp_hidden_size, config.rope_theta, False)
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.embedding_size, config.d_model),
                "blocks": nn.ModuleList(Block(*sizes) for _ in range(config.n_layers)),
                "ln_f": nn.RMSNorm(config.d_model, eps=1e-5),
                "ff_out": nn.Linear(config.d_model, config.embedding_size, bias=False),
            }
        )


class LLaDAModelLM(PreTrainedModel):
    """The wrapper that ``AutoModel`` returns."""

    config_class = LLaDAConfig
    base_model_prefix = "model"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.model = LLaDAModel(config)
        self.post_init()

    def forward(
        self,
        input_ids: Any = None,
        inputs_embeds: Any = None,
        attention_mask: Any = None,
        attention_bias: Any = None,
        **ignored: Any,
    ) -> Any:
        """Return logits; ``logits[:, j]`` predicts token j."""
        parts = self.model.transformer
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        allowed = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        states = parts["wte"](input_ids)
        for block in parts["blocks"]:
            states = block(states, positions, allowed)
        return CausalLMOutputWithPast(logits=parts["ff_out"](parts["ln_f"](states)))
