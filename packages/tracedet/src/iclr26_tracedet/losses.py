"""The three regularisers and the classification loss, as pure functions of keep probabilities and logits.

B traces, T passes. ``valid`` is (B, T) bool, False at padded passes; None means that no pass is padded.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

CLAMP = 1e-6  # keep probabilities are kept this far from 0 and 1 inside logarithms
POLY1_WEIGHT = 1.0  # epsilon of Poly1 (code)


def bernoulli_kl(p: Tensor, tau: float, valid: Tensor | None = None) -> Tensor:
    """Return the mean over valid passes of KL(Bernoulli(p) || Bernoulli(tau)) in nats (paper, eq. 6).

    The paper sums over passes; the mean gives beta the same meaning for every T.

        >>> round(float(bernoulli_kl(torch.tensor([0.5]), 0.25)), 6)
        0.143841

    Args:
        p: (B, T) keep probabilities
        tau: prior keep rate in (0, 1)
        valid: (B, T) bool
    """
    kept = p.clamp(CLAMP, 1.0 - CLAMP)
    divergence = kept * (kept / tau).log() + (1.0 - kept) * ((1.0 - kept) / (1.0 - tau)).log()
    return divergence.mean() if valid is None else divergence[valid].mean()


def poly1_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean of cross-entropy + (1 - probability of the target), in nats (code).

    Args:
        logits: (B, C)
        target: (B,) class indices, or (B, C) class probabilities
    """
    share = functional.one_hot(target, logits.shape[-1]).to(logits.dtype) if target.ndim == 1 else target
    of_target = (logits.softmax(-1) * share).sum(-1)
    return (functional.cross_entropy(logits, target, reduction="none") + POLY1_WEIGHT * (1.0 - of_target)).mean()


def mask_norm(p: Tensor, valid: Tensor | None = None) -> Tensor:
    """Return the L2 norm of all keep probabilities of the batch (code)."""
    kept = p if valid is None else p * valid
    return (kept.square().sum() + torch.finfo(p.dtype).tiny).sqrt()


def mask_tv(p: Tensor, valid: Tensor | None = None) -> Tensor:
    """Return the L2 norm of the differences between neighbouring passes over their number (code).

    Args:
        p: (B, T) keep probabilities, T >= 2
        valid: (B, T) bool; a difference counts where both of its passes are valid
    """
    change = p[:, 1:] - p[:, :-1]
    if valid is not None:
        change = change[valid[:, 1:] & valid[:, :-1]]
    return (change.square().sum() + torch.finfo(p.dtype).tiny).sqrt() / change.numel()


def straight_through_mask(p: Tensor, temperature: float = 1.0) -> Tensor:
    """Return a sample M of Bernoulli(p): 0 or 1 forward, the gradient of the Gumbel-softmax sample backward.

    Args:
        p: keep probabilities, any shape
        temperature: of the Gumbel-softmax; it changes gradients, not the distribution of M
    """
    kept = p.clamp(CLAMP, 1.0 - CLAMP)
    scores = torch.stack([torch.log1p(-kept), kept.log()], -1)
    return functional.gumbel_softmax(scores, tau=temperature, hard=True)[..., 1]
