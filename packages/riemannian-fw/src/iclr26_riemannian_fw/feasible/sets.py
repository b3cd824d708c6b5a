"""Feasible sets: what a set must offer, geodesic balls, product-metric balls and products.

A set knows its manifold, tests membership, answers the linear oracle, draws points and says what is known of its
strong convexity. Balls may be batched: center [..., point] and radius [...] give one ball per problem.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np  # np.broadcast_shapes: torch's imports sympy at its first call, 4 s
import torch
from torch import Generator, Tensor

from iclr26_riemannian_fw.feasible import convexity as constants
from iclr26_riemannian_fw.feasible import lmo as oracles
from iclr26_riemannian_fw.feasible.convexity import Certificate
from iclr26_riemannian_fw.feasible.lmo import LMOResult
from iclr26_riemannian_fw.geometry.manifolds import Manifold, Product


class FeasibleSet(ABC):
    """A compact geodesically convex set C with a linear minimisation oracle.

    Attributes:
        manifold: where the set lies.
        diameter: an upper bound of d(y, z) over the set (a tensor where the set is batched).
    """

    manifold: Manifold
    diameter: Tensor

    @property
    @abstractmethod
    def anchor(self) -> Tensor:
        """An interior point: the centre where there is one."""

    @abstractmethod
    def excess(self, x: Tensor) -> Tensor:
        """Return by how much x violates the constraint (<= 0 inside), one per problem."""

    @abstractmethod
    def lmo(self, x: Tensor, g: Tensor, memory: Any = None) -> LMOResult:
        """Return argmin over the set of <g, Log_x z>_x."""

    @abstractmethod
    def random(self, n: int, generator: Generator | None = None) -> Tensor:
        """Return n points of the set, [n, ..., point]."""

    @abstractmethod
    def certify(self) -> Certificate:
        """Return what is known of the set's strong convexity."""

    def contains(self, x: Tensor, tol: float = 1e-9) -> Tensor:
        """Return one bool per problem: does x satisfy the constraint up to tol?"""
        return self.excess(x) <= tol

    def comparison_bound(self, x: Tensor, g: Tensor) -> Tensor | None:
        """Return an upper bound of max over C of -<g, Log_x z> that needs no oracle, or None where none is valid."""
        return None

    def project(self, x: Tensor) -> Tensor:
        """Return the nearest point of the set (balls only)."""
        raise NotImplementedError(f"{type(self).__name__} has no projection: only geodesic balls have one")

    def random_boundary(self, n: int, generator: Generator | None = None) -> Tensor:
        """Return n points of the boundary: oracle answers to random directions at random points."""
        x = self.random(n, generator)
        return self.lmo(x, self.manifold.random_tangent(x, generator)).v

    def check_start(self, x: Tensor) -> None:
        """Raise ValueError unless every x lies in the set (1e-9, 1e-4 in float32)."""
        self.manifold.check_point(x)
        excess = float(self.excess(x).max())
        if not excess <= (1e-9 if x.dtype == torch.float64 else 1e-4):
            raise ValueError(f"x0 must lie in the set (got a constraint violated by {excess:.6g}): choose another x0")


