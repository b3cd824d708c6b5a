"""Strongly Convex Sets in Riemannian Manifolds (ICLR 2026, https://arxiv.org/abs/2312.03583): Riemannian Frank-Wolfe.

Minimise f over a compact geodesically convex set C without projections. Each iteration asks the linear oracle for the
point v of C that minimises <g, Log_x v>, g the Riemannian gradient at x, and moves along the geodesic from x towards v.
Where C is strongly convex (its boundary curves) and the gradient does not vanish on it, the error shrinks linearly.

Paper -> here: M `manifold`, C `feasible_set`, x_t `x`, v_t `lmo.v`, Log_x v `lmo.u`, FW gap `gap`, d(x, v) `length`,
step size `step`, geodesic smoothness L `smoothness`, RSI constant alpha `convexity.py`.

Departures: the paper allows a second distance equivalent to the Riemannian one; we use the Riemannian distance, so its
constants l_M, L_M are 1. The paper analyses the short step; backtracking is our default because it needs no L. On
Hadamard manifolds a ball has a bound on f - f* without any oracle (`GeodesicBall.comparison_bound`), which the paper
does not state; it makes the stop rigorous where the oracle is numerical.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iclr26_riemannian_fw.feasible.lmo import LMOResult
from iclr26_riemannian_fw.feasible.sets import FeasibleSet
from iclr26_riemannian_fw.problem import Problem

STEPS = ("backtracking", "short", "open-loop", "line-search")
DOUBLINGS = 20
KINDS = ("none", "fw-gap-exact", "cat0")
MESSAGES = (
    "stopped after max_iter steps with the certificate above tol",
    "certificate <= tol",
    "f or its gradient is not finite: the last finite iterate is returned",
    f"smoothness estimate exploded: f did not descend in {DOUBLINGS} doublings of L",
    "stopped by the callback",
)
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
GOLDEN_STEPS = 40  # 0.618^40 = 4e-9 of the step interval


@dataclass(frozen=True)
class State:
    """All that iteration t + 1 needs; pass it to `minimize(..., state=...)` to go on identically.

    Attributes:
        iteration: t, the number of steps made.
        x: x_t, [..., point].
        previous: x_(t-1), kept should f be NaN at x_t.
        smoothness: the current estimate of L, one per problem like all that follows.
        status: 0 while running, else why it stopped (an index of `MESSAGES`).
        iterations: the steps made.
        fun: f at the last finite iterate seen.
        certificate: the certificate there.
        kind: its kind, an index of `KINDS`.
        memory: what the oracle may start from.
        history: one dict per iterate with fun, gap, cert, dist, step.
    """

    iteration: int
    x: Tensor
    previous: Tensor
    smoothness: Tensor
    status: Tensor
    iterations: Tensor
    fun: Tensor
    certificate: Tensor
    kind: Tensor
    memory: Any = None
    history: tuple[dict[str, Tensor], ...] = ()


@dataclass(frozen=True)
class Result:
    """What `minimize` found. For batched problems every field below has the batch shape in front.

    Attributes:
        x: the last iterate, in the set.
        fun: f(x).
        certificate: an upper bound of f(x) - f* where `certificate_kind` is not "none"; else the Frank-Wolfe gap.
        certificate_kind: "fw-gap-exact" (g-convex f, exact oracle), "cat0" (Hadamard comparison) or "none".
        n_iter: steps made.
        converged: certificate <= tol.
        history: arrays fun, gap, cert, step, dist, [n_iter + 1, ...]; NaN after a problem stopped.
        observed_rate: mean factor per iteration of the certificate over the second half of the run.
        message: why it stopped (a tuple for batched problems).
        state: to resume from.
    """

    x: Any
    fun: Any
    certificate: Any
    certificate_kind: Any
    n_iter: Any
    converged: Any
    history: dict[str, NDArray[np.float64]] = field(repr=False)
    observed_rate: Any
    message: Any
    state: State = field(repr=False)


def minimize(
    f: Callable[..., Any],
    x0: Any,
    feasible_set: FeasibleSet,
    *,
    grad: Callable[..., Any] | None = None,
    riemannian_grad: Callable[..., Any] | None = None,
    step: str = "backtracking",
    smoothness: float | None = None,
    max_iter: int = 500,
    tol: float = 1e-8,
    convex: bool = True,
    project_x0: bool = False,
    callback: Callable[[State], Any] | None = None,
    state: State | None = None,
) -> Result:
    """Return the minimiser of f over the set, with a bound on how far f(x) is from the minimum.

    Args:
        f: scalar function of a point; a torch function (differentiated by autograd) or, if x0 is a numpy array, a numpy
            function with `grad`. For batched problems it returns one value per problem.
        x0: start in the set, [..., point]; None for the set's centre.
        feasible_set: a set of this package.
        grad: Euclidean gradient of f; by default autograd's.
        riemannian_grad: Riemannian gradient of f, instead of `grad`.
        step: "backtracking", "short", "open-loop" (2 / (t + 2)) or "line-search".
        smoothness: L, the geodesic smoothness of f: needed by "short", the first guess of "backtracking" (default 1).
        max_iter: most steps.
        tol: stop when the certificate is at most this.
        convex: f is geodesically convex on the set. If not, no certificate exists and the gap decides, with a warning.
        project_x0: move x0 to the nearest point of the set instead of refusing it (balls).
        callback: called with the `State` after every step; a true return value stops the run.
        state: a `State` to resume from, instead of x0.

    Raises:
        ValueError: if an argument is out of range or x0 is not in the set.
        RuntimeError: if the oracle returns a point worse than x, or a logarithm is undefined.

    Example:
        >>> import torch
        >>> from iclr26_riemannian_fw import GeodesicBall, Sphere, minimize
        >>> north, target = torch.eye(3, dtype=torch.float64)[2], torch.eye(3, dtype=torch.float64)[0]
        >>> ball = GeodesicBall(Sphere(), north, 0.5)
        >>> result = minimize(lambda x: 0.5 * Sphere().dist(x, target) ** 2, north, ball)
        >>> result.converged, result.certificate_kind, round(result.fun, 6)
        (True, 'fw-gap-exact', 0.573302)
    """
    _check_options(step, smoothness, max_iter, tol)
    problem = Problem(f, grad, riemannian_grad, feasible_set, isinstance(x0, np.ndarray))
    if state is None:
        state = _first_state(problem, _start(x0, feasible_set, project_x0), smoothness)
    while True:
        seen = _see(problem, state, convex)
        state = _judge(state, seen, tol)
        if state.iteration >= max_iter or not bool((state.status == 0).any()):
            return _result(state, seen, problem, warn=tol > 0)
        state = _move(problem, state, seen, step)
        if callback is not None and callback(state):
            state = replace(state, status=torch.where(state.status == 0, 4, state.status))


@dataclass(frozen=True)
class _Seen:
    """What one look at x_t shows, one number per problem."""

    value: Tensor
    finite: Tensor
    lmo: LMOResult
    gap: Tensor
    length: Tensor
    certificate: Tensor
    kind: Tensor


def _see(problem: Problem, state: State, convex: bool) -> _Seen:
    """Return f, the oracle's answer, the gap and the certificate at x_t (Algorithm 1, first half)."""
    manifold, x = problem.manifold, state.x
    value, g = problem.value_and_gradient(x)
    finite = torch.isfinite(value) & torch.isfinite(g).flatten(value.ndim).all(-1)
    g = torch.where(manifold.expand(finite), g, 0.0)
    lmo = problem.feasible_set.lmo(x, g, state.memory)
    _check_descent(problem, x, g, lmo)
    gap = (-lmo.value).clamp_min(0.0)
    certificate, kind = certify_gap(problem.feasible_set, x, g, lmo, convex=convex)
    return _Seen(value, finite, lmo, gap, manifold.norm(x, lmo.u), certificate, kind)


