"""Labels and spans of a trace, in one polarity: 1 = hallucinated, 0 = faithful, -1 = unknown.

Both public code bases in this field store 1 = correct; whoever reads theirs must flip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

Span = tuple[int, int, str]


def absent() -> torch.Tensor | None:
    """Return None: the default of a field that a trace may lack.

    A factory rather than a default, so that a trace read lazily has no class attribute in the way of the stored field.
    """
    return None


def as_labels(labels: int | Sequence[int] | torch.Tensor | None, *, length: int) -> torch.Tensor | None:
    """Return labels as int8, () for one label of the whole answer or (G,) for one per generated token.

    Raises:
        ValueError: a value outside {1, 0, -1}, or another number of labels than ``length``
    """
    import torch

    if labels is None:
        return None
    tensor = torch.as_tensor(labels)
    if tensor.ndim > 1 or (tensor.ndim == 1 and len(tensor) != length):
        raise ValueError(f"labels must be one value or {length}, one per generated token (got {tuple(tensor.shape)})")
    if not bool(torch.isin(tensor, torch.tensor([-1, 0, 1], dtype=tensor.dtype)).all()):
        raise ValueError(f"labels must be 1 (hallucinated), 0 (faithful) or -1 (unknown) (got {tensor.tolist()})")
    return tensor.to(torch.int8)


def answer_label(labels: torch.Tensor | None) -> int:
    """Return one label for the whole answer: 1 if any token is hallucinated, else -1 if any is unknown, else 0."""
    if labels is None or labels.numel() == 0:
        return -1
    return 1 if bool((labels == 1).any()) else int(labels.min())


def as_spans(spans: Sequence[Sequence[object]], *, length: int) -> tuple[Span, ...]:
    """Return spans as (start, end, name), half-open, in generated tokens.

    Raises:
        ValueError: a span outside 0..``length`` or empty
    """
    checked = []
    for start, end, name in spans:
        if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= length):
            raise ValueError(f"span must have 0 <= start < end <= {length} (got {(start, end, name)})")
        checked.append((start, end, str(name)))
    return tuple(checked)
