"""The smoothness constant L: largest curvature by power iteration, and the analytic bound for logistic loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from iclr26_core.errors import NotConverged
from numpy.typing import ArrayLike
from torch import Tensor
from torch.func import functional_call, grad
from torch.nn import Module

Loss = Callable[[Callable[..., Any], Any], Tensor]


def estimate_smoothness(
    model: Module,
    loss_fn: Loss,
    batch: Any,
    *,
    iterations: int = 500,
    tolerance: float = 1e-6,
    generator: torch.Generator | None = None,
) -> float:
    """Largest absolute Hessian eigenvalue of the loss at the model's parameters, by power iteration.

    It is L for a quadratic; for other losses it is the curvature at this point, a lower bound of L.

    Args:
        model: only parameters with ``requires_grad`` count.
        loss_fn: ``loss_fn(model, batch) -> scalar tensor``, twice differentiable.
        batch: passed on to ``loss_fn``.
        iterations: at most this many Hessian-vector products.
        tolerance: relative change of the eigenvalue estimate at which to stop.
        generator: draws the first vector, on the CPU; seed 0 when None.

    Raises:
        NotConverged: the tolerance was not reached.
        ValueError: no parameter requires a gradient.
    """
    weights = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    if not weights:
        raise ValueError("model must have a parameter that requires a gradient (got none)")

    def loss(w: dict[str, Tensor]) -> Tensor:
        return loss_fn(lambda *args, **options: functional_call(model, w, args, options), batch)

    def directional_slope(w: dict[str, Tensor], direction: dict[str, Tensor]) -> Tensor:
        slope = grad(loss)(w)
        return torch.stack([(slope[name] * v).sum() for name, v in direction.items()]).sum()

    times_hessian = grad(directional_slope)  # reverse over reverse: every operator that trains supports it
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    vector = _unit({name: torch.randn(w.shape, generator=generator).to(w) for name, w in weights.items()})
    previous, change = 0.0, float("inf")
    for _ in range(iterations):
        product = cast(dict[str, Tensor], times_hessian(weights, vector))
        curvature = _length(product)
        if curvature == 0.0:
            return 0.0
        change = abs(curvature - previous) / curvature
        if change < tolerance:
            return curvature
        previous, vector = curvature, _unit(product)
    raise NotConverged(
        f"power iteration must reach tolerance {tolerance} (got {change:.1e} after {iterations} products)"
    )


def logistic_smoothness(features: ArrayLike, ridge: float = 0.0) -> float:
    """L of the mean logistic loss of a linear model: largest eigenvalue of X^T X, over 4 m, plus the ridge.

    Args:
        features: X of shape (m, n).
        ridge: coefficient of (ridge/2) ||w||^2.
    """
    X = np.asarray(features, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"features must have shape (m, n) with m >= 1 (got {X.shape})")
    return float(np.linalg.norm(X, 2) ** 2 / (4.0 * X.shape[0]) + ridge)


def _length(vector: dict[str, Tensor]) -> float:
    return float(torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(v).double() for v in vector.values()])))


def _unit(vector: dict[str, Tensor]) -> dict[str, Tensor]:
    length = _length(vector)
    return {name: v / length for name, v in vector.items()}