def certify_gap(
    feasible_set: FeasibleSet, x: Tensor, g: Tensor, lmo: LMOResult, *, convex: bool
) -> tuple[Tensor, Tensor]:
    """Return (bound of f(x) - f*, index into `KINDS`), the smallest of the bounds that are valid.

    The gap is one for g-convex f if the oracle is exact; the comparison bound is one on Hadamard manifolds. Without a
    valid bound the gap is returned with kind 0, "none".
    """
    gap = (-lmo.value).clamp_min(0.0)
    kind = torch.where(lmo.exact, 1, 0) if convex else torch.zeros_like(gap, dtype=torch.int64)
    bound = feasible_set.comparison_bound(x, g) if convex else None
    if bound is None:
        return gap, kind
    bound = bound.clamp_min(0.0)
    use = (kind == 0) | (bound < gap)
    return torch.where(use, bound, gap), torch.where(use, 2, kind)


def _check_descent(problem: Problem, x: Tensor, g: Tensor, lmo: LMOResult) -> None:
    slack = 1e-8 if x.dtype == torch.float64 else 1e-3
    excess = lmo.value - slack * problem.manifold.norm(x, g) * (1 + problem.feasible_set.diameter)
    if bool((excess > 0).any()):
        raise RuntimeError(
            f"the oracle must not return a point worse than x (got value {float(lmo.value.max()):.6g} > 0)"
        )


