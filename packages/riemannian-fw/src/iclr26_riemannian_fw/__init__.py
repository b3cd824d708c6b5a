"""Riemannian Frank-Wolfe on geodesically strongly convex sets, with optimality certificates.

Names are loaded on first use, so importing the package (as discovery does) loads neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iclr26_riemannian_fw.feasible.convexity import Certificate as Certificate
    from iclr26_riemannian_fw.feasible.convexity import certify as certify
    from iclr26_riemannian_fw.feasible.convexity import estimate_rsi as estimate_rsi
    from iclr26_riemannian_fw.feasible.convexity import predicted_rate as predicted_rate
    from iclr26_riemannian_fw.feasible.interval import SPDInterval as SPDInterval
    from iclr26_riemannian_fw.feasible.lmo import LMOResult as LMOResult
    from iclr26_riemannian_fw.feasible.sets import FeasibleSet as FeasibleSet
    from iclr26_riemannian_fw.feasible.sets import GeodesicBall as GeodesicBall
    from iclr26_riemannian_fw.feasible.sets import ProductBall as ProductBall
    from iclr26_riemannian_fw.feasible.sets import ProductSet as ProductSet
    from iclr26_riemannian_fw.feasible.sublevel import SublevelSet as SublevelSet
    from iclr26_riemannian_fw.feasible.user_oracle import WithOracle as WithOracle
    from iclr26_riemannian_fw.frank_wolfe import Result as Result
    from iclr26_riemannian_fw.frank_wolfe import State as State
    from iclr26_riemannian_fw.frank_wolfe import minimize as minimize
    from iclr26_riemannian_fw.geometry.adapters import from_geoopt as from_geoopt
    from iclr26_riemannian_fw.geometry.adapters import from_pymanopt as from_pymanopt
    from iclr26_riemannian_fw.geometry.manifolds import Euclidean as Euclidean
    from iclr26_riemannian_fw.geometry.manifolds import Hyperbolic as Hyperbolic
    from iclr26_riemannian_fw.geometry.manifolds import Manifold as Manifold
    from iclr26_riemannian_fw.geometry.manifolds import Product as Product
    from iclr26_riemannian_fw.geometry.manifolds import Sphere as Sphere
    from iclr26_riemannian_fw.geometry.manifolds import lorentz_to_poincare as lorentz_to_poincare
    from iclr26_riemannian_fw.geometry.manifolds import poincare_to_lorentz as poincare_to_lorentz
    from iclr26_riemannian_fw.geometry.spd import SPD as SPD
    from iclr26_riemannian_fw.optimizer import FrankWolfe as FrankWolfe

_HOMES = {
    "geometry.adapters": ("from_geoopt", "from_pymanopt"),
    "feasible.convexity": ("Certificate", "certify", "estimate_rsi", "predicted_rate"),
    "frank_wolfe": ("Result", "State", "minimize"),
    "feasible.interval": ("SPDInterval",),
    "feasible.lmo": ("LMOResult",),
    "geometry.manifolds": (
        "Euclidean",
        "Hyperbolic",
        "Manifold",
        "Product",
        "Sphere",
        "lorentz_to_poincare",
        "poincare_to_lorentz",
    ),
    "optimizer": ("FrankWolfe",),
    "feasible.sets": ("FeasibleSet", "GeodesicBall", "ProductBall", "ProductSet"),
    "geometry.spd": ("SPD",),
    "feasible.sublevel": ("SublevelSet",),
    "feasible.user_oracle": ("WithOracle",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