class GeodesicBall(FeasibleSet):
    """The points within `radius` of `center`.

    Args:
        manifold: a manifold of this package (see `from_geoopt`, `from_pymanopt`).
        center: c, [..., point].
        radius: R > 0, a number or [...]; on the sphere below pi / 2.

    Raises:
        ValueError: if the centre is no point of the manifold or the ball not strictly convex.

    Example:
        >>> import torch
        >>> from iclr26_riemannian_fw import GeodesicBall, Sphere
        >>> ball = GeodesicBall(Sphere(), torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64), 0.5)
        >>> bool(ball.contains(ball.center))
        True
    """

    def __init__(self, manifold: Manifold, center: Tensor, radius: float | Tensor) -> None:
        manifold.check_point(center)
        self.manifold = manifold
        self.center = center.detach()
        self.radius = torch.as_tensor(radius, dtype=center.dtype, device=center.device)
        smallest, largest = float(self.radius.min()), float(self.radius.max())
        if not smallest > 0 or not math.isfinite(largest):
            raise ValueError(f"radius must be > 0 and finite (got {smallest if not smallest > 0 else largest})")
        limit = min(manifold.injectivity / 2, self._convexity_limit())
        if largest >= limit:
            raise ValueError(
                f"radius must be < {limit:.6g} on {manifold} (got {largest:.6g}): ball not strictly convex"
            )
        self.diameter = 2 * self.radius

    def _convexity_limit(self) -> float:
        highest = self.manifold.curvature[1]
        return math.pi / (2 * math.sqrt(highest)) if highest > 0 else math.inf

    @property
    def anchor(self) -> Tensor:  # noqa: D102
        return self.center

    def excess(self, x: Tensor) -> Tensor:  # noqa: D102
        return self.manifold.dist(self.center, x) - self.radius

    def check_start(self, x: Tensor) -> None:  # noqa: D102
        self.manifold.check_point(x)
        distance = self.manifold.dist(self.center, x)
        tolerance = 1e-9 if x.dtype == torch.float64 else 1e-4
        if bool((distance > self.radius + tolerance).any()):
            worst = int((distance - self.radius).argmax())
            far, radius = distance.flatten()[worst], self.radius.expand_as(distance).flatten()[worst]
            raise ValueError(
                f"x0 must lie in the ball (got distance {far:.6g} from the centre, radius {radius:.6g}): "
                "choose another x0 or pass project_x0=True"
            )

    def lmo(self, x: Tensor, g: Tensor, memory: Any = None) -> LMOResult:  # noqa: D102
        return oracles.geodesic_ball(self.manifold, self.center, self.radius, x, g, memory)

    def comparison_bound(self, x: Tensor, g: Tensor) -> Tensor | None:
        """Return R ||g|| - <g, Log_x c> on Hadamard manifolds, None elsewhere.

        There the law of cosines puts Log_x(B(c, R)) inside the Euclidean ball of radius R around Log_x c. On spheres
        the inclusion is false, so no bound is offered.
        """
        if not self.manifold.hadamard:
            return None
        toward = self.manifold.log(x, self.center)
        return self.radius * self.manifold.norm(x, g) - self.manifold.inner(x, g, toward)

    def project(self, x: Tensor) -> Tensor:
        """Return x, or the point at distance R on the geodesic from the centre to x."""
        toward = self.manifold.log(self.center, x)
        distance = self.manifold.norm(self.center, toward)
        factor = (self.radius / distance.clamp_min(torch.finfo(x.dtype).tiny)).clamp_max(1.0)
        moved = self.manifold.exp(self.center, self.manifold.expand(factor) * toward)
        return torch.where(self.manifold.expand(distance > self.radius), moved, x)

    def random(self, n: int, generator: Generator | None = None) -> Tensor:
        """Return n points of the ball: isotropic directions, radius R U^(1/dim)."""
        shape = self.center.shape[self.center.ndim - self.manifold.point_ndim :]
        return self._at(n, generator, 1.0 / self.manifold.dimension(shape))

    def random_boundary(self, n: int, generator: Generator | None = None) -> Tensor:
        """Return n points at distance R of the centre, in isotropic directions."""
        return self._at(n, generator, 0.0)

    def _at(self, n: int, generator: Generator | None, power: float) -> Tensor:
        batch = np.broadcast_shapes(self.manifold.batch_shape(self.center), self.radius.shape)
        point = self.center.shape[self.center.ndim - self.manifold.point_ndim :]
        center = self.center.expand(n, *batch, *point)
        u = self.manifold.unit(center, self.manifold.random_tangent(center, generator))
        share = torch.rand(n, *batch, generator=generator, dtype=center.dtype, device=center.device) ** power
        return self.manifold.exp(center, self.manifold.expand(self.radius * share) * u)

    def certify(self) -> Certificate:  # noqa: D102
        radius = float(self.radius.max())
        alpha = constants.ball_alpha(radius, self.manifold.curvature)
        if self.manifold.kappa == 0:
            return Certificate("riemannian", alpha, "a ball of a flat manifold: alpha = 1 / (2R) in every definition")
        low, high = self.manifold.curvature
        reason = f"sublevel set of d(c, .)^2 / 2 with curvature in [{low:g}, {high:g}]: delta / (2 R sqrt(zeta))"
        return Certificate("geodesic", alpha, reason)

    def __repr__(self) -> str:
        return f"GeodesicBall({self.manifold}, radius={self.radius.tolist()})"


