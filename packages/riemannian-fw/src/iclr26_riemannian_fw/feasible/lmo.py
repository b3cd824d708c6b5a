"""Linear minimisation oracles: argmin over a set of <g, Log_x z>, in closed form where one exists.

All take batched problems. Each returns an `LMOResult` with the point v, the tangent vector u = Log_x v, the value
<g, u> and whether that value is the exact minimum. A *numerical* oracle may stop at a value that is too high; the gap
it reports is then too small and proves nothing, which `exact` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np  # np.broadcast_shapes: torch's imports sympy at its first call, 4 s
import torch
from torch import Tensor

from iclr26_riemannian_fw.feasible.boundary_circle import best_angles
from iclr26_riemannian_fw.geometry.manifolds import Manifold, Product
from iclr26_riemannian_fw.geometry.matrix_functions import (
    compose,
    derivative,
    exp_differences,
    log_differences,
    sym,
    symmetric_log,
)
from iclr26_riemannian_fw.geometry.spd import AffineSPD, whiten

SPHERE_ITERATIONS = 200  # section 3 of the method's notes: 200 iterations, angle 1e-7
SPHERE_ANGLE = 1e-7
ARMIJO = 1e-4


@dataclass(frozen=True)
class LMOResult:
    """The answer of an oracle.

    Attributes:
        v: the minimiser over the set, shaped like x.
        u: Log_x v.
        value: <g, u>_x, one per problem.
        exact: one bool per problem; True where `value` is the minimum up to rounding.
        residual: the stationarity error of a numerical oracle (radians or relative), 0 where exact.
        slope: minus the derivative of `value` by the radius of a ball, NaN for other sets.
        memory: what a later call may start from.
    """

    v: Tensor
    u: Tensor
    value: Tensor
    exact: Tensor
    residual: Tensor
    slope: Tensor
    memory: Any = None


def exact_result(manifold: Manifold, x: Tensor, u: Tensor, value: Tensor, slope: Tensor) -> LMOResult:
    """Return the result of a closed form: v = Exp_x u, exact, residual 0."""
    yes = torch.ones_like(value, dtype=torch.bool)
    return LMOResult(manifold.exp(x, u), u, value, yes, torch.zeros_like(value), slope)


def flat_ball(manifold: Manifold, center: Tensor, radius: Tensor, x: Tensor, g: Tensor) -> LMOResult:
    """Return the exact oracle of a ball in a flat manifold: u = Log_x c - R g / ||g||."""
    toward = manifold.log(x, center)
    u = toward - manifold.expand(radius) * manifold.unit(x, g)
    length = manifold.norm(x, g)
    return exact_result(manifold, x, u, manifold.inner(x, g, toward) - radius * length, length)


def constant_curvature_ball(manifold: Manifold, center: Tensor, radius: Tensor, x: Tensor, g: Tensor) -> LMOResult:
    """Return the exact oracle of a geodesic ball on a sphere or in hyperbolic space.

    By symmetry the minimiser is a boundary point in the plane of c, x and g; `boundary_circle` finds its angle from
    four numbers: d(x, c), R, and the parts of g along and across the direction to c.
    """
    toward = manifold.log(x, center)
    distance = manifold.norm(x, toward)
    p = toward / manifold.expand(distance) if bool((distance > 0).all()) else _away(manifold, x, toward, distance, g)
    g_toward = manifold.inner(x, g, p)
    across = g - manifold.expand(g_toward) * p
    across = across - manifold.expand(manifold.inner(x, across, p)) * p
    g_across = manifold.norm(x, across)
    sideways = g_across > 8 * torch.finfo(x.dtype).eps * g_toward.abs()  # else g is parallel to p and e is noise
    g_across = torch.where(sideways, g_across, 0.0)
    e = torch.where(manifold.expand(sideways), across / manifold.expand(torch.where(sideways, g_across, 1.0)), 0.0)
    scalars = torch.stack(torch.broadcast_tensors(distance, radius, g_toward, g_across))  # type: ignore[no-untyped-call]
    solved = best_angles(manifold.kappa or 0, *scalars.detach().to("cpu", torch.float64).numpy())
    along, aside, value, slope = torch.from_numpy(solved).to(x.device, x.dtype).unbind(0)
    u = manifold.expand(along) * p + manifold.expand(aside) * e
    return exact_result(manifold, x, manifold.tangent(x, u), value, slope)


def _away(manifold: Manifold, x: Tensor, toward: Tensor, distance: Tensor, g: Tensor) -> Tensor:
    """Return the unit vector towards the centre, and -g / ||g|| where x is the centre."""
    return manifold.unit(x, torch.where(manifold.expand(distance) > 0, toward, -g))


def minimise_on_sphere(
    value_and_gradient: Callable[[Tensor], tuple[Tensor, Tensor]], start: Tensor, radius: Tensor, axes: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return (point, value, gradient norm, angle) of a local minimum over {||W|| = R}, one per problem.

    Moves along great circles towards T = -R gradient / ||gradient||: by the whole angle at first (the fixed point
    W <- T, which alone diverges for large balls), later by the angle of Barzilai and Borwein, quartered until Armijo's
    condition holds against the largest of the last ten values. That takes 22 and 52 evaluations (medians, n = 5, R = 3
    and n = 8, R = 5) where descent with doubled angles takes 35 and 158.

    Args:
        value_and_gradient: W -> (value [...], gradient shaped like W).
        start: W of norm R, [..., and `axes` trailing axes].
        radius: R, [...].
        axes: number of trailing axes that make one W.
    """
    trailing = tuple(range(-axes, 0))

    def grow(scalar: Tensor) -> Tensor:
        return scalar.reshape(*scalar.shape, *(1,) * axes)

    def dot(a: Tensor, b: Tensor) -> Tensor:
        return (a * b).sum(trailing)

    W = start
    value, gradient = value_and_gradient(W)
    tiny, eps = torch.finfo(W.dtype).tiny, torch.finfo(W.dtype).eps
    limit = max(SPHERE_ANGLE, eps**0.5)  # the value errs by the square of the angle
    last, stuck = torch.full_like(value, torch.inf), torch.zeros_like(value, dtype=torch.bool)
    heading, old_slope = torch.zeros_like(W), torch.zeros_like(value)  # of the last move, at its end
    recent = [value]
    for iteration in range(SPHERE_ITERATIONS):
        length = dot(gradient, gradient).sqrt()
        unit, target = W / grow(radius.clamp_min(tiny)), -gradient / grow(length.clamp_min(tiny))
        cosine = dot(unit, target)
        normal = target - grow(cosine) * unit
        sine = dot(normal, normal).sqrt()
        angle = torch.atan2(sine, cosine)
        moving = (angle > limit) & ~stuck & (length * radius > 0)
        if not bool(moving.any()):
            break
        direction = normal / grow(sine.clamp_min(tiny))
        slope = length * sine  # minus the derivative of the value by arc length
        # With s the last move and y the change of the gradient along it: s.s / s.y and s.y / y.y in turn.
        along = slope * dot(direction, heading)
        s_y, y_y = last * radius * (old_slope - along), slope.square() - 2 * old_slope * along + old_slope.square()
        ratio = s_y / y_y.clamp_min(tiny) if iteration % 2 else (last * radius).square() / s_y.clamp_min(tiny)
        guess = ratio * slope / radius.clamp_min(tiny)
        step = torch.where((s_y > 0) & torch.isfinite(last), torch.minimum(guess, angle), angle)
        bound = torch.stack(recent[-10:]).amax(0) + 4 * eps * value.abs()
        waiting = moving.clone()
        while bool(waiting.any()):
            trial = grow(radius) * (grow(step.cos()) * unit + grow(step.sin()) * direction)
            new_value, new_gradient = value_and_gradient(trial)
            accepted = waiting & (new_value <= bound - ARMIJO * step * radius * slope)
            chosen = grow(accepted)
            W, gradient = torch.where(chosen, trial, W), torch.where(chosen, new_gradient, gradient)
            heading = torch.where(chosen, grow(step.cos()) * direction - grow(step.sin()) * unit, heading)
            value, last = torch.where(accepted, new_value, value), torch.where(accepted, step, last)
            old_slope = torch.where(accepted, slope, old_slope)
            waiting &= ~accepted
            step = torch.where(waiting, 0.25 * step, step)
            stuck |= waiting & (step < 1e-14)
            waiting &= ~stuck
        recent.append(value)
    length = dot(gradient, gradient).sqrt()
    return W, value, length, torch.where(length * radius > 0, angle, 0.0)


