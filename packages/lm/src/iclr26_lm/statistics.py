"""Scalars of next-token distributions, computed from logits a few positions at a time.

With lse = logsumexp(l): log p(v) = l_v - lse, entropy = -sum_v p_v log p_v in nats, with 0 * -inf = 0.
Float32 throughout; a (positions, V) float32 copy exists for ``CHUNK_BYTES`` worth of positions only.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True, kw_only=True)
class TokenStatistics:
    """One scalar per position; every field has the logits' shape without the vocabulary, float32 but ``best``.

    Args:
        logsumexp: of the logits
        entropy: nats, over the full vocabulary
        logprob: natural logarithm of the given token's probability
        conf: the given token's probability
        margin: top-1 minus top-2 probability
        best: int64, the most probable token
    """

    logsumexp: torch.Tensor
    entropy: torch.Tensor
    logprob: torch.Tensor
    conf: torch.Tensor
    margin: torch.Tensor
    best: torch.Tensor


@torch.no_grad()
def token_statistics(logits: torch.Tensor, tokens: torch.Tensor | None = None) -> TokenStatistics:
    """Return the statistics of (…, V) logits for (…) tokens, or for the most probable ones if None.

    Raises:
        ValueError: NaN or +inf logits, or a position where every logit is -inf
    """
    vocabulary = logits.shape[-1]
    flat, shape = logits.reshape(-1, vocabulary), logits.shape[:-1]
    chosen = None if tokens is None else tokens.reshape(-1)
    size = max(1, CHUNK_BYTES // (4 * vocabulary))
    parts = [
        _chunk(flat[start : start + size], None if chosen is None else chosen[start : start + size])
        for start in range(0, len(flat), size)
    ]
    lse, entropy, logprob, margin, best = (torch.cat(column) for column in zip(*parts, strict=True))
    _refuse_no_distribution(lse)
    return TokenStatistics(
        logsumexp=lse.view(shape),
        entropy=entropy.view(shape),
        logprob=logprob.view(shape),
        conf=logprob.exp().view(shape),
        margin=margin.view(shape),
        best=best.view(shape),
    )


def _chunk(logits: torch.Tensor, tokens: torch.Tensor | None) -> tuple[torch.Tensor, ...]:
    scores = logits.float()
    lse = scores.logsumexp(-1)
    top = scores.topk(min(2, scores.shape[-1]), dim=-1)
    best = top.indices[:, 0]
    chosen = scores.gather(-1, (best if tokens is None else tokens)[:, None])[:, 0]
    logprob = scores - lse[:, None]
    probability = logprob.exp()
    logprob.clamp_(min=torch.finfo(logprob.dtype).min)
    entropy = -torch.linalg.vecdot(probability, logprob)
    first_two = (top.values - lse[:, None]).exp()
    margin = first_two[:, 0] - first_two[:, 1] if first_two.shape[1] > 1 else first_two[:, 0]
    return lse, entropy.clamp_(min=0.0), chosen - lse, margin, best


def _refuse_no_distribution(logsumexp: torch.Tensor) -> None:
    broken = ~torch.isfinite(logsumexp)
    if bool(broken.any()):
        place = int(broken.nonzero()[0])
        raise ValueError(f"logits at position {place} give no distribution (logsumexp {float(logsumexp[place])})")