class ProductBall(GeodesicBall):
    """The ball of the product metric, sum_i d(c_i, z_i)^2 <= R^2; strongly convex, unlike the product of balls.

    Args:
        manifold: a `Product`.
        center: flat centre, [..., sum of sizes].
        radius: R > 0.
    """

    def __init__(self, manifold: Product, center: Tensor, radius: float | Tensor) -> None:
        if not isinstance(manifold, Product):
            raise ValueError(f"manifold must be a Product (got {manifold}): use GeodesicBall")
        super().__init__(manifold, center, radius)


class ProductSet(FeasibleSet):
    """The product of sets, one per factor; geodesically convex, not strongly convex.

    Args:
        sets: the factors' sets.
        shapes: the factors' point shapes; taken from the sets' anchors by default.
    """

    def __init__(self, sets: Sequence[FeasibleSet], shapes: Sequence[Sequence[int]] | None = None) -> None:
        if not sets:
            raise ValueError("sets must hold at least one set (got none)")
        self.sets = tuple(sets)
        shapes = shapes or [s.anchor.shape[s.anchor.ndim - s.manifold.point_ndim :] for s in sets]
        self.product = Product([s.manifold for s in sets], shapes)
        self.manifold = self.product
        self.diameter = torch.stack([s.diameter.max() for s in sets]).square().sum().sqrt()

    @property
    def anchor(self) -> Tensor:  # noqa: D102
        return self.product.join([s.anchor for s in self.sets])

    def excess(self, x: Tensor) -> Tensor:  # noqa: D102
        return torch.stack([s.excess(part) for s, part in zip(self.sets, self.product.split(x), strict=True)]).amax(0)

    def lmo(self, x: Tensor, g: Tensor, memory: Any = None) -> LMOResult:  # noqa: D102
        memories = memory or [None] * len(self.sets)
        parts = zip(self.sets, self.product.split(x), self.product.split(g), memories, strict=True)
        results = [s.lmo(xi, gi, mi) for s, xi, gi, mi in parts]
        values = torch.stack([r.value for r in results])
        return LMOResult(
            v=self.product.join([r.v for r in results]),
            u=self.product.join([r.u for r in results]),
            value=values.sum(0),
            exact=torch.stack([r.exact for r in results]).all(0),
            residual=torch.stack([r.residual for r in results]).amax(0),
            slope=torch.full_like(values[0], torch.nan),
            memory=[r.memory for r in results],
        )

    def comparison_bound(self, x: Tensor, g: Tensor) -> Tensor | None:  # noqa: D102
        parts = zip(self.sets, self.product.split(x), self.product.split(g), strict=True)
        bounds = [s.comparison_bound(xi, gi) for s, xi, gi in parts]
        valid = [bound for bound in bounds if bound is not None]
        return torch.stack(valid).sum(0) if len(valid) == len(bounds) else None

    def random(self, n: int, generator: Generator | None = None) -> Tensor:  # noqa: D102
        return self.product.join([s.random(n, generator) for s in self.sets])

    def certify(self) -> Certificate:  # noqa: D102
        if len(self.sets) == 1:
            return self.sets[0].certify()
        return Certificate(
            "none", 0.0, "a product of sets has flat faces (a square): convex, not strongly convex; use ProductBall"
        )
