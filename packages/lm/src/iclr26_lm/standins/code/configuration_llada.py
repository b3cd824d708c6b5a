# mypy: disable-error-code="no-untyped-call"
"""Configuration with LLaDA's names, its wrong default mask id included."""

from typing import Any

from transformers import PretrainedConfig


class LLaDAConfig(PretrainedConfig):
    """LLaDA names its sizes ``d_model``, ``n_layers`` …; transformers' names point at them."""

    model_type = "llada"
    attribute_map = {"hidden_size": "d_model", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads"}  # noqa: RUF012

    def __init__(
        self,
        d_model: Any = 4096,
        n_layers: Any = 32,
        n_heads: Any = 32,
        n_kv_heads: Any = None,
        mlp_hidden_size: Any = 12288,
        embedding_size: Any = 126464,
        vocab_size: Any = 126464,
        rope_theta: Any = 500000.0,
        mask_token_id: Any = 50256,
        **options: Any,
    ) -> None:
        self.d_model, self.n_layers, self.n_heads = d_model, n_layers, n_heads
        self.n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        self.mlp_hidden_size, self.embedding_size, self.vocab_size = mlp_hidden_size, embedding_size, vocab_size
        self.rope_theta, self.mask_token_id = rope_theta, mask_token_id
        super().__init__(**options)