def affine_spd_ball(
    manifold: Manifold, center: Tensor, radius: Tensor, x: Tensor, g: Tensor, memory: Any = None
) -> LMOResult:
    """Return a numerical oracle of a geodesic ball of affine-invariant SPD matrices.

    Points of the boundary are Z = H exp(W) H^T with C = H H^T and ||W||_F = R. With X = F F^T, S = F^-1 G F^-T and
    M = F^-1 H the objective is psi(W) = tr(S log(M exp(W) M^T)); its gradient applies Daleckii-Krein to the logarithm
    and then to the exponential.
    """
    batch = np.broadcast_shapes(manifold.batch_shape(x), manifold.batch_shape(center), radius.shape)
    radius = radius.expand(batch)
    F, H = torch.linalg.cholesky(x), torch.linalg.cholesky(center)
    M = torch.linalg.solve_triangular(F, H.expand(*batch, *H.shape[-2:]), upper=False)
    S = whiten(F, g).expand(*batch, *g.shape[-2:])

    def value_and_gradient(W: Tensor) -> tuple[Tensor, Tensor]:
        w, Q = torch.linalg.eigh(W)
        y, P = torch.linalg.eigh(sym(M @ compose(Q, w.exp()) @ M.mT))
        y = y.clamp_min(torch.finfo(y.dtype).tiny)
        value = (S * compose(P, y.log())).sum((-2, -1))
        inner = M.mT @ derivative(P, log_differences(y), S) @ M
        return value, derivative(Q, exp_differences(w), inner)

    start = _spd_start(manifold, center, radius, x, g, H)
    if memory is not None:
        better = value_and_gradient(memory)[0] <= value_and_gradient(start)[0]
        start = torch.where(better[..., None, None], memory, start)
    W, value, slope, angle = minimise_on_sphere(value_and_gradient, start, radius, axes=2)
    w, Q = torch.linalg.eigh(W)
    u = F @ symmetric_log(sym(M @ compose(Q, w.exp()) @ M.mT)) @ F.mT
    v = sym(H @ compose(Q, w.exp()) @ H.mT)
    return LMOResult(v, sym(u), value, torch.zeros_like(value, dtype=torch.bool), angle, slope, memory=W)


