"""Figures of a detector's scores: AUROC with an interval, area under precision-recall, F1, rates at fixed points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
RESAMPLES = 1000


def auroc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the probability that a hallucinated example scores above a faithful one, ties counting half.

        >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
        0.875

    Raises:
        ValueError: only one class
    """
    truth, values = _checked(labels, scores)
    _, tie = np.unique(values, return_inverse=True)
    area = _weighted_auroc(truth, np.ones(len(truth)), tie)
    assert area is not None
    return area


def auroc_interval(
    labels: ArrayLike, scores: ArrayLike, *, seed: int = 0, groups: ArrayLike | None = None
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the AUROC; whole groups are drawn where groups are given."""
    truth, values = _checked(labels, scores)
    _, group = np.unique(np.arange(len(truth)) if groups is None else np.asarray(groups), return_inverse=True)
    draw = np.random.default_rng(seed)
    order = np.argsort(values, kind="stable")
    _, tie = np.unique(values[order], return_inverse=True)
    found = []
    for _ in range(RESAMPLES):
        counts = np.bincount(draw.integers(0, group.max() + 1, group.max() + 1), minlength=group.max() + 1)
        weight = counts[group][order].astype(np.float64)
        area = _weighted_auroc(truth[order], weight, tie)
        if area is not None:
            found.append(area)
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


def _weighted_auroc(truth: NDArray[np.bool_], weight: Array, tie: NDArray[np.intp]) -> float | None:
    """Return the AUROC of examples, each counted ``weight`` times; None if a class is missing.

    ``tie`` ranks the scores from 0, equal ones alike.
    """
    positive = np.bincount(tie, weights=weight * truth)
    negative = np.bincount(tie, weights=weight * ~truth)
    pairs = positive.sum() * negative.sum()
    if pairs == 0.0:
        return None
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / pairs)


def detection_metrics(labels: ArrayLike, scores: ArrayLike) -> dict[str, float]:
    """Return auroc, aupr, f1 (at 0.5), tpr_at_fpr01 (true positives at 1 % false ones), fpr_at_tpr95, base_rate.

    Raises:
        ValueError: only one class
    """
    from sklearn.metrics import average_precision_score, f1_score, roc_curve  # type: ignore[import-untyped]

    truth, values = _checked(labels, scores)
    false_positive, true_positive, _ = roc_curve(truth, values)
    return {
        "auroc": auroc(truth, values),
        "aupr": float(average_precision_score(truth, values)),
        "f1": float(f1_score(truth, values > 0.5, zero_division=0.0)),
        "tpr_at_fpr01": float(true_positive[false_positive <= 0.01].max()),
        "fpr_at_tpr95": float(false_positive[true_positive >= 0.95].min()),
        "base_rate": float(truth.mean()),
    }


def _checked(labels: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Any]:
    truth, values = np.asarray(labels) > 0.5, np.asarray(scores, dtype=np.float64)
    if truth.shape != values.shape or truth.ndim != 1:
        raise ValueError(f"labels and scores must have the same shape (N,) (got {truth.shape} and {values.shape})")
    if truth.all() or not truth.any():
        raise ValueError(f"an AUROC needs both classes (got {int(truth.sum())} hallucinated of {len(truth)})")
    return truth, values
