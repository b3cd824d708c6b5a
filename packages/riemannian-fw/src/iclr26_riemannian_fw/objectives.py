"""Objectives of the examples and of `iclr26 run`, with the convexity and smoothness that can be proved for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from iclr26_riemannian_fw.feasible.convexity import delta, zeta
from iclr26_riemannian_fw.feasible.sets import GeodesicBall
from iclr26_riemannian_fw.geometry.manifolds import Manifold
from iclr26_riemannian_fw.geometry.matrix_functions import symmetric_log


@dataclass(frozen=True)
class FrechetMean:
    """f(x) = 1/2 sum_i w_i d(x, p_i)^2, whose gradient is -sum_i w_i Log_x p_i.

    Args:
        manifold: where the points lie.
        points: p_i, [N, point] (or [N, batch, point] for batched problems).
        weights: w_i >= 0 with sum 1, [N]; equal by default.

    Raises:
        ValueError: if there is no point or a weight is negative.
    """

    manifold: Manifold
    points: Tensor
    weights: Tensor | None = None

    def __post_init__(self) -> None:
        if len(self.points) == 0:
            raise ValueError("points must hold at least one point (got none)")
        self.manifold.check_point(self.points)
        w = self.weights
        if w is not None and (w.shape != (len(self.points),) or bool((w < 0).any()) or not float(w.sum()) > 0):
            raise ValueError(f"weights must be {len(self.points)} numbers >= 0, not all 0 (got shape {tuple(w.shape)})")

    @property
    def shares(self) -> Tensor:
        """The weights with sum 1, [N]."""
        w = torch.ones(len(self.points), dtype=self.points.dtype) if self.weights is None else self.weights
        return (w / w.sum()).to(self.points)

    def __call__(self, x: Tensor) -> Tensor:
        """Return f(x), one value per problem."""
        points = self._aligned(x)
        square = self.manifold.dist(x.expand_as(points), points).square()
        return 0.5 * self._mean(square)

    def gradient(self, x: Tensor) -> Tensor:
        """Return the Riemannian gradient at x."""
        points = self._aligned(x)
        return -self._mean(self.manifold.log(x.expand_as(points), points))

    def _mean(self, values: Tensor) -> Tensor:
        mean: Tensor = torch.tensordot(self.shares, values, dims=1)
        return mean

    def _aligned(self, x: Tensor) -> Tensor:
        """Return the points with the batch axes of x, [N, batch, point]."""
        point, own = x.shape[x.ndim - self.manifold.point_ndim :], self.points
        if own.ndim == 1 + len(point):
            own = own.reshape(len(own), *(1,) * (x.ndim - len(point)), *point)
        return own.expand(len(own), *x.shape)

    def bounds(self, ball: GeodesicBall) -> tuple[float, float]:
        """Return (mu, L): bounds of the eigenvalues of Hess f on the ball, from the distances d(c, p_i) + R.

        mu >= 0 proves f g-convex there, also where single terms are not (points beyond pi / 2 on the sphere).
        """
        distances = self.manifold.dist(ball.center.expand_as(self.points), self.points) + float(ball.radius.max())
        low, high = self.manifold.curvature
        mu = sum(float(w) * delta(float(d), high) for w, d in zip(self.shares, distances, strict=True))
        L = sum(float(w) * zeta(float(d), low) for w, d in zip(self.shares, distances, strict=True))
        if self.manifold.injectivity <= float(distances.max()):
            mu = -torch.inf
        return mu, L


@dataclass(frozen=True)
class QuadraticSphere:
    """f(x) = ||A (x - target)||^2 / 2 on the unit sphere, the paper's first example.

    Args:
        A: [m, n].
        target: [n], the zero of f.
    """

    A: Tensor
    target: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Return f(x), one value per problem."""
        return 0.5 * ((x - self.target) @ self.A.mT).square().sum(-1)

    def gradient(self, x: Tensor) -> Tensor:
        """Return the Riemannian gradient at x."""
        euclidean = ((x - self.target) @ self.A.mT) @ self.A
        return euclidean - (euclidean * x).sum(-1, keepdim=True) * x

    @property
    def smoothness(self) -> float:
        """2 ||A||^2, which bounds the Hessian on the sphere."""
        return 2.0 * float(torch.linalg.matrix_norm(self.A, 2)) ** 2


@dataclass(frozen=True)
class FreeEnergy:
    """f(X) = tr(H X) + T tr(X log X): energy minus temperature times entropy, the paper's second example.

    Args:
        H: symmetric Hamiltonian, [n, n].
        temperature: T >= 0.
    """

    H: Tensor
    temperature: float = 1.0

    def __call__(self, x: Tensor) -> Tensor:
        """Return f(X), one value per problem."""
        return ((self.H + self.temperature * symmetric_log(x)) * x).sum((-2, -1))

    def gradient(self, x: Tensor) -> Tensor:
        """Return the affine-invariant Riemannian gradient X (H + T (log X + I)) X."""
        eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        euclidean = self.H + self.temperature * (symmetric_log(x) + eye)
        half = x @ euclidean @ x
        return 0.5 * (half + half.mT)


Objective = Callable[[Tensor], Tensor]
