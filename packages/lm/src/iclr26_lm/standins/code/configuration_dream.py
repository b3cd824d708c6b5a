# mypy: disable-error-code="no-untyped-call"
"""Configuration with Dream's names, which are Qwen2's."""

from typing import Any

from transformers import PretrainedConfig


class DreamConfig(PretrainedConfig):
    """Sizes of Dream-7B by default."""

    model_type = "Dream"

    def __init__(
        self,
        vocab_size: Any = 152064,
        hidden_size: Any = 3584,
        intermediate_size: Any = 18944,
        num_hidden_layers: Any = 28,
        num_attention_heads: Any = 28,
        num_key_value_heads: Any = 4,
        rope_theta: Any = 1000000.0,
        mask_token_id: Any = 151666,
        pad_token_id: Any = 151643,
        **options: Any,
    ) -> None:
        self.vocab_size, self.hidden_size, self.intermediate_size = vocab_size, hidden_size, intermediate_size
        self.num_hidden_layers, self.num_attention_heads = num_hidden_layers, num_attention_heads
        self.num_key_value_heads, self.rope_theta, self.mask_token_id = num_key_value_heads, rope_theta, mask_token_id
        super().__init__(**{"pad_token_id": pad_token_id, **options})
