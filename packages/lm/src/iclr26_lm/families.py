"""Families of masked diffusion language models: how each is recognised, which ids it uses and how it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Run = Callable[[Any, torch.Tensor, "torch.Tensor | None", "int | None"], torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Family:
    """One row of the table.

    Args:
        name: as in ``adapt(family=…)``
        run: calls the model with ids (B, S), attention mask (B, S) and block length; returns its own logits
        fixed_mask: the mask id of the released checkpoints
        fixed_eos: their end-of-sequence ids
        logits_shift: whether logits at i predict token i + 1; None = not known, probe
        block_causal: whether it was trained with block-causal attention
    """

    name: str
    run: Run
    fixed_mask: int | None = None
    fixed_eos: tuple[int, ...] = ()
    logits_shift: bool | None = False
    block_causal: bool = False

    def mask_id(self, model: Any, tokenizer: Any) -> int | None:
        """Return the mask id: the released one if the vocabulary holds it, else the tokenizer's or the configuration's.

        LLaDA's configuration class has a default of 50256, which is wrong and never taken.
        """
        config, size = getattr(model, "config", None), _configured_size(model)
        if self.fixed_mask is not None and self.fixed_mask < size:
            return self.fixed_mask
        from_tokenizer = getattr(tokenizer, "mask_token_id", None)
        if from_tokenizer is not None:
            return int(from_tokenizer)
        configured = getattr(config, "mask_token_id", None)
        wrong_default = self.name.startswith("llada") and configured == 50256
        return None if configured is None or wrong_default else int(configured)

    def eos_ids(self, model: Any, tokenizer: Any) -> tuple[int, ...]:
        """Return the end-of-sequence ids: the released ones if the vocabulary holds them, else the tokenizer's."""
        config, size = getattr(model, "config", None), _configured_size(model)
        if self.fixed_eos and max(self.fixed_eos) < size:
            return self.fixed_eos
        for source in (tokenizer, config):
            value = getattr(source, "eos_token_id", None)
            if value is not None:
                return tuple(value) if isinstance(value, (list, tuple)) else (int(value),)
        return ()


def _configured_size(model: Any) -> int:
    config = getattr(model, "config", None)
    return int(getattr(config, "embedding_size", None) or getattr(config, "vocab_size", None) or 0)


def _logits_of(output: Any) -> torch.Tensor:
    logits: torch.Tensor = output if isinstance(output, torch.Tensor) else output.logits
    return logits


def _run_with_mask(model: Any, ids: torch.Tensor, mask: torch.Tensor | None, block: int | None) -> torch.Tensor:
    """Call with a 2-D attention mask; a mask of ones is left out, so that unpadded input takes the plain path."""
    if mask is None or bool(mask.bool().all()):
        return _logits_of(model(input_ids=ids))
    return _logits_of(model(input_ids=ids, attention_mask=mask.to(torch.long)))


def _run_dream(model: Any, ids: torch.Tensor, mask: torch.Tensor | None, block: int | None) -> torch.Tensor:
    """Call as Dream does itself: "full", or a (B, 1, S, S) mask and positions that begin at the first real token."""
    if mask is None or bool(mask.bool().all()):
        return _logits_of(model(ids, "full", None))
    real = mask.bool()
    if bool((real[:, 1:] < real[:, :-1]).any()):
        raise ValueError("Dream takes left padding only (got a real token before a padded one)")
    positions = (real.long().cumsum(-1) - 1).masked_fill(~real, 1)
    return _logits_of(model(ids, real[:, None, None, :] & real[:, None, :, None], positions))


def _run_block_causal(model: Any, ids: torch.Tensor, mask: torch.Tensor | None, block: int | None) -> torch.Tensor:
    """Call with a (1, 1, S, S) mask of ones where a token's block sees its own and earlier blocks, zeros elsewhere."""
    if mask is not None and not bool(mask.bool().all()):
        raise ValueError("LLaDA2 takes no padding: its blocks begin at position 0; decode prompts one by one")
    if block is None or block < 1:
        raise ValueError(f"block must be >= 1 (got {block})")
    number = torch.arange(ids.shape[1], device=ids.device) // block
    allowed = (number[:, None] >= number[None, :])[None, None]
    positions = torch.arange(ids.shape[1], device=ids.device)[None]
    dtype = getattr(model, "dtype", torch.float32)
    return _logits_of(model(ids, attention_mask=allowed.to(dtype), position_ids=positions))


def _run_callable(model: Any, ids: torch.Tensor, mask: torch.Tensor | None, block: int | None) -> torch.Tensor:
    return _logits_of(model(ids, mask))


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(name="llada", run=_run_with_mask, fixed_mask=126336, fixed_eos=(126081, 126348)),
        Family(name="llada-moe", run=_run_with_mask, fixed_mask=156895),
        Family(name="llada2", run=_run_block_causal, fixed_mask=156895, block_causal=True),
        Family(name="dream", run=_run_dream, fixed_mask=151666, fixed_eos=(151643,), logits_shift=True),
        Family(name="generic", run=_run_with_mask, logits_shift=False),
        Family(name="bidirectional-ar", run=_run_with_mask, logits_shift=None),
        Family(name="callable", run=_run_callable),
    )
}


def family_of(model: Any, name: str) -> Family:
    """Return a model's family.

    Raises:
        ValueError: an unknown name, a model without a mask token, or one that fits no family
    """
    model_type = str(getattr(getattr(model, "config", None), "model_type", ""))
    _refuse_uniform_noise(model, model_type)
    if name != "auto":
        if name not in FAMILIES:
            raise ValueError(f"family must be auto, {', '.join(FAMILIES)} (got {name!r})")
        return FAMILIES[name]
    recognised = _recognised(model, model_type.lower())
    if recognised is None:
        raise ValueError(
            f"{type(model).__name__} (model_type {model_type!r}) is no masked diffusion model that is known here: "
            f"pass family=, one of {', '.join(FAMILIES)}"
        )
    return FAMILIES[recognised]


def _recognised(model: Any, model_type: str) -> str | None:
    config = getattr(model, "config", None)
    experts = getattr(config, "num_experts", None) is not None
    if model_type.startswith("llada2"):
        return "llada2"
    if model_type.startswith("llada"):
        return "llada-moe" if experts or "moe" in model_type else "llada"
    if model_type == "dream":
        return "dream"
    if type(model).__name__.endswith("ForMaskedLM"):
        return "generic"
    return "callable" if config is None and callable(model) else None


def _refuse_uniform_noise(model: Any, model_type: str) -> None:
    if model_type.startswith("diffusion_gemma") or type(model).__name__.startswith("DiffusionGemma"):
        raise ValueError(
            f"{type(model).__name__} has no mask token: DiffusionGemma starts from uniform noise and refines a canvas "
            "with an encoder and a decoder, so there are no masked positions to commit; use its own generate()"
        )