def _judge(state: State, seen: _Seen, tol: float) -> State:
    """Return the state with the look recorded and the problems that end here marked."""
    running = state.status == 0
    broken, good = running & ~seen.finite, running & seen.finite
    status = torch.where(broken, 2, torch.where(good & (seen.certificate <= tol), 1, state.status))
    row_of_broken = broken.reshape(*broken.shape, *(1,) * (state.x.ndim - broken.ndim))
    return replace(
        state,
        x=torch.where(row_of_broken, state.previous, state.x),
        status=status,
        fun=torch.where(good, seen.value, state.fun),
        certificate=torch.where(good, seen.certificate, state.certificate),
        kind=torch.where(good, seen.kind, state.kind),
    )


def _move(problem: Problem, state: State, seen: _Seen, rule: str) -> State:
    """Return the state after x <- Exp_x(s u) (Algorithm 1, second half)."""
    running = state.status == 0
    step, smoothness, failed = _step_size(problem, state, seen, rule)
    step = torch.where(running & ~failed, step, 0.0)
    moved = problem.manifold.exp(state.x, problem.manifold.expand(step) * seen.lmo.u)
    status = torch.where(running & failed, 3, state.status)
    going = status == 0
    return State(
        iteration=state.iteration + 1,
        x=torch.where(problem.manifold.expand(going), moved, state.x),
        previous=state.x,
        smoothness=torch.where(going, smoothness, state.smoothness),
        status=status,
        iterations=state.iterations + going.long(),
        fun=state.fun,
        certificate=state.certificate,
        kind=state.kind,
        memory=seen.lmo.memory,
        history=(*state.history, _row(seen, step, running)),
    )


def _row(seen: _Seen, step: Tensor, running: Tensor) -> dict[str, Tensor]:
    numbers = {"fun": seen.value, "gap": seen.gap, "cert": seen.certificate, "dist": seen.length, "step": step}
    return {name: torch.where(running, number, torch.nan) for name, number in numbers.items()}


