"""What people use today for min f over a geodesic ball, and an independent reference.

Projected gradient is the fair rival: on a ball the projection is one geodesic. A penalty with geoopt's or pymanopt's
solvers is what their users fall back to. scipy's SLSQP in normal coordinates checks small problems.

Every function calls `observe(x)` once per iterate and stops when that returns True, so that a caller can time them and
certify their iterates off the clock.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from iclr26_riemannian_fw.feasible.sets import GeodesicBall
from iclr26_riemannian_fw.feasible.sublevel import tangent_basis
from iclr26_riemannian_fw.geometry.adapters import to_geoopt, to_pymanopt
from iclr26_riemannian_fw.geometry.manifolds import Manifold

Function = Callable[[Tensor], Tensor]
Observer = Callable[[Tensor], bool]
PENALTIES = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)


class StoppedError(Exception):
    """The observer asked to stop."""


def never(x: Tensor) -> bool:
    """Return False: observe nothing."""
    return False


def value_and_gradient(manifold: Manifold, f: Function, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return f(x) and its Riemannian gradient by autograd."""
    with torch.enable_grad():
        leaf = x.detach().requires_grad_(True)
        value = f(leaf)
        (gradient,) = torch.autograd.grad(value, leaf)
    return value.detach(), manifold.egrad2rgrad(x, gradient)


def projected_gradient(
    f: Function,
    x0: Tensor,
    ball: GeodesicBall,
    *,
    gradient: Function | None = None,
    max_iter: int = 1000,
    tol: float = 1e-12,
    observe: Observer = never,
) -> Tensor:
    """Return the last iterate of x <- project(Exp_x(-s grad f)), s backtracked with Armijo, then doubled.

    Args:
        f: torch function of one point.
        x0: start.
        ball: the constraint.
        gradient: Riemannian gradient; by default autograd's.
        max_iter: most steps.
        tol: stop when a step moves less than this, or when three in a row gain nothing beyond rounding.
        observe: sees every iterate.
    """
    manifold, x, rate, stalled = ball.manifold, x0, 1.0, 0
    for _ in range(max_iter):
        value, g = (f(x), gradient(x)) if gradient else value_and_gradient(manifold, f, x)
        if not bool(torch.isfinite(g).all()):
            raise RuntimeError("the gradient must be finite (got NaN or infinite entries)")
        for _ in range(60):
            trial = ball.project(manifold.exp(x, -rate * g))
            move = manifold.log(x, trial)
            bound = value + manifold.inner(x, g, move) + 0.5 / rate * manifold.inner(x, move, move)
            if float(f(trial)) <= float(bound) + 1e-15 * max(1.0, abs(float(value))):
                break
            rate *= 0.5
        else:  # no step descends beyond rounding
            return x
        moved = float(manifold.norm(x, move))
        gained = float(value) - float(f(trial)) > 1e-15 * max(1.0, abs(float(value)))
        x, rate, stalled = trial, 2.0 * rate, 0 if gained else stalled + 1
        if observe(x) or moved <= tol or stalled == 3:
            break
    return x


def penalised(f: Function, ball: GeodesicBall, rho: float) -> Function:
    """Return x -> f(x) + rho max(0, d(c, x) - R)^2."""

    def function(x: Tensor) -> Tensor:
        excess = (ball.manifold.dist(ball.center, x) - ball.radius).clamp_min(0.0)
        return f(x) + rho * excess * excess

    return function


def geoopt_penalty(
    f: Function,
    x0: Tensor,
    ball: GeodesicBall,
    *,
    optimizer: str = "line-search",
    penalties: Sequence[float] = PENALTIES,
    max_iter: int = 200,
    learning_rate: float = 1e-2,
    observe: Observer = never,
) -> Tensor:
    """Return the last iterate of geoopt's optimiser on f + rho max(0, d - R)^2, rho rising, each stage warm-started.

    The iterates lie slightly outside of the ball. f and the distance are ours, so geoopt's clamped logarithm does no
    harm; its retraction, transport and line search do the work.

    Args:
        f: torch function of one point.
        x0: start.
        ball: the constraint.
        optimizer: "line-search" (RiemannianLineSearch, Wolfe, Polak-Ribiere) or "sgd" (RiemannianSGD).
        penalties: the values of rho.
        max_iter: most steps per rho.
        learning_rate: of "sgd", divided by 1 + rho.
        observe: sees every iterate.
    """
    manifold = to_geoopt(ball.manifold)
    import geoopt  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parameter = geoopt.ManifoldParameter(x0.clone(), manifold=manifold)
        for rho in penalties:
            objective, last = penalised(f, ball, rho), np.inf
            solver = _geoopt_solver(geoopt, optimizer, parameter, learning_rate / (1 + rho))
            for _ in range(max_iter):

                def closure(*_: Any, **__: Any) -> Tensor:
                    solver.zero_grad()  # noqa: B023
                    loss = objective(parameter)  # noqa: B023
                    loss.backward()  # type: ignore[no-untyped-call]
                    return loss.detach()

                value = float(solver.step(closure))
                if observe(parameter.detach()):
                    return torch.as_tensor(parameter.detach())
                if abs(last - value) <= 1e-14 * max(1.0, abs(value)):
                    break
                last = value
    return torch.as_tensor(parameter.detach())


