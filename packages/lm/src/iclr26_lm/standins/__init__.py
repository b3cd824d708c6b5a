"""Small random-weight models with the real layout of LLaDA, Dream, LLaDA-MoE and LLaDA2, for tests without a network.

A stand-in is a folder as a hub repository is: ``config.json`` with ``auto_map``, weights, a tokenizer with the real
special tokens at their real ids, and modeling code. It has the real vocabulary size, the real logits alignment and the
real attention arguments; only width and depth are small and the weights random.
"""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CODE = Path(__file__).parent / "code"
_SPECIAL: dict[str, dict[str, int]] = {
    "llada": {"<|endoftext|>": 126081, "<|mdm_mask|>": 126336, "<|eot_id|>": 126348},
    "dream": {"<|endoftext|>": 151643, "<|mask|>": 151666},
    "llada-moe": {"<|endoftext|>": 156892, "<|mask|>": 156895},
    "llada2": {"<|endoftext|>": 156892, "<|mask|>": 156895},
}
_CLASSES = {
    "llada": ("configuration_llada", "LLaDAConfig", "modeling_llada", "LLaDAModelLM"),
    "dream": ("configuration_dream", "DreamConfig", "modeling_dream", "DreamModel"),
    "llada-moe": ("configuration_moe", "LLaDAMoEConfig", "modeling_moe", "LLaDAMoEModelLM"),
    "llada2": ("configuration_moe", "LLaDA2MoeConfig", "modeling_moe", "LLaDA2MoeModelLM"),
}
_SIZES: dict[str, dict[str, Any]] = {
    "llada": {"d_model": 16, "n_layers": 2, "n_heads": 4, "mlp_hidden_size": 32, "mask_token_id": 126336},
    "dream": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    "llada-moe": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    "llada2": {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
}
_KEY_HEADS = {"llada": {}, "dream": {"num_key_value_heads": 2}}
STANDINS = tuple(_CLASSES)


def write_standin(folder: str | Path, family: str, *, seed: int = 0, config: Mapping[str, Any] | None = None) -> Path:
    """Write a stand-in to a folder and return the folder; load it with ``load_diffusion_model``.

    Args:
        folder: made if missing
        family: one of ``STANDINS``
        seed: of the random weights
        config: entries of the configuration to change

    Raises:
        ValueError: an unknown family
    """
    import torch

    from iclr26_lm.quiet import no_progress_bars

    if family not in _CLASSES:
        raise ValueError(f"family must be one of {', '.join(STANDINS)} (got {family!r})")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    configuration, config_class, modeling, model_class = _CLASSES[family]
    key_heads = _KEY_HEADS.get(family, {"num_key_value_heads": 4})
    settings = getattr(_code(configuration), config_class)(**{**_SIZES[family], **key_heads, **(config or {})})
    generator = torch.random.get_rng_state()
    torch.manual_seed(seed)
    model = getattr(_code(modeling), model_class)(settings)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    torch.random.set_rng_state(generator)
    with no_progress_bars():
        model.save_pretrained(target)
    _name_the_code(target / "config.json", configuration, config_class, modeling, model_class)
    for name in (configuration, modeling, "bidirectional"):
        shutil.copy(CODE / f"{name}.py", target / f"{name}.py")
    _tokenizer(_SPECIAL[family]).save_pretrained(target)
    return target


def _code(name: str) -> Any:
    """Import a module of the stand-ins' code under a package of its own, as transformers does."""
    return importlib.import_module(f"iclr26_lm.standins.code.{name}")


def _name_the_code(path: Path, configuration: str, config_class: str, modeling: str, model_class: str) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    content["architectures"] = [model_class]
    content["auto_map"] = {
        "AutoConfig": f"{configuration}.{config_class}",
        "AutoModel": f"{modeling}.{model_class}",
        "AutoModelForCausalLM": f"{modeling}.{model_class}",
    }
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _tokenizer(special: Mapping[str, int]) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from iclr26_lm.knowledge import FIRST, RELATIONS, SECOND, SYLLABLES, WORDS

    words = {word: place for place, word in enumerate(("<unk>", *WORDS, *RELATIONS, *SYLLABLES, *FIRST, *SECOND))}
    tokenizer: Any = Tokenizer(models.WordLevel({**words, **special}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    mask = next(token for token in special if "mask" in token)
    wrapped: Any = PreTrainedTokenizerFast
    return wrapped(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        mask_token=mask,
        padding_side="left",
    )


__all__ = ["STANDINS", "write_standin"]