def _step_size(problem: Problem, state: State, seen: _Seen, rule: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return (step in [0, 1], new estimate of L, whether the rule failed)."""
    fine = torch.zeros_like(seen.finite)
    if rule == "open-loop":
        return torch.full_like(seen.gap, open_loop_step(state.iteration)), state.smoothness, fine
    if rule == "short":
        return short_step(seen.gap, seen.length, state.smoothness), state.smoothness, fine
    if rule == "line-search":
        return _line_search(problem, state, seen), state.smoothness, fine
    return _backtracking(problem, state, seen)


def open_loop_step(iteration: int) -> float:
    """Return 2 / (t + 2)."""
    return 2.0 / (iteration + 2.0)


def short_step(gap: Tensor, length: Tensor, smoothness: Tensor) -> Tensor:
    """Return min(1, gap / (L D^2)), the minimiser of the quadratic upper bound; 0 where D = 0."""
    quadratic = smoothness * length.square()
    return torch.where(quadratic > 0, gap / quadratic.clamp_min(torch.finfo(gap.dtype).tiny), 0.0).clamp_max(1.0)


def _backtracking(problem: Problem, state: State, seen: _Seen) -> tuple[Tensor, Tensor, Tensor]:
    """Return the short step for the smallest tried L whose quadratic bound holds at the new point."""
    slack = 5 * torch.finfo(seen.gap.dtype).eps * seen.value.abs().clamp_min(1.0)
    smoothness, waiting = 0.5 * state.smoothness, state.status == 0
    for attempt in range(DOUBLINGS + 1):
        step = short_step(seen.gap, seen.length, smoothness)
        value = problem.value(problem.manifold.exp(state.x, problem.manifold.expand(step) * seen.lmo.u))
        bound = seen.value - step * seen.gap + 0.5 * smoothness * (step * seen.length).square() + slack
        waiting = waiting & ~(value <= bound)
        if attempt == DOUBLINGS or not bool(waiting.any()):
            break
        smoothness = torch.where(waiting, 2 * smoothness, smoothness)
    return step, smoothness, waiting


def _line_search(problem: Problem, state: State, seen: _Seen) -> Tensor:
    """Return the step in [0, 1] of least f by golden section, all problems at once; 1 if that is better."""

    def along(step: Tensor) -> Tensor:
        value = problem.value(problem.manifold.exp(state.x, problem.manifold.expand(step) * seen.lmo.u))
        return torch.where(torch.isnan(value), torch.inf, value)

    low, high = torch.zeros_like(seen.gap), torch.ones_like(seen.gap)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f_left, f_right = along(left), along(right)
    for _ in range(GOLDEN_STEPS):
        to_left = f_left < f_right
        low, high = torch.where(to_left, low, left), torch.where(to_left, right, high)
        new = torch.where(to_left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        f_new = along(new)
        left, right = torch.where(to_left, new, right), torch.where(to_left, left, new)
        f_left, f_right = torch.where(to_left, f_new, f_right), torch.where(to_left, f_left, f_new)
    best, f_best = torch.where(f_left < f_right, left, right), torch.minimum(f_left, f_right)
    return torch.where(along(torch.ones_like(best)) <= f_best, 1.0, best)


def _check_options(step: str, smoothness: float | None, max_iter: int, tol: float) -> None:
    if step not in STEPS:
        raise ValueError(f"step must be one of {', '.join(STEPS)} (got {step!r})")
    if smoothness is None and step == "short":
        raise ValueError("smoothness must be given for step='short' (got None): pass L or use step='backtracking'")
    if smoothness is not None and not (smoothness > 0 and math.isfinite(smoothness)):
        raise ValueError(f"smoothness must be > 0 and finite (got {smoothness})")
    if max_iter < 0:
        raise ValueError(f"max_iter must be >= 0 (got {max_iter})")
    if not tol >= 0:
        raise ValueError(f"tol must be >= 0 (got {tol})")


def _start(x0: Any, feasible_set: FeasibleSet, project_x0: bool) -> Tensor:
    x = feasible_set.anchor if x0 is None else torch.as_tensor(x0).detach()
    if project_x0:
        x = feasible_set.project(x)
    feasible_set.check_start(x)
    return x.clone()


def _first_state(problem: Problem, x: Tensor, smoothness: float | None) -> State:
    batch = problem.manifold.batch_shape(x)
    unknown = torch.full(batch, torch.nan, dtype=x.dtype, device=x.device)
    zero = torch.zeros(batch, dtype=torch.int64, device=x.device)
    first = torch.full_like(unknown, 1.0 if smoothness is None else smoothness)
    return State(0, x, x, first, zero, zero, unknown, unknown, zero)


def _result(state: State, seen: _Seen, problem: Problem, *, warn: bool) -> Result:
    rows = [
        *state.history,
        _row(seen, torch.full_like(seen.gap, torch.nan), seen.finite & (state.iterations >= state.iteration)),
    ]
    history = {name: torch.stack([row[name] for row in rows]).cpu().numpy() for name in rows[0]}
    converged = state.status == 1
    if warn and bool((converged & (state.kind == 0)).any()):
        warnings.warn(
            "stopped on the Frank-Wolfe gap, which is no certificate here (certificate_kind 'none')", stacklevel=3
        )
    single = state.status.ndim == 0
    x = state.x.cpu().numpy() if problem.numpy else state.x
    kinds, messages = (
        [table[int(code)] for code in codes.flatten()]
        for table, codes in ((KINDS, state.kind), (MESSAGES, state.status))
    )
    return Result(
        x=x,
        fun=state.fun.item() if single else state.fun,
        certificate=state.certificate.item() if single else state.certificate,
        certificate_kind=kinds[0] if single else tuple(kinds),
        n_iter=int(state.iterations) if single else state.iterations,
        converged=bool(converged) if single else converged,
        history=history,
        observed_rate=observed_rate(history["cert"]),
        message=messages[0] if single else tuple(messages),
        state=state,
    )


def observed_rate(certificates: NDArray[np.float64]) -> Any:
    """Return the mean factor per iteration of the second half of [iterations, ...]; NaN with fewer than 3 values."""
    if certificates.ndim > 1:
        columns = certificates.reshape(len(certificates), -1).T
        return np.array([observed_rate(column) for column in columns]).reshape(certificates.shape[1:])
    positive = certificates[certificates > 0]
    if len(positive) < 3:
        return math.nan
    tail = np.log(positive[len(positive) // 2 - 1 :])
    return float(np.exp((tail[-1] - tail[0]) / (len(tail) - 1)))
