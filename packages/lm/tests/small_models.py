"""Random-weight models of real architectures, small enough for a test, with weights large enough to be peaked."""

from typing import Any

import torch
import transformers

STD = 0.08
SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
}
ARCHITECTURES = ("llama-gqa", "qwen3", "mistral", "gpt2")


def causal_model(name: str, *, implementation: str = "sdpa") -> Any:
    """Return a causal model; ``mistral`` has a sliding window of 4."""
    configs = {
        "llama-gqa": lambda: transformers.LlamaConfig(**SIZES, num_key_value_heads=2),
        "qwen3": lambda: transformers.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16),
        "mistral": lambda: transformers.MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=4),
        "gpt2": lambda: transformers.GPT2Config(vocab_size=97, n_embd=32, n_layer=3, n_head=4, n_positions=128),
        "gemma2": lambda: transformers.Gemma2Config(
            **SIZES, num_key_value_heads=2, head_dim=16, sliding_window=4, attn_logit_softcapping=0.05
        ),
    }
    only_eager = name == "gemma2"  # transformers has no SDPA with soft-capping
    return _made(transformers.AutoModelForCausalLM, configs[name](), "eager" if only_eager else implementation)


def bidirectional_model(*, implementation: str = "sdpa") -> Any:
    return _made(transformers.EuroBertForMaskedLM, transformers.EuroBertConfig(**SIZES, pad_token_id=0), implementation)


def _made(kind: Any, config: Any, implementation: str) -> Any:
    torch.manual_seed(0)
    make = getattr(kind, "from_config", None) or kind._from_config
    model = make(config, attn_implementation=implementation)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=STD, generator=torch.Generator().manual_seed(len(name)))
        elif "q_norm" in name or "k_norm" in name:
            torch.nn.init.constant_(parameter, 0.5)  # scores near 1, as elsewhere: float32 rounding grows with them
    return model.eval()


def tokens(length: int, *, batch: int = 1, seed: int = 1) -> torch.Tensor:
    return torch.randint(5, 97, (batch, length), generator=torch.Generator().manual_seed(seed))
