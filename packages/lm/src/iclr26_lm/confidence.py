"""How sure a model is of its guess at each position; higher is committed first. Float32."""

from __future__ import annotations

from enum import StrEnum

import torch

from iclr26_lm.statistics import TokenStatistics


class Confidence(StrEnum):
    """What ranks the candidates; Dream's name ``maskgit_plus`` is LLaDA's ``low_confidence``.

    ``low_confidence``: p(x0). ``topk_margin``: p1 - p2. ``entropy``: -H. ``random``: uniform in (0, 1).
    """

    LOW_CONFIDENCE = "low_confidence"
    MASKGIT_PLUS = "maskgit_plus"
    TOPK_MARGIN = "topk_margin"
    ENTROPY = "entropy"
    RANDOM = "random"


def confidence_scores(
    statistics: TokenStatistics, kind: Confidence | str, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return float32 scores in the statistics' shape.

    Dream writes the entropy as sum p log(p + 1e-10); without the 1e-10 it differs by less than V * 1e-10.

    Raises:
        ValueError: an unknown kind
    """
    known = [member.value for member in Confidence]
    if kind not in known:
        raise ValueError(f"confidence must be one of {', '.join(known)} (got {kind!r})")
    match Confidence(kind):
        case Confidence.TOPK_MARGIN:
            return statistics.margin
        case Confidence.ENTROPY:
            return -statistics.entropy
        case Confidence.RANDOM:
            shape, device = statistics.conf.shape, statistics.conf.device
            return torch.rand(shape, device=device, generator=generator)
        case _:
            return statistics.conf


def highest(scores: torch.Tensor, allowed: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Return (B, G) bool: each row's ``count`` highest-scoring allowed positions; of equal scores the lowest first.

    Args:
        scores: (B, G), finite where allowed
        allowed: (B, G) bool
        count: (B,); where fewer are allowed, all of them are taken
    """
    order = scores.masked_fill(~allowed, -torch.inf).sort(dim=-1, descending=True, stable=True).indices
    rank = torch.arange(order.shape[-1], device=order.device).expand_as(order)
    place = torch.empty_like(order).scatter_(-1, order, rank)
    return allowed & (place < count[:, None])