def _geoopt_solver(geoopt: Any, name: str, parameter: Tensor, learning_rate: float) -> Any:
    if name == "sgd":
        return geoopt.optim.RiemannianSGD([parameter], lr=learning_rate)
    if name == "line-search":
        from geoopt.optim.rlinesearch import RiemannianLineSearch  # type: ignore[import-untyped]

        return RiemannianLineSearch([parameter], cg_method="pr")
    raise ValueError(f"optimizer must be 'line-search' or 'sgd' (got {name!r})")


def pymanopt_penalty(
    f: Function,
    x0: Tensor,
    ball: GeodesicBall,
    *,
    solver: str = "steepest-descent",
    penalties: Sequence[float] = PENALTIES,
    max_iter: int = 200,
    observe: Observer = never,
) -> Tensor:
    """Return pymanopt's answer on f + rho max(0, d - R)^2, rho rising; `penalties=(0.0,)` drops the constraint.

    Args:
        f: torch function of one point.
        x0: start.
        ball: the constraint.
        solver: "steepest-descent", "conjugate-gradient" or "trust-regions".
        penalties: the values of rho.
        max_iter: most iterations per rho.
        observe: sees every iterate at which pymanopt asks for the gradient.
    """
    manifold = to_pymanopt(ball.manifold, tuple(x0.shape))
    import pymanopt  # type: ignore[import-untyped]
    from pymanopt import optimizers

    classes = {
        "steepest-descent": optimizers.SteepestDescent,
        "conjugate-gradient": optimizers.ConjugateGradient,
        "trust-regions": optimizers.TrustRegions,
    }
    if solver not in classes:
        raise ValueError(f"solver must be one of {', '.join(classes)} (got {solver!r})")
    point = x0.numpy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for rho in penalties:
                problem = _pymanopt_problem(pymanopt, manifold, penalised(f, ball, rho), observe)
                engine = classes[solver](
                    verbosity=0, max_iterations=max_iter, min_gradient_norm=1e-9, min_step_size=1e-14
                )
                point = engine.run(problem, initial_point=point).point
    except StoppedError as stop:
        return torch.as_tensor(stop.args[0])
    return torch.as_tensor(point)


def _pymanopt_problem(pymanopt: Any, manifold: Any, f: Function, observe: Observer) -> Any:
    def gradient_at(point: Any) -> Any:
        with torch.enable_grad():
            x = torch.tensor(point, requires_grad=True)
            (gradient,) = torch.autograd.grad(f(x), x)
        return gradient.numpy()

    @pymanopt.function.numpy(manifold)  # type: ignore[untyped-decorator]
    def cost(point: Any) -> float:
        with torch.no_grad():
            return float(f(torch.as_tensor(point)))

    @pymanopt.function.numpy(manifold)  # type: ignore[untyped-decorator]
    def euclidean_gradient(point: Any) -> Any:
        if observe(torch.tensor(point)):
            raise StoppedError(point)
        return gradient_at(point)

    @pymanopt.function.numpy(manifold)  # type: ignore[untyped-decorator]
    def euclidean_hessian(point: Any, direction: Any) -> Any:
        """Central differences of the gradient: pymanopt has no torch Hessian that survives repeated eigenvalues."""
        size = 1e-6 / max(float(np.linalg.norm(direction)), 1e-12)
        return (gradient_at(point + size * direction) - gradient_at(point - size * direction)) / (2 * size)

    return pymanopt.Problem(manifold, cost, euclidean_gradient=euclidean_gradient, euclidean_hessian=euclidean_hessian)


def slsqp(f: Function, ball: GeodesicBall) -> tuple[Tensor, float]:
    """Return (x, f(x)) of scipy's SLSQP in normal coordinates at the centre, ||z||^2 <= R^2; for dimensions <= 20.

    Raises:
        ValueError: if the dimension is larger.
    """
    from scipy import optimize  # type: ignore[import-untyped]

    manifold, center, radius = ball.manifold, ball.center, float(ball.radius)
    basis = tangent_basis(manifold, center)
    if len(basis) > 20:
        raise ValueError(f"the dimension must be <= 20 for SLSQP (got {len(basis)})")

    def objective(z: Any) -> tuple[float, Any]:
        coordinates = torch.tensor(z, dtype=center.dtype, requires_grad=True)
        value = f(manifold.exp(center, torch.tensordot(coordinates, basis, dims=1)))
        (gradient,) = torch.autograd.grad(value, coordinates)
        return float(value.detach()), gradient.numpy()

    constraint = {"type": "ineq", "fun": lambda z: radius**2 - z @ z, "jac": lambda z: -2 * z}
    start = np.full(len(basis), 1e-3 * radius)
    answer = optimize.minimize(
        objective, start, jac=True, constraints=[constraint], method="SLSQP", options={"maxiter": 500, "ftol": 1e-15}
    )
    x = manifold.exp(center, torch.tensordot(torch.as_tensor(answer.x, dtype=center.dtype), basis, dims=1))
    return x, float(answer.fun)
