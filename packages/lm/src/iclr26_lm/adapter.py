"""One interface to masked diffusion language models: ``logits[:, j]`` always predicts token j.

family            recognised by                       mask id          raw logits       attention
llada             model_type "llada"                  126336           aligned          2-D mask
llada-moe         the same or "lladamoe", experts     156895           aligned          2-D mask
llada2            model_type "llada2_moe"             156895           aligned          block-causal 4-D mask
dream             model_type "Dream", any case        151666           one to the left  "full" or (B, 1, S, S)
generic           any *ForMaskedLM, or ``family=``    the tokenizer's  aligned          2-D mask
bidirectional-ar  ``family=`` only                    the tokenizer's  probed           2-D mask
callable          f(ids, attention_mask) -> logits    must be given    aligned          handed on
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch

from iclr26_lm.families import Family, family_of


@runtime_checkable
class MaskedDiffusionLM(Protocol):
    """What the decoding loop needs of a model."""

    mask_token_id: int
    eos_token_ids: tuple[int, ...]
    pad_token_id: int | None
    vocab_size: int
    device: torch.device
    dtype: torch.dtype
    family: str
    logits_shift: bool

    def logits(self, ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return (B, S, V) logits of (B, S) ids; ``logits[:, j]`` predicts token j. The mask is (B, S), 0 = padding."""


class AdaptedLM:
    """A model seen through its family; made by ``adapt``.

    Args:
        model: the model, or a function of ids and attention mask
        family: how it is called
        mask_token_id: the mask token, whose own logit becomes -inf
        eos_token_ids: end-of-sequence tokens, possibly none
        pad_token_id: padding, or None
        vocab_size: V
        logits_shift: whether the model's own logits at i predict token i + 1
        block: block length of a block-causal model, else None
    """

    def __init__(
        self,
        model: Any,
        *,
        family: Family,
        mask_token_id: int,
        eos_token_ids: tuple[int, ...],
        pad_token_id: int | None,
        vocab_size: int,
        logits_shift: bool,
        block: int | None,
    ) -> None:
        self.model = model
        self.family, self._family = family.name, family
        self.mask_token_id, self.eos_token_ids, self.pad_token_id = mask_token_id, eos_token_ids, pad_token_id
        self.vocab_size, self.logits_shift, self.block = vocab_size, logits_shift, block
        self.device, self.dtype = _device_and_dtype(model)

    @torch.no_grad()
    def logits(self, ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return (B, S, V) logits, aligned, with -inf for the mask token.

        Raises:
            ValueError: the model returned another shape, or padding that its family cannot take
        """
        raw = self.raw_logits(ids, attention_mask)
        aligned = shifted(raw) if self.logits_shift else raw.clone()
        aligned[..., self.mask_token_id] = -torch.inf
        return aligned

    @torch.no_grad()
    def raw_logits(self, ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return the model's own (B, S, V) logits, as it aligns them."""
        if attention_mask is not None and attention_mask.shape != ids.shape:
            raise ValueError(
                f"attention_mask must have the shape of ids {tuple(ids.shape)} (got {tuple(attention_mask.shape)})"
            )
        raw = self._family.run(self.model, ids, attention_mask, self.block)
        if raw.shape != (*ids.shape, self.vocab_size):
            raise ValueError(f"the model must return {(*ids.shape, self.vocab_size)} logits (got {tuple(raw.shape)})")
        return raw


def shifted(raw: torch.Tensor) -> torch.Tensor:
    """Return aligned logits of a model whose logits at i predict token i + 1; the first row stays, as in Dream."""
    return torch.cat([raw[:, :1], raw[:, :-1]], dim=1)


def adapt(
    model: Any,
    tokenizer: Any = None,
    *,
    family: str = "auto",
    mask_token_id: int | None = None,
    eos_token_ids: Sequence[int] | None = None,
    vocab_size: int | None = None,
    logits_shift: bool | None = None,
    block: int | None = None,
    sentences: torch.Tensor | None = None,
) -> MaskedDiffusionLM:
    """Return a model behind the one interface; a model that is adapted already is returned as it is.

    Args:
        model: a transformers model, or a callable ``f(ids, attention_mask) -> (B, S, V) logits``
        tokenizer: its tokenizer; gives mask, eos and pad tokens where the family has no fixed ones
        family: ``"auto"`` or one of ``FAMILIES``
        mask_token_id: overrides the family's and the tokenizer's
        eos_token_ids: overrides the family's and the tokenizer's
        vocab_size: V; needed for a callable only
        logits_shift: whether logits at i predict token i + 1; None takes the family's, and probes an unknown model
        block: block length for LLaDA2's block-causal attention
        sentences: (N, S) token ids of whole sentences, for the probe

    Raises:
        ValueError: a model without a mask token, of an unknown family, or with missing ids
    """
    if isinstance(model, MaskedDiffusionLM):
        return model
    kind = family_of(model, family)
    mask = kind.mask_id(model, tokenizer) if mask_token_id is None else mask_token_id
    size = _vocabulary_size(model, vocab_size)
    if mask is None or not 0 <= mask < size:
        raise ValueError(
            f"mask_token_id must be in 0..{size - 1} (got {mask} from the {kind.name} family): pass mask_token_id="
        )
    adapted = AdaptedLM(
        model,
        family=kind,
        mask_token_id=mask,
        eos_token_ids=kind.eos_ids(model, tokenizer) if eos_token_ids is None else tuple(eos_token_ids),
        pad_token_id=getattr(tokenizer, "pad_token_id", None),
        vocab_size=size,
        logits_shift=bool(kind.logits_shift if logits_shift is None else logits_shift),
        block=block,
    )
    if kind.block_causal and block is None:
        raise ValueError(f"the {kind.name} family is block-causal: pass block=, e.g. 32 (got None)")
    if logits_shift is None and kind.logits_shift is None:
        from iclr26_lm.shift_probe import probe_shift

        adapted.logits_shift = probe_shift(adapted, sentences)
    return adapted


def _vocabulary_size(model: Any, given: int | None) -> int:
    if given is not None:
        return given
    config = getattr(model, "config", None)
    for name in ("embedding_size", "vocab_size"):
        size = getattr(config, name, None)
        if isinstance(size, int):
            return size
    raise ValueError(f"vocab_size is needed for {type(model).__name__}: it has no config that says it (got None)")


def _device_and_dtype(model: Any) -> tuple[torch.device, torch.dtype]:
    if isinstance(model, torch.nn.Module):
        parameter = next(model.parameters(), None)
        if parameter is not None:
            return parameter.device, parameter.dtype
    return torch.device("cpu"), torch.float32
