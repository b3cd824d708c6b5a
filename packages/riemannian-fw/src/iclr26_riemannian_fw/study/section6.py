"""Two tables of convergence figures: the paper's first example, and problems whose answer is known in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iclr26_riemannian_fw.feasible.convexity import ball_alpha, estimate_rsi, predicted_rate, zeta
from iclr26_riemannian_fw.feasible.sets import GeodesicBall
from iclr26_riemannian_fw.frank_wolfe import Result, minimize
from iclr26_riemannian_fw.geometry.manifolds import Hyperbolic, Manifold, Sphere
from iclr26_riemannian_fw.geometry.spd import SPD
from iclr26_riemannian_fw.objectives import FrechetMean, QuadraticSphere
from iclr26_riemannian_fw.study.data import random_quadratic

CHECKPOINTS = (10, 30, 100, 299)
RADIUS = 0.9  # of the paper's example: R = 0.9 d(target, centre), d = 1
RULES = ("open-loop", "short", "line-search", "backtracking")


@dataclass(frozen=True)
class Curve:
    """One run on the quadratic: setting, rule, h_t = f(x_t) - f*, d(x, centre) / R and ||grad f|| at the end."""

    rows: int
    rule: str
    error: NDArray[np.float64]
    depth: float
    gradient: float


def quadratic_problem(rows: int, size: int, seed: int) -> tuple[QuadraticSphere, GeodesicBall]:
    """Return f = ||A (x - target)||^2 / 2 and the ball of radius 0.9 around a centre at distance 1 of the target."""
    A, target, center = random_quadratic(rows, size, seed)
    return QuadraticSphere(A, target), GeodesicBall(Sphere(), center, RADIUS)


def solve_quadratic(f: QuadraticSphere, ball: GeodesicBall, rule: str, iterations: int) -> Result:
    """Return a run of exactly `iterations` steps from the centre; f is not g-convex on the ball, so uncertified."""
    return minimize(
        f,
        None,
        ball,
        riemannian_grad=f.gradient,
        step=rule,
        smoothness=f.smoothness if rule == "short" else None,
        max_iter=iterations,
        tol=0.0,
        convex=False,
    )


def quadratic_curves(size: int, seed: int, *, iterations: int = 300, rules: tuple[str, ...] = RULES) -> list[Curve]:
    """Return the curves for a tall A (optimum on the boundary) and the paper's wide A (optimum inside).

    f* is 0 for the wide A, whose zero set meets the ball, and the least value of all runs and of 1500 backtracking
    steps for the tall one.
    """
    curves = []
    for rows, chosen in ((2 * size, rules), (size // 2, ("short",))):
        f, ball = quadratic_problem(rows, size, seed)
        runs = {rule: solve_quadratic(f, ball, rule, iterations) for rule in chosen}
        long = solve_quadratic(f, ball, "backtracking", 1500)
        lowest = min(run.fun for run in (*runs.values(), long)) if rows > size else 0.0
        for rule, run in runs.items():
            depth = float(ball.manifold.dist(ball.center, long.x)) / RADIUS
            gradient = float(ball.manifold.norm(long.x, f.gradient(long.x)))
            curves.append(Curve(rows, rule, run.history["fun"] - lowest, depth, gradient))
    return curves


def quadratic_table(curves: list[Curve], size: int) -> str:
    """Return the first table as text."""
    lines = [
        f"Quadratic on the sphere, n = {size}, d(target, centre) = 1, R = {RADIUS}: h = f - f* after t steps",
        f"{'A':>11} {'optimum':>18} {'rule':>13} " + " ".join(f"{f't={t}':>9}" for t in CHECKPOINTS),
    ]
    for curve in curves:
        place = "boundary" if curve.depth > 0.999 else f"d/R={curve.depth:.2f}, |g|={curve.gradient:.0e}"
        values = " ".join(f"{_error_at(curve.error, t):>9}" for t in CHECKPOINTS)
        lines.append(f"{curve.rows:>5} x {size:<3} {place:>18} {curve.rule:>13} {values}")
    lines += [
        f"With the paper's wide A ({size // 2} x {size}) the zeros of f are a subspace that meets the ball:",
        "the optimum is inside and grad f vanishes there. The premise ||grad f|| >= c > 0 of the linear rate",
        f"fails, although the error still falls. The tall A ({2 * size} x {size}) satisfies it.",
    ]
    return "\n".join(lines)


def _error_at(error: NDArray[np.float64], t: int) -> str:
    if t >= len(error) or math.isnan(error[t]):  # stopped at an exact zero gap
        return "0"
    return "<1e-14" if error[t] < 1e-14 else f"{error[t]:.1e}"


@dataclass(frozen=True)
class Projection:
    """A problem f = d(x, p)^2 / 2, p = Exp_c(D e): x* = Exp_c(R e), f* = (D - R)^2 / 2."""

    label: str
    manifold: Manifold
    center: Tensor
    radius: float
    distance: float
    smoothness: float
    tol: float

    def instance(self, seed: int) -> tuple[GeodesicBall, FrechetMean, Tensor, float]:
        """Return (ball, f, random start, f*)."""
        generator = torch.Generator().manual_seed(seed)
        e = self.manifold.unit(self.center, self.manifold.random_tangent(self.center, generator))
        ball = GeodesicBall(self.manifold, self.center, self.radius)
        f = FrechetMean(self.manifold, self.manifold.exp(self.center, self.distance * e)[None])
        return ball, f, ball.random(1, generator)[0], (self.distance - self.radius) ** 2 / 2


def projections() -> list[Projection]:
    """Return the sphere, hyperbolic (n = 5) and SPD problems of the table."""
    base = torch.eye(6, dtype=torch.float64)[0]
    found = [Projection("sphere", Sphere(), base, 0.5, 1.0, 1.0, 1e-12)]
    for radius, distance in ((1.0, 3.0), (2.0, 5.0)):
        reach = zeta(radius + distance, -1.0)
        found.append(Projection("hyperbolic", Hyperbolic(), base, radius, distance, reach, 1e-12))
    for size, radius, distance in ((3, 0.5, 1.5), (3, 1.0, 2.5), (5, 1.5, 3.0)):
        eye, reach = torch.eye(size, dtype=torch.float64), zeta(radius + distance, -0.5)
        found.append(Projection(f"SPD({size})", SPD(), eye, radius, distance, reach, 1e-10))
    return found


@dataclass(frozen=True)
class Row:
    """Medians over the starts: iterations per rule, mean factor of the short step, h of the open loop at t = 100."""

    problem: Projection
    iterations: dict[str, float]
    mean_rate: float
    predicted: float
    open_loop: float
    ordered: bool


def projection_row(problem: Projection, starts: int) -> Row:
    """Return the medians for one problem; `ordered` is whether cert >= gap >= h held at every iterate."""
    counts: dict[str, list[int]] = {rule: [] for rule in ("short", "backtracking", "line-search")}
    rates, loops, ordered = [], [], True
    for seed in range(starts):
        ball, f, x0, lowest = problem.instance(seed)
        options: dict[str, Any] = {"riemannian_grad": f.gradient, "tol": problem.tol}
        for rule in counts:
            smoothness = problem.smoothness if rule == "short" else None
            run = minimize(f, x0, ball, step=rule, smoothness=smoothness, **options)
            counts[rule].append(run.n_iter)
            error = run.history["fun"] - lowest
            ordered &= bool((run.history["gap"] >= error - 1e-12).all() and (error >= -1e-12).all())
            if ball.manifold.kappa is None:
                ordered &= bool((run.history["cert"] >= run.history["gap"] - 1e-12).all())
            if rule == "short":
                seen = error[error > 1e-14]
                rates.append((seen[-1] / seen[0]) ** (1 / (len(seen) - 1)))
        loop = minimize(f, x0, ball, riemannian_grad=f.gradient, step="open-loop", max_iter=100, tol=0.0)
        loops.append(loop.fun - lowest)
    return Row(
        problem,
        {rule: float(np.median(count)) for rule, count in counts.items()},
        float(np.median(rates)),
        _predicted(problem, ball),
        float(np.median(loops)),
        ordered,
    )


def _predicted(problem: Projection, ball: GeodesicBall) -> float:
    """Return the theorem's factor, alpha = cot(R)/2 on the sphere, sampled in hyperbolic space; NaN on SPD."""
    if ball.manifold.kappa is None:
        return math.nan
    alpha = ball_alpha(problem.radius, (1.0, 1.0)) if ball.manifold.kappa == 1 else _disc_rsi(problem.radius)
    return predicted_rate(alpha, problem.distance - problem.radius, problem.smoothness)