def _spd_start(manifold: Manifold, center: Tensor, radius: Tensor, x: Tensor, g: Tensor, H: Tensor) -> Tensor:
    """Return W of norm R from the flat answer Exp_X(Log_X C - R G / ||G||)."""
    guess = manifold.exp(x, manifold.log(x, center) - manifold.expand(radius) * manifold.unit(x, g))
    W = symmetric_log(whiten(H, guess))
    length = W.square().sum((-2, -1), keepdim=True).sqrt().clamp_min(torch.finfo(W.dtype).tiny)
    return manifold.expand(radius) * W / length


def product_ball(
    manifold: Product, center: Tensor, radius: Tensor, x: Tensor, g: Tensor, memory: Any = None
) -> LMOResult:
    """Return a numerical oracle of the ball of the product metric.

    With m_i(rho) the value of factor i's own oracle for radius rho, it minimises sum_i m_i(rho_i) over
    sum rho_i^2 = R^2; the factors report dm_i/drho, so this is a descent on a sphere of radii.
    """
    batch = np.broadcast_shapes(x.shape[:-1], center.shape[:-1], radius.shape)
    x, g, radius = x.expand(*batch, x.shape[-1]), g.expand(*batch, g.shape[-1]), radius.expand(batch)
    pieces = list(zip(manifold.factors, manifold.split(center), manifold.split(x), manifold.split(g), strict=True))

    def factor_results(rho: Tensor) -> list[LMOResult]:
        return [geodesic_ball(m, c, rho[..., i], xi, gi) for i, (m, c, xi, gi) in enumerate(pieces)]

    def value_and_gradient(rho: Tensor) -> tuple[Tensor, Tensor]:
        results = factor_results(rho)
        return torch.stack([r.value for r in results]).sum(0), -torch.stack([r.slope for r in results], dim=-1)

    lengths = torch.stack([m.norm(xi, gi) for m, _, xi, gi in pieces], dim=-1)
    total = lengths.square().sum(-1, keepdim=True).sqrt().clamp_min(torch.finfo(x.dtype).tiny)
    start = radius.unsqueeze(-1) * lengths / total
    if memory is not None:
        better = value_and_gradient(memory)[0] <= value_and_gradient(start)[0]
        start = torch.where(better.unsqueeze(-1), memory, start)
    rho, value, slope, angle = minimise_on_sphere(value_and_gradient, start, radius, axes=1)
    results = factor_results(rho)
    u, v = manifold.join([r.u for r in results]), manifold.join([r.v for r in results])
    return LMOResult(v, u, value, torch.zeros_like(value, dtype=torch.bool), angle, slope, memory=rho)


def geodesic_ball(
    manifold: Manifold, center: Tensor, radius: Tensor, x: Tensor, g: Tensor, memory: Any = None
) -> LMOResult:
    """Return argmin <g, Log_x z> over d(c, z) <= R by the manifold's own oracle.

    Args:
        manifold: where x, c and z live.
        center: c, broadcast against x.
        radius: R, [...].
        x: the points, [..., point].
        g: Riemannian gradients at x.
        memory: the `memory` of the previous call, for the numerical oracles.
    """
    if manifold.kappa == 0:
        return flat_ball(manifold, center, radius, x, g)
    if manifold.kappa is not None:
        return constant_curvature_ball(manifold, center, radius, x, g)
    if isinstance(manifold, AffineSPD):
        return affine_spd_ball(manifold, center, radius, x, g, memory)
    if isinstance(manifold, Product):
        return product_ball(manifold, center, radius, x, g, memory)
    raise ValueError(f"no ball oracle for {manifold}: wrap a callable with WithOracle")
