"""Which sets are strongly convex, with what constant, and what rate that predicts.

The four notions of the paper, for a constant alpha > 0 (gamma the geodesic from x to y, t in [0, 1]):

- *geodesic*: the metric ball of radius alpha t (1 - t) d(x, y)^2 around gamma(t) lies in C;
- *double geodesic*: Exp_gamma(t)(z) lies in C for ||z|| up to that radius: the same thing for the Riemannian distance;
- *Riemannian*: Log_x(C) is alpha-strongly convex as a Euclidean set, for every x in C (the strongest);
- *RSI*: <w, Log_x v> >= alpha ||w|| ||Log_x v||^2 for v maximising <w, Log_x .> over C.

Riemannian => RSI; Riemannian => geodesic on Hadamard manifolds; in R^n all coincide, and a ball of radius R has
alpha = 1 / (2R).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from iclr26_riemannian_fw.feasible.sets import FeasibleSet


@dataclass(frozen=True)
class Certificate:
    """What is known of a set's strong convexity.

    Attributes:
        kind: "riemannian", "geodesic", "none" or "estimate" (a sampled upper bound, no certificate).
        alpha: the constant, 0 for "none".
        reason: why, in a sentence.
    """

    kind: str
    alpha: float
    reason: str


def zeta(radius: float, lowest_curvature: float) -> float:
    """Return the largest eigenvalue of Hess d(c, .)^2 / 2 within `radius` (its geodesic smoothness)."""
    if lowest_curvature >= 0 or radius == 0:
        return 1.0
    scaled = radius * math.sqrt(-lowest_curvature)
    return scaled / math.tanh(scaled)


def delta(radius: float, highest_curvature: float) -> float:
    """Return the smallest eigenvalue of Hess d(c, .)^2 / 2 within `radius` (its geodesic strong convexity)."""
    if highest_curvature <= 0 or radius == 0:
        return 1.0
    scaled = radius * math.sqrt(highest_curvature)
    return scaled / math.tan(scaled)


def ball_alpha(radius: float, curvature: tuple[float, float]) -> float:
    """Return delta / (2 R sqrt(zeta)), the geodesic strong convexity of a ball of this radius."""
    return delta(radius, curvature[1]) / (2 * radius * math.sqrt(zeta(radius, curvature[0])))


def sublevel_alpha(mu: float, smoothness: float, level: float) -> float:
    """Return mu / (2 sqrt(2 s L)) for {f - f* <= s}, f mu-strongly g-convex and L-smooth (the paper's theorem)."""
    return mu / (2 * math.sqrt(2 * level * smoothness))


def certify(feasible_set: FeasibleSet) -> Certificate:
    """Return what is known of the set's strong convexity."""
    return feasible_set.certify()


def predicted_rate(alpha: float, gradient_bound: float, smoothness: float) -> float:
    """Return max(1/2, 1 - alpha c / (2 L)), by which h = f - f* shrinks per short step.

    Args:
        alpha: RSI constant of the set.
        gradient_bound: c, with ||grad f|| >= c > 0 on the set.
        smoothness: L, geodesic smoothness of f on the set.

    Raises:
        ValueError: if an argument is not positive.
    """
    for name, value in (("alpha", alpha), ("gradient_bound", gradient_bound), ("smoothness", smoothness)):
        if not value > 0:
            raise ValueError(f"{name} must be > 0 (got {value})")
    return max(0.5, 1.0 - alpha * gradient_bound / (2.0 * smoothness))


def estimate_rsi(feasible_set: FeasibleSet, n_points: int = 64, n_dirs: int = 512, seed: int = 0) -> Certificate:
    """Return the smallest sampled <w, Log_x v> / (||w|| ||Log_x v||^2): an upper bound of the RSI constant.

    Half of the points are uniform draws, half lie within 1e-2 of the boundary, where the constant of a ball is
    usually attained; of the directions half are isotropic, half lie near the direction in which x would leave the
    set, at angles spread geometrically.

    Args:
        feasible_set: a set with an oracle, not batched.
        n_points: number of points x.
        n_dirs: number of directions w at each point.
        seed: of the generator.
    """
    generator = torch.Generator().manual_seed(seed)
    manifold = feasible_set.manifold
    inner, outer = feasible_set.random(n_points, generator), feasible_set.random_boundary(n_points, generator)
    pull = 10 ** (-2 - 3 * torch.rand(n_points, generator=generator, dtype=inner.dtype))
    x = torch.cat([inner, manifold.exp(outer, manifold.expand(pull) * manifold.log(outer, inner))])
    x = x.repeat_interleave(n_dirs, dim=0)
    w = manifold.unit(x, manifold.random_tangent(x, generator))
    toward = manifold.unit(x, manifold.log(x, feasible_set.anchor.expand_as(x)))
    turn = 10 ** (-3 * torch.rand(len(x), generator=generator, dtype=x.dtype))
    near = manifold.unit(x, manifold.expand(turn) * w - toward)
    isotropic = torch.rand(len(x), generator=generator, dtype=x.dtype) < 0.5
    w = torch.where(manifold.expand(isotropic), w, near)
    answer = feasible_set.lmo(x, -w)
    length = manifold.norm(x, answer.u)
    usable = length > 1e-4
    ratio = -answer.value[usable] / length[usable] ** 2
    reason = f"smallest of {int(usable.sum())} sampled ratios: an upper bound of the RSI constant, not a certificate"
    return Certificate("estimate", float(ratio.min()), reason)