def _disc_rsi(radius: float) -> float:
    """Return the sampled RSI constant of a hyperbolic disc; by symmetry the worst case is in a plane."""
    return estimate_rsi(GeodesicBall(Hyperbolic(), torch.eye(3, dtype=torch.float64)[0], radius), 32, 256).alpha


def projection_table(rows: list[Row], starts: int) -> str:
    """Return the second table as text."""
    lines = [
        f"f = d(x, p)^2 / 2, d(c, p) = D, f* = (D - R)^2 / 2: iterations to tol, medians of {starts} random starts",
        f"{'manifold':>11} {'R':>4} {'D':>4} {'tol':>6} {'short':>6} {'backtr.':>8} {'line s.':>8} "
        f"{'mean factor':>12} {'predicted <=':>13} {'open loop h_100':>16} {'cert>=gap>=h':>13}",
    ]
    for row in rows:
        p, n = row.problem, row.iterations
        predicted = "" if math.isnan(row.predicted) else f"{row.predicted:.3f}"
        lines.append(
            f"{p.label:>11} {p.radius:>4} {p.distance:>4} {p.tol:>6.0e} {n['short']:>6.0f} {n['backtracking']:>8.0f} "
            f"{n['line-search']:>8.0f} {row.mean_rate:>12.3f} {predicted:>13} {row.open_loop:>16.1e} "
            f"{'yes' if row.ordered else 'NO':>13}"
        )
    return "\n".join(lines)
