"""Symmetric positive definite matrices [..., n, n] with the affine-invariant or the log-Euclidean metric.

Affine-invariant: with the Cholesky factor X = F F^T every formula happens at the identity; the logarithm is taken of
I + F^-1 (Y - X) F^-T with `log1p` of the eigenvalues, hence accurate for close X, Y. Log-Euclidean: the matrix
logarithm is an isometry onto the flat space of symmetric matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from iclr26_riemannian_fw.geometry.manifolds import Manifold, _check_finite
from iclr26_riemannian_fw.geometry.matrix_functions import (
    compose,
    derivative,
    exp_differences,
    log_differences,
    sym,
    symmetric_exp,
    symmetric_expm1,
    symmetric_log,
    symmetric_log1p,
)

CLOSE = 3e-8  # the derivative errs by the square of the distance, the difference by 1e-15: they meet here


class SPD(Manifold):
    """Symmetric positive definite matrices; metric "affine" (curvature in [-1/2, 0]) or "log-euclidean" (flat)."""

    point_ndim = 2

    def __new__(cls, metric: str = "affine") -> SPD:
        """Return the class of the metric asked for."""
        metrics = {"affine": AffineSPD, "log-euclidean": LogEuclideanSPD}
        if metric not in metrics:
            raise ValueError(f"metric must be 'affine' or 'log-euclidean' (got {metric!r})")
        return object.__new__(metrics[metric] if cls is SPD else cls)

    def __init__(self, metric: str = "affine") -> None:
        self.metric = "log-euclidean" if isinstance(self, LogEuclideanSPD) else "affine"

    def __getnewargs__(self) -> tuple[str]:
        return (self.metric,)

    def tangent(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return sym(u)

    def check_point(self, x: Tensor) -> None:  # noqa: D102
        _check_finite(x, 2)
        if x.shape[-1] != x.shape[-2]:
            raise ValueError(f"an SPD point must be square (got shape {tuple(x.shape)})")
        scale = float(x.abs().max())
        asymmetry = float((x - x.mT).abs().max())
        if asymmetry > scale * (1e-8 if x.dtype == torch.float64 else 1e-4):
            raise ValueError(f"an SPD point must be symmetric (got an asymmetry of {asymmetry:.2e})")
        lowest = float(torch.linalg.eigvalsh(x)[..., 0].min())
        if lowest <= 0:
            raise ValueError(
                f"an SPD point must have positive eigenvalues (got {lowest:.3e}): add a small multiple of I"
            )

    def dimension(self, point_shape: Sequence[int]) -> int:  # noqa: D102
        return point_shape[-1] * (point_shape[-1] + 1) // 2

    def __repr__(self) -> str:
        return f"SPD(metric={self.metric!r})"


def symmetric_noise(x: Tensor, generator: Generator | None) -> Tensor:
    """Return symmetric matrices, standard Gaussian in the Frobenius inner product."""
    return sym(torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device))


def whiten(factor: Tensor, matrix: Tensor) -> Tensor:
    """Return F^-1 M F^-T for a lower triangular F and symmetric M."""
    half = torch.linalg.solve_triangular(factor, matrix, upper=False)
    return sym(torch.linalg.solve_triangular(factor, half.mT, upper=False))


class AffineSPD(SPD):
    """SPD with <U, V>_X = tr(X^-1 U X^-1 V); made by `SPD(metric="affine")`."""

    curvature = (-0.5, 0.0)

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        factor = torch.linalg.cholesky(x)
        first = whiten(factor, u)
        return (first * (first if v is u else whiten(factor, v))).sum((-2, -1))

    def exp(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        factor = torch.linalg.cholesky(x)
        return sym(x + factor @ symmetric_expm1(whiten(factor, u)) @ factor.mT)

    def log(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        factor = torch.linalg.cholesky(x)
        return sym(factor @ self._log_whitened(factor, x, y) @ factor.mT)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        logarithm = self._log_whitened(torch.linalg.cholesky(x), x, y)
        return (logarithm * logarithm).sum((-2, -1)).clamp_min(torch.finfo(x.dtype).tiny).sqrt()

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:  # noqa: D102
        return sym(x @ sym(gradient) @ x)

    def random_tangent(self, x: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: D102
        factor = torch.linalg.cholesky(x)
        return sym(factor @ symmetric_noise(x, generator) @ factor.mT)

    @staticmethod
    def _log_whitened(factor: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return symmetric_log1p(whiten(factor, y - x))


class LogEuclideanSPD(SPD):
    """SPD with d(X, Y) = ||log X - log Y||_F; made by `SPD(metric="log-euclidean")`.

    `dist` can be differentiated everywhere; `log` and `exp` in x only where the eigenvalues of x differ.
    """

    kappa = 0

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        first = self.flatten(x, u)
        return (first * (first if v is u else self.flatten(x, v))).sum((-2, -1))

    def exp(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        values, vectors = torch.linalg.eigh(x)
        far = symmetric_exp(compose(vectors, values.log()) + derivative(vectors, log_differences(values), u))
        return torch.where(_close(values, u), x + sym(u), far)

    def log(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        return self.unflatten(x, _log_difference(x, y))

    def dist(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        difference = _log_difference(x, y)
        return (difference * difference).sum((-2, -1)).clamp_min(torch.finfo(x.dtype).tiny).sqrt()

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:  # noqa: D102
        return self.unflatten(x, self.unflatten(x, sym(gradient)))

    def random_tangent(self, x: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: D102
        return self.unflatten(x, symmetric_noise(x, generator))

    @staticmethod
    def flatten(x: Tensor, u: Tensor) -> Tensor:
        """Return the derivative of the matrix logarithm at x in direction u: u in the flat chart."""
        values, vectors = torch.linalg.eigh(x)
        return derivative(vectors, log_differences(values), u)

    @staticmethod
    def unflatten(x: Tensor, s: Tensor) -> Tensor:
        """Return the derivative of the matrix exponential at log x in direction s: back from the flat chart."""
        values, vectors = torch.linalg.eigh(x)
        return derivative(vectors, exp_differences(values.log()), s)


def _log_difference(x: Tensor, y: Tensor) -> Tensor:
    """Return log y - log x; below a relative distance of 3e-8 by the derivative at x, where the difference cancels."""
    values, vectors = torch.linalg.eigh(x.detach())
    near = derivative(vectors, log_differences(values), y - x)
    return torch.where(_close(values, y - x), near, symmetric_log(y) - symmetric_log(x))


def _close(eigenvalues: Tensor, difference: Tensor) -> Tensor:
    """Return, broadcastable to matrices, whether the difference is below `CLOSE` of the least eigenvalue."""
    length = difference.detach().square().sum((-2, -1)).sqrt()
    return (length < CLOSE * eigenvalues.detach()[..., 0])[..., None, None]
