# mypy: disable-error-code="no-untyped-call"
"""A small model with Dream's layout and calls: mask ``"full"`` or (B, 1, S, S) bool, logits one to the left."""

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import MaskedLMOutput

from .bidirectional import Block
from .configuration_dream import DreamConfig


class DreamBaseModel(nn.Module):
    """The transformer without the head."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        sizes = (config.hidden_size, config.num_attention_heads, config.num_key_value_heads, config.intermediate_size)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(*sizes, config.rope_theta, True) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=1e-6)


class DreamModel(PreTrainedModel):
    """The model that ``AutoModel`` returns."""

    config_class = DreamConfig
    base_model_prefix = "model"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.model = DreamBaseModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Any = None,
        attention_mask: Any = None,
        position_ids: Any = None,
        num_logits_to_keep: Any = 0,
        **ignored: Any,
    ) -> Any:
        """Return logits; ``logits[:, i]`` predicts token i + 1."""
        if isinstance(attention_mask, str):
            if attention_mask != "full":
                raise ValueError(f"attention_mask must be 'full' or a bool tensor (got {attention_mask!r})")
            allowed = None
        elif attention_mask is None or attention_mask.dtype != torch.bool or attention_mask.ndim != 4:
            raise ValueError("attention_mask must be 'full' or a (B, 1, S, S) bool tensor")
        else:
            allowed = attention_mask
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        states = self.model.embed_tokens(input_ids)
        for layer in self.model.layers:
            states = layer(states, position_ids, allowed)
        return MaskedLMOutput(logits=self.lm_head(self.model.norm(states)))
