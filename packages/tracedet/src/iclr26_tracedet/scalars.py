"""Single numbers of a trace that rank answers without training; higher means more likely hallucinated.

``perplexity`` is -mean log p(token) in the pass that committed it, over the canvas positions that were predicted.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from iclr26_lm import DenoisingTrace
from torch import Tensor


def mean_entropy(trace: DenoisingTrace) -> float:
    """Return the mean over passes and positions (AveEntropy), nats."""
    return float(trace.entropy.double().mean())


def first_entropy(trace: DenoisingTrace) -> float:
    """Return the mean over positions in the first pass, nats."""
    return float(trace.entropy[0].double().mean())


def last_entropy(trace: DenoisingTrace) -> float:
    """Return the mean over positions in the last pass, nats."""
    return float(trace.entropy[-1].double().mean())


def max_entropy(trace: DenoisingTrace) -> float:
    """Return the largest entropy of the trace, nats."""
    return float(trace.entropy.max())


def commit_entropy(trace: DenoisingTrace) -> float:
    """Return the mean entropy in the pass that committed each position (LN-Entropy), nats."""
    return _mean_of_predicted(trace, trace.at_commit("entropy"))


def perplexity(trace: DenoisingTrace) -> float:
    """Return -mean log p(token) in the pass that committed it, nats per token."""
    conf = trace.at_commit("conf").double()
    return _mean_of_predicted(trace, -conf.clamp(min=torch.finfo(torch.float32).tiny).log())


SCALARS: dict[str, Callable[[DenoisingTrace], float]] = {
    "mean-entropy": mean_entropy,
    "first-entropy": first_entropy,
    "last-entropy": last_entropy,
    "max-entropy": max_entropy,
    "commit-entropy": commit_entropy,
    "perplexity": perplexity,
}


def _mean_of_predicted(trace: DenoisingTrace, values: Tensor) -> float:
    predicted = trace.commit_step >= 0
    if not bool(predicted.any()):
        raise ValueError("a trace needs at least one predicted position (got none: every position was given)")
    return float(values[predicted].double().mean())
