# mypy: disable-error-code="no-untyped-call"
"""Small models with the calling conventions of LLaDA-MoE (2-D mask) and LLaDA2 (4-D mask of ones and zeros).

The feed-forward layers are dense: experts change nothing in how the models are called.
"""

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import MaskedLMOutput

from .bidirectional import Block
from .configuration_moe import LLaDA2MoeConfig, LLaDAMoEConfig


class Backbone(nn.Module):
    """The transformer without the head."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        sizes = (config.hidden_size, config.num_attention_heads, config.num_key_value_heads, config.intermediate_size)
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(*sizes, config.rope_theta, False) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=1e-6)

    def forward(self, input_ids: Any, position_ids: Any, allowed: Any) -> Any:
        """Return the last hidden states."""
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        states = self.word_embeddings(input_ids)
        for layer in self.layers:
            states = layer(states, position_ids, allowed)
        return self.norm(states)


class LLaDAMoEModelLM(PreTrainedModel):
    """LLaDA-MoE: bidirectional, 2-D mask."""

    config_class: Any = LLaDAMoEConfig
    base_model_prefix = "model"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.model = Backbone(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self, input_ids: Any = None, attention_mask: Any = None, position_ids: Any = None, **ignored: Any
    ) -> Any:
        """Return logits; ``logits[:, j]`` predicts token j."""
        allowed = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        return MaskedLMOutput(logits=self.lm_head(self.model(input_ids, position_ids, allowed)))


class LLaDA2MoeModelLM(LLaDAMoEModelLM):
    """LLaDA2: the caller brings the block-causal mask."""

    config_class = LLaDA2MoeConfig

    def forward(
        self, input_ids: Any = None, attention_mask: Any = None, position_ids: Any = None, **ignored: Any
    ) -> Any:
        """Return logits; the mask is (B, 1, S, S) with 1 = may attend."""
        if attention_mask is None or attention_mask.ndim != 4:
            raise ValueError("attention_mask must be (B, 1, S, S)")
        return MaskedLMOutput(logits=self.lm_head(self.model(input_ids, position_ids, attention_mask > 0.5)))
