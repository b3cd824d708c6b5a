"""Manifolds with logarithms accurate at 1e-9: sphere, hyperbolic space, Euclidean space and products.

`spd.py` adds the symmetric positive definite matrices. Points carry any batch shape in front; a sphere point is
[..., n], a Lorentz point [..., n + 1] with the time coordinate first, a Poincare point [..., n], an SPD point
[..., n, n]; a point of a product is the flat concatenation of its factors' points, [..., sum of sizes].

Why our own: geoopt 0.5.1 clamps the inner product at 1 - 1e-7, so two sphere points closer than 4.5e-4 get distance
4.5e-4; pymanopt returns 0 below 1e-8. Frank-Wolfe lives on small differences, so every logarithm here starts from
y - x and never from an inverse cosine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np  # np.broadcast_shapes: torch's imports sympy at its first call, 4 s
import torch
from torch import Generator, Tensor


def _safe_sqrt(square: Tensor) -> Tensor:
    """Return sqrt with value 1e-154-ish and gradient 0 (not NaN) at 0."""
    return square.clamp_min(torch.finfo(square.dtype).tiny).sqrt()


def _vecdot(u: Tensor, v: Tensor) -> Tensor:
    """Return the dot product over the last axis (half the time of (u * v).sum)."""
    product: Tensor = torch.linalg.vecdot(u, v)
    return product


def _dot(u: Tensor, v: Tensor) -> Tensor:
    """Return the dot product over the last axis, kept as size 1."""
    return _vecdot(u, v).unsqueeze(-1)


class Manifold:
    """What Frank-Wolfe needs of a manifold; `kappa` is its curvature where that is the constant +1, 0 or -1.

    Attributes:
        point_ndim: number of trailing axes that make one point.
        kappa: +1, 0, -1, or None where the curvature is not constant.
        curvature: (lowest, highest) sectional curvature.
        injectivity: injectivity radius.
    """

    point_ndim: int = 1
    kappa: int | None = None
    curvature: tuple[float, float] = (0.0, 0.0)
    injectivity: float = math.inf

    @property
    def hadamard(self) -> bool:
        """True where the curvature is nowhere positive (and the manifold simply connected)."""
        return self.curvature[1] <= 0.0

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Return <u, v>_x, [...]."""
        raise NotImplementedError(type(self).__name__)

    def exp(self, x: Tensor, u: Tensor) -> Tensor:
        """Return the point reached from x along the tangent vector u, renormalised onto the manifold."""
        raise NotImplementedError(type(self).__name__)

    def log(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the tangent vector at x that leads to y."""
        raise NotImplementedError(type(self).__name__)

    def tangent(self, x: Tensor, u: Tensor) -> Tensor:
        """Return the projection of an ambient vector onto the tangent space at x."""
        raise NotImplementedError(type(self).__name__)

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:
        """Return the Riemannian gradient made from the Euclidean one."""
        raise NotImplementedError(type(self).__name__)

    def random_tangent(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Return a standard Gaussian vector of the tangent space at each x (isotropic in its metric)."""
        raise NotImplementedError(type(self).__name__)

    def check_point(self, x: Tensor) -> None:
        """Raise ValueError unless every x is a finite point of the manifold."""
        raise NotImplementedError(type(self).__name__)

    def dimension(self, point_shape: Sequence[int]) -> int:
        """Return the dimension of the manifold whose points have this shape."""
        raise NotImplementedError(type(self).__name__)

    def norm(self, x: Tensor, u: Tensor) -> Tensor:
        """Return ||u||_x, [...]."""
        return self.inner(x, u, u).clamp_min(0.0).sqrt()

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the geodesic distance, [...]; differentiable, with gradient 0 where x = y."""
        u = self.log(x, y)
        return _safe_sqrt(self.inner(x, u, u))

    def batch_shape(self, x: Tensor) -> torch.Size:
        """Return the leading axes of x that are not the point's own."""
        return x.shape[: x.ndim - self.point_ndim]

    def expand(self, scalar: Tensor) -> Tensor:
        """Return per-problem scalars with `point_ndim` axes of size 1 appended, to multiply tangent vectors."""
        return scalar.reshape(*scalar.shape, *(1,) * self.point_ndim)

    def unit(self, x: Tensor, u: Tensor) -> Tensor:
        """Return u / ||u||_x, and 0 where u = 0."""
        return u / self.expand(_safe_sqrt(self.inner(x, u, u)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifold) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _check_finite(x: Tensor, minimum_ndim: int) -> None:
    if x.ndim < minimum_ndim or not x.is_floating_point():
        raise ValueError(
            f"a point must be a floating tensor with at least {minimum_ndim} axes (got {x.dtype}, {tuple(x.shape)})"
        )
    if not bool(torch.isfinite(x).all()):
        raise ValueError(f"a point must be finite (got {int((~torch.isfinite(x)).sum())} NaN or infinite entries)")


def _tolerance(x: Tensor) -> float:
    return 1e-9 if x.dtype == torch.float64 else 1e-4


class Euclidean(Manifold):
    """R^n, points [..., n] (or [..., n, m] with ndim=2)."""

    kappa = 0

    def __init__(self, ndim: int = 1) -> None:
        if ndim < 1:
            raise ValueError(f"ndim must be >= 1 (got {ndim})")
        self.point_ndim = ndim

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        return (u * v).sum(dim=tuple(range(-self.point_ndim, 0)))

    def exp(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return x + u

    def log(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        return y - x

    def tangent(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return u

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:  # noqa: D102
        return gradient

    def random_tangent(self, x: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: D102
        return torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device)

    def check_point(self, x: Tensor) -> None:  # noqa: D102
        _check_finite(x, self.point_ndim)

    def dimension(self, point_shape: Sequence[int]) -> int:  # noqa: D102
        return math.prod(point_shape)

    def __repr__(self) -> str:
        return f"Euclidean(ndim={self.point_ndim})"


class Sphere(Manifold):
    """The unit sphere in R^n, points [..., n], curvature +1."""

    kappa = 1
    curvature = (1.0, 1.0)
    injectivity = math.pi

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        return _vecdot(u, v)

    def exp(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        length = _safe_sqrt(_dot(u, u))
        point = length.cos() * x + (length.sin() / length) * u
        return point / _dot(point, point).sqrt()

    def log(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the tangent vector at x that leads to y.

        Raises:
            RuntimeError: if some y is the antipode of its x, where no single shortest geodesic exists.
        """
        difference = y - x
        w = difference + 0.5 * _dot(difference, difference) * x
        w = w - _dot(x, w) * x
        length = _safe_sqrt(_dot(w, w))
        cosine = _dot(x, y)
        if bool(((cosine < 0) & (length < 4 * torch.finfo(x.dtype).eps)).any()):
            raise RuntimeError("log undefined: antipodal points have no single shortest geodesic")
        return (torch.atan2(length, cosine) / length) * w

    def tangent(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return u - _dot(x, u) * x

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:  # noqa: D102
        return self.tangent(x, gradient)

    def random_tangent(self, x: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: D102
        return self.tangent(x, torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device))

    def check_point(self, x: Tensor) -> None:  # noqa: D102
        _check_finite(x, 1)
        error = float((x.norm(dim=-1) - 1).abs().max())
        if error > _tolerance(x):
            raise ValueError(
                f"a point of the sphere must have norm 1 (got a norm off by {error:.2e}): divide by the norm"
            )

    def dimension(self, point_shape: Sequence[int]) -> int:  # noqa: D102
        return point_shape[-1] - 1


def lorentz_inner(u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
    """Return the Minkowski product -u_0 v_0 + u_1 v_1 + ..., [...]."""
    if keepdim:
        return _dot(u, v) - 2 * u[..., :1] * v[..., :1]
    return _vecdot(u, v) - 2 * u[..., 0] * v[..., 0]


class Hyperbolic(Manifold):
    """Hyperbolic space of curvature -1, as the Lorentz hyperboloid [..., n + 1] or the Poincare ball [..., n]."""

    kappa = -1
    curvature = (-1.0, -1.0)

    def __new__(cls, model: str = "lorentz") -> Hyperbolic:
        """Return the class of the model asked for."""
        models = {"lorentz": Lorentz, "poincare": Poincare}
        if model not in models:
            raise ValueError(f"model must be 'lorentz' or 'poincare' (got {model!r})")
        return object.__new__(models[model] if cls is Hyperbolic else cls)

    def __init__(self, model: str = "lorentz") -> None:
        self.model = "poincare" if isinstance(self, Poincare) else "lorentz"

    def __getnewargs__(self) -> tuple[str]:
        return (self.model,)

    def __repr__(self) -> str:
        return f"Hyperbolic(model={self.model!r})"


class Lorentz(Hyperbolic):
    """The hyperboloid -x_0^2 + x_1^2 + ... = -1, x_0 > 0; made by `Hyperbolic(model="lorentz")`."""

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        return lorentz_inner(u, v)

    def exp(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        length = _safe_sqrt(lorentz_inner(u, u, keepdim=True))
        space = (length.cosh() * x + (length.sinh() / length) * u)[..., 1:]
        return torch.cat([(1 + _dot(space, space)).sqrt(), space], dim=-1)

    def log(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        difference = y - x
        w = difference - 0.5 * lorentz_inner(difference, difference, keepdim=True) * x
        w = self.tangent(x, w)
        length = _safe_sqrt(lorentz_inner(w, w, keepdim=True))
        return (torch.asinh(length) / length) * w

    def tangent(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return u + lorentz_inner(x, u, keepdim=True) * x

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:  # noqa: D102
        return self.tangent(x, torch.cat([-gradient[..., :1], gradient[..., 1:]], dim=-1))

    def random_tangent(self, x: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: D102
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device)
        noise[..., 0] = 0.0
        base = torch.zeros_like(x)
        base[..., 0] = 1.0
        return noise + lorentz_inner(x, noise, keepdim=True) / (1 + x[..., :1]) * (base + x)

    def check_point(self, x: Tensor) -> None:  # noqa: D102
        _check_finite(x, 1)
        error = float(((lorentz_inner(x, x) + 1).abs() / x[..., 0].square().clamp_min(1)).max())
        if error > _tolerance(x) or bool((x[..., 0] <= 0).any()):
            raise ValueError(f"a Lorentz point must satisfy <x,x> = -1 with x_0 > 0 (got an error of {error:.2e})")

    def dimension(self, point_shape: Sequence[int]) -> int:  # noqa: D102
        return point_shape[-1] - 1


class Poincare(Hyperbolic):
    """The open unit ball with metric 4 |du|^2 / (1 - |x|^2)^2; made by `Hyperbolic(model="poincare")`."""

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        return 4 * _vecdot(u, v) / (1 - _vecdot(x, x)).square()

    def exp(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        length, xx = _safe_sqrt(_dot(u, u)), _dot(x, x)
        tangent = torch.tanh(length / (1 - xx))  # the Moebius sum of x and tangent * u / length
        ratio = tangent / length
        xy, yy = ratio * _dot(x, u), tangent * tangent
        point = ((1 + 2 * xy + yy) * x + ((1 - xx) * ratio) * u) / (1 + 2 * xy + xx * yy)
        limit = 1 - 4 * torch.finfo(x.dtype).eps
        return point * (limit / _safe_sqrt(_dot(point, point))).clamp_max(1.0)

    def log(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        difference = y - x
        square = _dot(difference, difference)
        inside_x, inside_y = 1 - _dot(x, x), 1 - _dot(y, y)
        w = inside_x * difference - square * x
        half = torch.asinh(_safe_sqrt(square / (inside_x * inside_y)))
        return inside_x * half * w / _safe_sqrt(_dot(w, w))

    def tangent(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return u

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:  # noqa: D102
        return gradient / self._conformal(x) ** 2

    def random_tangent(self, x: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: D102
        return torch.randn(x.shape, generator=generator, dtype=x.dtype, device=x.device) / self._conformal(x)

    def check_point(self, x: Tensor) -> None:  # noqa: D102
        _check_finite(x, 1)
        largest = float(x.norm(dim=-1).max())
        if largest >= 1:
            raise ValueError(f"a Poincare point must have norm < 1 (got {largest:.6g})")

    def dimension(self, point_shape: Sequence[int]) -> int:  # noqa: D102
        return point_shape[-1]

    @staticmethod
    def _conformal(x: Tensor) -> Tensor:
        factor: Tensor = 2 / (1 - _dot(x, x))
        return factor


def lorentz_to_poincare(x: Tensor) -> Tensor:
    """Return the Poincare point [..., n] of a Lorentz point [..., n + 1]."""
    return x[..., 1:] / (1 + x[..., :1])


def poincare_to_lorentz(y: Tensor) -> Tensor:
    """Return the Lorentz point [..., n + 1] of a Poincare point [..., n]."""
    square = (y * y).sum(-1, keepdim=True)
    return torch.cat([1 + square, 2 * y], dim=-1) / (1 - square)


class Product(Manifold):
    """The product of manifolds with the sum metric; a point is the flat concatenation of the factors' points.

    Args:
        factors: the manifolds.
        shapes: the point shape of each factor, e.g. [(3,), (2, 2)].
    """

    def __init__(self, factors: Sequence[Manifold], shapes: Sequence[Sequence[int]]) -> None:
        if len(factors) != len(shapes) or not factors:
            raise ValueError(f"factors and shapes must have one length >= 1 (got {len(factors)} and {len(shapes)})")
        for factor, shape in zip(factors, shapes, strict=True):
            if len(shape) != factor.point_ndim:
                raise ValueError(f"a point of {factor} must have {factor.point_ndim} axes (got shape {tuple(shape)})")
        self.factors = tuple(factors)
        self.shapes = tuple(tuple(shape) for shape in shapes)
        self.sizes = [math.prod(shape) for shape in self.shapes]
        self.kappa = 0 if all(factor.kappa == 0 for factor in factors) else None
        several = len(factors) > 1
        lowest = min(factor.curvature[0] for factor in factors)
        highest = max(factor.curvature[1] for factor in factors)
        self.curvature = (min(lowest, 0.0), max(highest, 0.0)) if several else (lowest, highest)
        self.injectivity = min(factor.injectivity for factor in factors)

    def split(self, point: Tensor) -> list[Tensor]:
        """Return the factors' points (or tangent vectors) of a flat one."""
        parts = torch.split(point, self.sizes, dim=-1)
        return [part.reshape(*part.shape[:-1], *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def join(self, parts: Sequence[Tensor]) -> Tensor:
        """Return the flat point (or tangent vector) made of the factors' ones."""
        flat = [
            part.reshape(*part.shape[: part.ndim - len(shape)], -1)
            for part, shape in zip(parts, self.shapes, strict=True)
        ]
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in flat))
        return torch.cat([part.expand(*batch, part.shape[-1]) for part in flat], dim=-1)

    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        parts = zip(self.factors, self.split(x), self.split(u), self.split(v), strict=True)
        return torch.stack([m.inner(xi, ui, vi) for m, xi, ui, vi in parts]).sum(0)

    def exp(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return self.join([m.exp(xi, ui) for m, xi, ui in zip(self.factors, self.split(x), self.split(u), strict=True)])

    def log(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        return self.join([m.log(xi, yi) for m, xi, yi in zip(self.factors, self.split(x), self.split(y), strict=True)])

    def tangent(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return self.join(
            [m.tangent(xi, ui) for m, xi, ui in zip(self.factors, self.split(x), self.split(u), strict=True)]
        )

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:  # noqa: D102
        parts = zip(self.factors, self.split(x), self.split(gradient), strict=True)
        return self.join([m.egrad2rgrad(xi, ei) for m, xi, ei in parts])

    def random_tangent(self, x: Tensor, generator: Generator | None = None) -> Tensor:  # noqa: D102
        return self.join([m.random_tangent(xi, generator) for m, xi in zip(self.factors, self.split(x), strict=True)])

    def check_point(self, x: Tensor) -> None:  # noqa: D102
        if x.ndim < 1 or x.shape[-1] != sum(self.sizes):
            raise ValueError(f"a product point must have {sum(self.sizes)} entries (got shape {tuple(x.shape)})")
        for factor, part in zip(self.factors, self.split(x), strict=True):
            factor.check_point(part)

    def dimension(self, point_shape: Sequence[int]) -> int:  # noqa: D102
        return sum(factor.dimension(shape) for factor, shape in zip(self.factors, self.shapes, strict=True))

    def __repr__(self) -> str:
        return f"Product({list(self.factors)}, {list(self.shapes)})"
