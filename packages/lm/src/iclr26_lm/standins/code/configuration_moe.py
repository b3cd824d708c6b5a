# mypy: disable-error-code="no-untyped-call"
"""Configuration with the names of LLaDA-MoE (model_type ``llada``, as released) and LLaDA2 (``llada2_moe``)."""

from typing import Any

from transformers import PretrainedConfig


class LLaDAMoEConfig(PretrainedConfig):
    """LLaDA-MoE; released under the same model_type as the dense LLaDA."""

    model_type = "llada"

    def __init__(
        self,
        vocab_size: Any = 157184,
        hidden_size: Any = 2048,
        intermediate_size: Any = 8192,
        num_hidden_layers: Any = 16,
        num_attention_heads: Any = 16,
        num_key_value_heads: Any = 16,
        num_experts: Any = 64,
        num_experts_per_tok: Any = 8,
        rope_theta: Any = 50000.0,
        pad_token_id: Any = 156892,
        **options: Any,
    ) -> None:
        self.vocab_size, self.hidden_size, self.intermediate_size = vocab_size, hidden_size, intermediate_size
        self.num_hidden_layers, self.num_attention_heads = num_hidden_layers, num_attention_heads
        self.num_key_value_heads, self.rope_theta = num_key_value_heads, rope_theta
        self.num_experts, self.num_experts_per_tok = num_experts, num_experts_per_tok
        super().__init__(**{"pad_token_id": pad_token_id, **options})


class LLaDA2MoeConfig(LLaDAMoEConfig):
    """LLaDA2."""

    model_type = "llada2_moe"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
