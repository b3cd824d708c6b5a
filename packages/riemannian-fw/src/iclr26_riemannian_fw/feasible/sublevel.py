"""Sublevel sets of strongly g-convex functions: the paper's first source of strongly convex sets."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import optimize  # type: ignore[import-untyped]
from torch import Generator, Tensor

from iclr26_riemannian_fw.feasible import convexity as constants
from iclr26_riemannian_fw.feasible.convexity import Certificate
from iclr26_riemannian_fw.feasible.lmo import LMOResult
from iclr26_riemannian_fw.feasible.sets import FeasibleSet
from iclr26_riemannian_fw.geometry.manifolds import Manifold


class SublevelSet(FeasibleSet):
    """{f - f(minimizer) <= s}, f mu-strongly g-convex and L-smooth: strongly convex by the paper's theorem.

    The oracle is numerical (scipy's SLSQP in normal coordinates at x, one problem at a time) unless one is given.

    Args:
        manifold: where f lives.
        f: differentiable torch function of one point.
        minimizer: the point where grad f = 0.
        mu: geodesic strong convexity of f on the set.
        L: geodesic smoothness of f on the set.
        s: the level, > 0.
        oracle: (manifold, x, g) -> v, instead of the numerical oracle.
    """

    def __init__(
        self,
        manifold: Manifold,
        f: Callable[[Tensor], Tensor],
        minimizer: Tensor,
        mu: float,
        L: float,
        s: float,
        *,
        oracle: Callable[[Manifold, Tensor, Tensor], Tensor] | None = None,
    ) -> None:
        manifold.check_point(minimizer)
        for name, value in (("mu", mu), ("L", L), ("s", s)):
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be > 0 and finite (got {value})")
        if mu > L:
            raise ValueError(f"mu must be <= L (got mu = {mu}, L = {L})")
        self.manifold, self.f, self.minimizer, self.mu, self.L, self.s = manifold, f, minimizer.detach(), mu, L, s
        self.oracle = oracle
        self.lowest = f(self.minimizer).detach()
        self.diameter = 2 * torch.as_tensor(math.sqrt(2 * s / mu), dtype=minimizer.dtype)

    @property
    def anchor(self) -> Tensor:  # noqa: D102
        return self.minimizer

    def excess(self, x: Tensor) -> Tensor:  # noqa: D102
        return self._map(self.f, x) - self.lowest - self.s

    def _map(self, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        batch = self.manifold.batch_shape(x)
        points = x.reshape(-1, *x.shape[len(batch) :])
        return torch.stack([function(point) for point in points]).reshape(batch)

    def lmo(self, x: Tensor, g: Tensor, memory: Any = None) -> LMOResult:  # noqa: D102
        batch = self.manifold.batch_shape(x)
        pairs = zip(x.reshape(-1, *self.minimizer.shape), g.reshape(-1, *self.minimizer.shape), strict=True)
        solved = [self._solve(one_x, one_g) for one_x, one_g in pairs]
        v = torch.stack([point for point, _ in solved]).reshape(x.shape)
        residual = torch.tensor([error for _, error in solved], dtype=x.dtype).reshape(batch)
        u = self.manifold.log(x, v)
        value = self.manifold.inner(x, g, u)
        unknown = torch.full_like(value, torch.nan)
        return LMOResult(v, u, value, torch.zeros_like(value, dtype=torch.bool), residual, unknown)

    def _solve(self, x: Tensor, g: Tensor) -> tuple[Tensor, float]:
        if self.oracle is not None:
            return self.oracle(self.manifold, x, g), 0.0
        basis = tangent_basis(self.manifold, x)
        cost = torch.stack([self.manifold.inner(x, g, b) for b in basis]).numpy()
        scale = max(float(np.linalg.norm(cost)), 1e-300)

        def slack(z: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
            coordinates = torch.tensor(z, dtype=x.dtype, requires_grad=True)
            point = self.manifold.exp(x, torch.tensordot(coordinates, basis, dims=1))
            value = self.f(point)
            (gradient,) = torch.autograd.grad(value, coordinates)
            return float(self.s - (value.detach() - self.lowest)), -gradient.numpy()

        constraint = {"type": "ineq", "fun": lambda z: slack(z)[0], "jac": lambda z: slack(z)[1]}
        toward = self.manifold.log(x, self.minimizer)
        start = torch.stack([self.manifold.inner(x, toward, b) for b in basis]).numpy()
        answer = optimize.minimize(
            lambda z: float(cost @ z) / scale,
            start,
            jac=lambda z: cost / scale,
            constraints=[constraint],
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-14},
        )
        u = self._pull_inside(x, start, answer.x, basis)
        return self.manifold.exp(x, u), 0.0 if answer.success else 1.0

    def _pull_inside(self, x: Tensor, start: Any, end: Any, basis: Tensor) -> Tensor:
        """Return the point nearest to `end` on the segment from the minimiser that satisfies the constraint."""

        def vector(share: float) -> Tensor:
            z = torch.as_tensor(start + share * (end - start), dtype=x.dtype)
            moved: Tensor = torch.tensordot(z, basis, dims=1)
            return moved

        def outside(share: float) -> bool:
            return float(self.excess(self.manifold.exp(x, vector(share)))) > 0

        low, high = 0.0, 1.0
        if not outside(high):
            return vector(high)
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if outside(middle) else (middle, high)
        return vector(low)

    def random(self, n: int, generator: Generator | None = None) -> Tensor:
        """Return n points between the minimiser and the boundary, in isotropic directions."""
        center = self.minimizer.expand(n, *self.minimizer.shape)
        u = self.manifold.unit(center, self.manifold.random_tangent(center, generator))
        low, high = torch.zeros(n, dtype=center.dtype), torch.full((n,), float(self.diameter) / 2, dtype=center.dtype)
        for _ in range(60):
            middle = 0.5 * (low + high)
            inside = self.contains(self.manifold.exp(center, self.manifold.expand(middle) * u), 0.0)
            low, high = torch.where(inside, middle, low), torch.where(inside, high, middle)
        share = torch.rand(n, generator=generator, dtype=center.dtype)
        return self.manifold.exp(center, self.manifold.expand(low * share) * u)

    def certify(self) -> Certificate:  # noqa: D102
        alpha = constants.sublevel_alpha(self.mu, self.L, self.s)
        return Certificate(
            "geodesic", alpha, "sublevel set of a strongly g-convex smooth function: mu / (2 sqrt(2 s L))"
        )


def tangent_basis(manifold: Manifold, x: Tensor) -> Tensor:
    """Return an orthonormal basis of the tangent space at one point x, [dim, *point]."""
    dimension = manifold.dimension(x.shape)
    generator = torch.Generator(device=x.device).manual_seed(0)
    basis: list[Tensor] = []
    while len(basis) < dimension:
        u = manifold.random_tangent(x, generator)
        for _ in range(2):
            for b in basis:
                u = u - manifold.inner(x, u, b) * b
        basis.append(manifold.unit(x, u))
    return torch.stack(basis)
