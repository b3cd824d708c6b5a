"""What happens to end-of-sequence tokens while a canvas is filled.

Instruction data is padded with EOS, so a masked diffusion model is surest of EOS far to the right and global decoding
ends answers early: LLaDA-8B-Instruct scores 23.15 on GSM8K with plain global decoding and 69.4 with EOS ranked last.
"""

from __future__ import annotations

from enum import StrEnum

import torch


class EosPolicy(StrEnum):
    """``none``: as any token. ``suppress_logits``: never predicted. ``suppress_confidence``: predicted, but committed
    only when every other candidate of the pass is."""

    NONE = "none"
    SUPPRESS_LOGITS = "suppress_logits"
    SUPPRESS_CONFIDENCE = "suppress_confidence"


def eos_policy(policy: EosPolicy | str) -> EosPolicy:
    """Return the policy of that name.

    Raises:
        ValueError: an unknown name
    """
    known = [member.value for member in EosPolicy]
    if policy not in known:
        raise ValueError(f"eos must be one of {', '.join(known)} (got {policy!r})")
    return EosPolicy(policy)


def is_eos(tokens: torch.Tensor, eos_ids: tuple[int, ...]) -> torch.Tensor:
    """Return bool in the tokens' shape: which are end-of-sequence."""
    return torch.isin(tokens, torch.tensor(eos_ids, dtype=tokens.dtype, device=tokens.device))


def rank_eos_last(scores: torch.Tensor, guess: torch.Tensor, eos_ids: tuple[int, ...]) -> torch.Tensor:
    """Return scores in which every guess of EOS has one value below the others, so that the leftmost goes first.

    Finite, hence still above positions that are no candidates; else finished positions would be picked.
    """
    return torch.where(is_eos(guess, eos_ids), scores.amin(-1, keepdim=True) - 1.0, scores)


def text_length(canvas: torch.Tensor, eos_ids: tuple[int, ...]) -> torch.Tensor:
    """Return (B,) int64: how many tokens of (B, G) come before the first EOS."""
    if not eos_ids:
        return torch.full(canvas.shape[:1], canvas.shape[1], device=canvas.device)
    return (is_eos(canvas, eos_ids).cumsum(-1) == 0).sum(-1)
