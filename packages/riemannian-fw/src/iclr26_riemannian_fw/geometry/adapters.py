"""Our manifolds for geoopt's and pymanopt's and back, with the shape conventions checked.

geoopt's and pymanopt's own logarithms are not accurate enough for a certificate (see `manifolds.py`), so an adapter
takes over the geometry and keeps only the meaning of the coordinates.
"""

from __future__ import annotations

import warnings
from typing import Any

from iclr26_core.errors import MissingExtra

from iclr26_riemannian_fw.geometry.manifolds import Euclidean, Hyperbolic, Manifold, Product, Sphere
from iclr26_riemannian_fw.geometry.spd import SPD


def from_geoopt(manifold: Any) -> Manifold:
    """Return our manifold with geoopt's coordinates.

    Args:
        manifold: geoopt Euclidean, Sphere, SphereExact, PoincareBall(c=1), Lorentz(k=1), SymmetricPositiveDefinite
            ("AIM" or "LEM"), or a ProductManifold of them.

    Raises:
        ValueError: for other manifolds or curvatures.
    """
    name = type(manifold).__name__
    if name == "Euclidean":
        return Euclidean(max(1, int(manifold.ndim)))
    if name in ("Sphere", "SphereExact"):
        if getattr(manifold, "projector", None) is not None:
            raise ValueError("a geoopt Sphere restricted to a subspace is not supported: use the whole sphere")
        return Sphere()
    if name in ("PoincareBall", "PoincareBallExact"):
        _check_curvature("c", float(manifold.c))
        return Hyperbolic("poincare")
    if name == "Lorentz":
        _check_curvature("k", float(manifold.k))
        return Hyperbolic("lorentz")
    if name == "SymmetricPositiveDefinite":
        metric = str(getattr(manifold.default_metric, "value", manifold.default_metric))
        if metric not in ("AIM", "LEM"):
            raise ValueError(f"default_metric must be 'AIM' or 'LEM' (got {metric!r})")
        return SPD("affine" if metric == "AIM" else "log-euclidean")
    if name == "ProductManifold":
        shapes = [tuple(int(n) for n in shape) for shape in manifold.shapes]
        return Product(
            [_of_rank(from_geoopt(m), len(s)) for m, s in zip(manifold.manifolds, shapes, strict=True)], shapes
        )
    raise ValueError(f"no counterpart for geoopt's {name}: use Euclidean, Sphere, PoincareBall, Lorentz or SPD")


def _check_curvature(name: str, value: float) -> None:
    if value != 1.0:
        raise ValueError(f"{name} must be 1 (got {value}): rescale distances to curvature -1")


def _of_rank(manifold: Manifold, rank: int) -> Manifold:
    return Euclidean(rank) if isinstance(manifold, Euclidean) else manifold


def from_pymanopt(manifold: Any) -> Manifold:
    """Return our manifold with pymanopt's coordinates.

    Args:
        manifold: pymanopt Euclidean, Sphere, PoincareBall(n), SymmetricPositiveDefinite(n), or a Product of them.

    Raises:
        ValueError: for other manifolds and for k > 1 copies in one.
    """
    name = type(manifold).__name__
    shape = _pymanopt_shape(manifold) if name != "Product" else ()
    if name == "Euclidean":
        return Euclidean(len(shape))
    if name == "Sphere":
        _check_rank(name, shape, 1)
        return Sphere()
    if name == "PoincareBall":
        _check_rank(name, shape, 1)
        return Hyperbolic("poincare")
    if name == "SymmetricPositiveDefinite":
        _check_rank(name, shape, 2)
        return SPD("affine")
    if name == "Product":
        return Product([from_pymanopt(m) for m in manifold.manifolds], [_pymanopt_shape(m) for m in manifold.manifolds])
    raise ValueError(
        f"no counterpart for pymanopt's {name}: use Euclidean, Sphere, PoincareBall or SymmetricPositiveDefinite"
    )


def _pymanopt_shape(manifold: Any) -> tuple[int, ...]:
    """Return the shape of pymanopt's points, from a point."""
    return tuple(manifold.random_point().shape)


def _check_rank(name: str, shape: tuple[int, ...], rank: int) -> None:
    if len(shape) != rank:
        raise ValueError(
            f"points of {name} must have {rank} axes (got shape {shape}): use one manifold per point, k = 1"
        )


def to_geoopt(manifold: Manifold) -> Any:
    """Return geoopt's manifold with our coordinates (for the baselines).

    Raises:
        ValueError: if geoopt has none.
    """
    with warnings.catch_warnings():  # geoopt 0.5.1 decorates with torch.jit.script, deprecated in torch 2.15
        warnings.simplefilter("ignore")
        import geoopt  # type: ignore[import-untyped]
    if isinstance(manifold, SPD):
        return geoopt.SymmetricPositiveDefinite("AIM" if manifold.metric == "affine" else "LEM")
    if isinstance(manifold, Hyperbolic):
        return geoopt.PoincareBall(c=1.0) if manifold.model == "poincare" else geoopt.Lorentz(k=1.0)
    if isinstance(manifold, Sphere):
        return geoopt.Sphere()
    if isinstance(manifold, Euclidean):
        return geoopt.Euclidean(ndim=manifold.point_ndim)
    raise ValueError(f"geoopt has no counterpart of {manifold}")


def to_pymanopt(manifold: Manifold, shape: tuple[int, ...]) -> Any:
    """Return pymanopt's manifold with our coordinates (for the baselines).

    Raises:
        MissingExtra: if pymanopt is not installed.
        ValueError: if pymanopt has none.
    """
    try:
        from pymanopt import manifolds  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("pymanopt", package="iclr26-riemannian-fw", extra="pymanopt") from error
    if isinstance(manifold, SPD) and manifold.metric == "affine":
        return manifolds.SymmetricPositiveDefinite(shape[-1])
    if isinstance(manifold, Hyperbolic) and manifold.model == "poincare":
        return manifolds.PoincareBall(shape[-1])
    if isinstance(manifold, Sphere):
        return manifolds.Sphere(shape[-1])
    if isinstance(manifold, Euclidean):
        return manifolds.Euclidean(*shape)
    raise ValueError(f"pymanopt has no counterpart of {manifold}")
