"""Finds out whether a model's logits at j predict token j or token j + 1, on sentences without masks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from iclr26_lm.adapter import AdaptedLM

SENTENCES = 32


def shift_evidence(model: AdaptedLM, sentences: torch.Tensor) -> tuple[float, float]:
    """Return mean log p(token j) read at j and read at j - 1, over (N, S) sentences; the first token is left out."""
    logprob = model.raw_logits(sentences).float().log_softmax(-1)
    token = sentences[:, 1:, None]
    here = logprob[:, 1:].gather(-1, token).mean()
    before = logprob[:, :-1].gather(-1, token).mean()
    return float(here), float(before)


def probe_shift(model: AdaptedLM, sentences: torch.Tensor | None) -> bool:
    """Return whether the logits are shifted, and warn that this was found out and not known.

    Raises:
        ValueError: no sentences, or too short ones
    """
    if sentences is None or sentences.ndim != 2 or sentences.shape[1] < 2:
        got = None if sentences is None else tuple(sentences.shape)
        raise ValueError(
            f"logits_shift is not known for the {model.family} family: pass logits_shift=True or False, or "
            f"sentences=, (N, S) token ids of whole sentences to find out (got {got})"
        )
    here, before = shift_evidence(model, sentences[:SENTENCES].to(model.device))
    found = before > here
    warnings.warn(
        f"logits_shift={found} was found by probing {min(len(sentences), SENTENCES)} sentences: mean log p(token) is "
        f"{here:.3f} read in place and {before:.3f} read one to the left; pass logits_shift= to say it",
        stacklevel=3,
    )
    return found
