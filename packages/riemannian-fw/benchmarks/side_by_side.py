"""Time to a certificate of 1e-6, side by side: Frank-Wolfe, projected gradient, geoopt and pymanopt with a penalty.

Problem: the Frechet mean of 10 points outside a geodesic ball (g-convex there, optimum on the boundary), started from
a point of the rim. The certificate of a rival's iterate is computed with our bound, after moving it into the ball, and
off the clock; ours is computed on the clock. All run on one thread. A rival that does not reach 1e-6 within the time
limit shows the best certificate it reached.

    uv run python packages/riemannian-fw/benchmarks/side_by_side.py [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from iclr26_riemannian_fw import SPD, GeodesicBall, Hyperbolic, Manifold, Sphere, minimize
from iclr26_riemannian_fw.baselines import geoopt_penalty, projected_gradient, pymanopt_penalty
from iclr26_riemannian_fw.frank_wolfe import certify_gap
from iclr26_riemannian_fw.objectives import FrechetMean
from torch import Tensor

GOAL, LIMIT_S, REPEATS = 1e-6, 20.0, 5
PENALTIES = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)


@dataclass
class Stopwatch:
    """Certifies iterates off the clock and stops at the goal or the time limit."""

    f: FrechetMean
    ball: GeodesicBall
    seconds: float = 0.0
    best: float = float("inf")
    iterations: int = 0
    resumed: float = field(default_factory=time.perf_counter)

    def __call__(self, x: Tensor) -> bool:
        self.seconds += time.perf_counter() - self.resumed
        self.iterations += 1
        inside = self.ball.project(x)
        g = self.f.gradient(inside)
        self.best = min(self.best, float(certify_gap(self.ball, inside, g, self.ball.lmo(inside, g), convex=True)[0]))
        self.resumed = time.perf_counter()
        return self.best <= GOAL or self.seconds > LIMIT_S


def problem(
    manifold: Manifold, center: Tensor, radius: float, distance: float
) -> tuple[FrechetMean, GeodesicBall, Tensor]:
    """Return (f, ball, start)."""
    generator = torch.Generator().manual_seed(0)
    ball = GeodesicBall(manifold, center, radius)
    target = manifold.exp(center, distance * manifold.unit(center, manifold.random_tangent(center, generator)))
    f = FrechetMean(manifold, GeodesicBall(manifold, target, 0.2).random_boundary(10, generator))
    mu, _ = f.bounds(ball)
    if mu < 0:
        raise ValueError(f"the problem must be g-convex (got mu = {mu})")
    return f, ball, ball.random_boundary(1, generator)[0]


def frank_wolfe(f: FrechetMean, ball: GeodesicBall, x0: Tensor) -> tuple[float, int, float]:
    started = time.perf_counter()
    result = minimize(f, x0, ball, riemannian_grad=f.gradient, tol=GOAL)
    return time.perf_counter() - started, result.n_iter, result.certificate


def rival(solve: Callable[..., Tensor], **options: object) -> Callable[..., tuple[float, int, float]]:
    def run(f: FrechetMean, ball: GeodesicBall, x0: Tensor) -> tuple[float, int, float]:
        watch = Stopwatch(f, ball)
        solve(f, x0, ball, observe=watch, **{k: v(f) if callable(v) else v for k, v in options.items()})
        return watch.seconds, watch.iterations, watch.best

    return run


SOLVERS = {
    "Frank-Wolfe (ours)": frank_wolfe,
    "projected gradient": rival(projected_gradient, gradient=lambda f: f.gradient),
    "geoopt line search + penalty": rival(geoopt_penalty, penalties=PENALTIES),
    "pymanopt descent + penalty": rival(pymanopt_penalty, penalties=PENALTIES),
    "pymanopt trust regions + penalty": rival(pymanopt_penalty, solver="trust-regions", penalties=PENALTIES),
}


def cases(quick: bool) -> list[tuple[str, Manifold, Tensor, float, float]]:
    spheres, matrices = ((10, 100), (3, 10)) if quick else ((10, 100, 500, 1000), (3, 10, 30))
    eye = torch.eye(1000, dtype=torch.float64)
    found: list[tuple[str, Manifold, Tensor, float, float]] = [
        (f"sphere n={n}", Sphere(), eye[0, :n].clone(), 0.4, 0.8) for n in spheres
    ]
    return found + [(f"SPD n={n}", SPD(), torch.eye(n, dtype=torch.float64), 1.0, 2.0) for n in matrices]


def compare(quick: bool) -> None:
    print(f"{'problem':>13} {'solver':>33} {'ms':>9} {'iterations':>11} {'certificate':>12} {'x ours':>8}")
    warm_up()
    for label, manifold, center, radius, distance in cases(quick):
        f, ball, x0 = problem(manifold, center, radius, distance)
        ours = float("nan")
        for name, solve in SOLVERS.items():
            runs = [solve(f, ball, x0)]
            if runs[0][0] < LIMIT_S / 20:
                runs += [solve(f, ball, x0) for _ in range(REPEATS)]
                runs = runs[1:]
            seconds, iterations, certificate = sorted(runs)[len(runs) // 2]
            ours = seconds if name == "Frank-Wolfe (ours)" else ours
            ratio = f"{seconds / ours:.1f}" if certificate <= GOAL else "missed"
            print(
                f"{label:>13} {name:>33} {1e3 * seconds:>9.2f} {iterations:>11} {certificate:>12.1e} {ratio:>8}",
                flush=True,
            )


def warm_up() -> None:
    """Import every solver's library before the clock starts."""
    f, ball, x0 = problem(Sphere(), torch.eye(4, dtype=torch.float64)[0], 0.4, 0.8)
    for solve in SOLVERS.values():
        solve(f, ball, x0)


def oracle_times() -> None:
    print(f"\n{'oracle':>32} {'median ms':>10} {'batch of 32, ms each':>21}")
    generator = torch.Generator().manual_seed(0)
    eye = torch.eye(500, dtype=torch.float64)
    for label, manifold, center, radius in (
        ("sphere n=500", Sphere(), eye[0], 0.9),
        ("Lorentz n=500", Hyperbolic("lorentz"), eye[0], 2.0),
        ("Poincare n=500", Hyperbolic("poincare"), 0 * eye[0], 2.0),
        ("SPD n=3, R=1", SPD(), eye[:3, :3], 1.0),
        ("SPD n=8, R=1", SPD(), eye[:8, :8], 1.0),
        ("SPD n=5, R=3", SPD(), eye[:5, :5], 3.0),
    ):
        ball = GeodesicBall(manifold, center.contiguous(), radius)
        x = ball.random(32, generator)
        g = manifold.random_tangent(x, generator)
        one = _median_ms(lambda ball=ball, x=x, g=g: ball.lmo(x[0], g[0]))
        many = _median_ms(lambda ball=ball, x=x, g=g: ball.lmo(x, g))
        print(f"{label:>32} {one:>10.3f} {many / 32:>21.3f}", flush=True)


def _median_ms(call: Callable[[], object]) -> float:
    for _ in range(10):
        call()
    times = []
    for _ in range(100):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return 1e3 * sorted(times)[50]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the large sizes")
    torch.set_num_threads(1)
    compare(parser.parse_args().quick)
    oracle_times()
