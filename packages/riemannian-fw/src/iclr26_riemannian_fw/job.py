"""`iclr26 run riemannian-fw`: minimise over a set, certify the result, compare with the baselines, draw."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from iclr26_core import Run
from iclr26_core.errors import NotConverged, UsageError
from torch import Tensor

from iclr26_riemannian_fw import baselines
from iclr26_riemannian_fw.config import SolveConfig, TablesConfig
from iclr26_riemannian_fw.feasible.interval import SPDInterval
from iclr26_riemannian_fw.feasible.sets import FeasibleSet, GeodesicBall
from iclr26_riemannian_fw.frank_wolfe import STEPS, Result, State, certify_gap, minimize
from iclr26_riemannian_fw.geometry.manifolds import Euclidean, Hyperbolic, Manifold, Sphere
from iclr26_riemannian_fw.geometry.spd import SPD
from iclr26_riemannian_fw.objectives import FrechetMean, FreeEnergy, QuadraticSphere
from iclr26_riemannian_fw.study import data, section6
from iclr26_riemannian_fw.study.plots import convergence_plot, map_plot
from iclr26_riemannian_fw.study.threads import one_thread

MANIFOLDS: dict[str, Callable[[], Manifold]] = {
    "sphere": Sphere,
    "lorentz": lambda: Hyperbolic("lorentz"),
    "poincare": lambda: Hyperbolic("poincare"),
    "spd": lambda: SPD("affine"),
    "log-euclidean": lambda: SPD("log-euclidean"),
    "euclidean": Euclidean,
}
BASELINES: dict[str, Callable[..., Tensor]] = {
    "projected-gradient": baselines.projected_gradient,
    "geoopt-penalty": baselines.geoopt_penalty,
    "pymanopt-penalty": baselines.pymanopt_penalty,
}
Objective = FrechetMean | QuadraticSphere | FreeEnergy


@dataclass(frozen=True)
class Problem:
    """What a config describes.

    Attributes:
        f: the objective.
        feasible_set: the constraint.
        convex: whether f is proved g-convex on the set.
        reason: how.
        airports: the data are airports, so a map makes sense.
    """

    f: Objective
    feasible_set: FeasibleSet
    convex: bool
    reason: str
    airports: bool


def solve(config: SolveConfig, run: Run) -> None:
    """Minimise, print the metrics beside the baselines, write result.json, history.csv and the plots.

    Raises:
        NotConverged: if the certificate is above `solver.tol` after `solver.max_iter` steps.
    """
    with one_thread():
        _solve(config, run)


def _solve(config: SolveConfig, run: Run) -> None:
    problem = build(config, run)
    run.say(f"f is {'' if problem.convex else 'not known to be '}geodesically convex: {problem.reason}")
    certificate = problem.feasible_set.certify()
    run.say(f"the set: {certificate.kind}, alpha = {certificate.alpha:.4g} ({certificate.reason})")
    started = time.perf_counter()
    result = _minimize(problem, config, callback=lambda state: _note(run, state))
    seconds = time.perf_counter() - started
    _report(run, problem, result, seconds)
    _compare(config, problem, run)
    _write(run, result)
    _draw(config, problem, run)
    if config.tables == "yes" or (config.tables == "auto" and problem.airports):
        _tables(TablesConfig(), run)
    if not result.converged:
        raise NotConverged(
            f"the certificate must be <= {config.solver.tol:g} (got {result.certificate:.3g}, {result.message}): "
            "raise solver.max_iter or solver.tol"
        )


def tables(config: TablesConfig, run: Run) -> None:
    """Print both tables of convergence figures."""
    with one_thread():
        _tables(config, run)


def _tables(config: TablesConfig, run: Run) -> None:
    run.say(f"quadratic on the sphere, n = {config.size}: four step rules, then 1500 steps for f*")
    curves = section6.quadratic_curves(config.size, run.seed)
    run.print(section6.quadratic_table(curves, config.size))
    problems = section6.projections()
    rows = [section6.projection_row(p, config.starts) for p in run.progress(problems, label="projections")]
    run.print(section6.projection_table(rows, config.starts))
    tall = {curve.rule: curve.error for curve in curves if curve.rows > config.size}
    title = f"sphere, n = {config.size}, optimum on the boundary"
    convergence_plot(run.out / "quadratic.png", tall, title=title, ylabel="f - f*")
    run.artifact("quadratic.png")


def build(config: SolveConfig, run: Run) -> Problem:
    """Return the problem of a config.

    Raises:
        UsageError: if the data do not fit the manifold, the set or the objective.
    """
    arrays = data.load_arrays(Path(config.objective.data)) if config.objective.data else {}
    if config.objective.data:
        run.input(config.objective.name, Path(config.objective.data))
    try:
        if config.objective.name == "quadratic_sphere":
            return _quadratic(config, arrays, run.seed)
        if config.objective.name == "free_energy":
            return _free_energy(config, arrays, run.seed)
        return _frechet(config, arrays, run)
    except UsageError:
        raise
    except (ValueError, KeyError) as error:
        message = f"the data must hold {error}" if isinstance(error, KeyError) else str(error)
        raise UsageError(message) from error


def _frechet(config: SolveConfig, arrays: dict[str, Tensor], run: Run) -> Problem:
    manifold = MANIFOLDS[config.manifold.name]()
    airports = None if arrays else data.load_airports()
    if airports is not None:
        if config.manifold.name != "sphere":
            raise UsageError(
                f"objective.data must be given on {config.manifold.name} (got none): airports need a sphere"
            )
        run.input("airports", airports.path)
    points = airports.points if airports else arrays["points"]
    weights = arrays.get("weights") if config.objective.name == "weighted_frechet" else None
    if config.objective.name == "weighted_frechet" and weights is None:
        raise UsageError(
            "weighted_frechet needs weights in objective.data (got none): add `weights` or use frechet_mean"
        )
    if manifold.point_ndim == 2 and points.ndim == 2:
        points = points.reshape(len(points), *(round(points.shape[1] ** 0.5),) * 2)
    f = FrechetMean(manifold, points, weights)
    hub = airports.at(config.set.hub) if airports and not config.set.center else None
    feasible_set = _set(config, manifold, arrays, hub)
    if not isinstance(feasible_set, GeodesicBall):
        return Problem(f, feasible_set, manifold.hadamard, "half squared distances on a Hadamard manifold", False)
    mu, L = f.bounds(feasible_set)
    return Problem(f, feasible_set, mu >= 0, f"Hess f lies in [{mu:.3g}, {L:.3g}] on the ball", airports is not None)


def _quadratic(config: SolveConfig, arrays: dict[str, Tensor], seed: int) -> Problem:
    if config.manifold.name != "sphere":
        raise UsageError(f"manifold.name must be sphere for quadratic_sphere (got {config.manifold.name})")
    if arrays:
        f, hub = QuadraticSphere(arrays["A"], arrays["target"]), None
    else:
        A, target, hub = data.random_quadratic(config.objective.rows, 500, seed)
        f = QuadraticSphere(A, target)
    return Problem(f, _set(config, Sphere(), arrays, hub), False, "a quadratic restricted to the sphere", False)


def _free_energy(config: SolveConfig, arrays: dict[str, Tensor], seed: int) -> Problem:
    if config.manifold.name != "spd":
        raise UsageError(f"manifold.name must be spd for free_energy (got {config.manifold.name})")
    H = arrays["H"] if arrays else data.random_hamiltonian(5, seed)
    f = FreeEnergy(H, config.objective.temperature)
    eye = torch.eye(len(H), dtype=H.dtype)
    return Problem(f, _set(config, SPD(), arrays, eye), False, "energy minus temperature times entropy", False)


def _set(config: SolveConfig, manifold: Manifold, arrays: dict[str, Tensor], fallback: Tensor | None) -> FeasibleSet:
    if config.set.kind == "interval":
        if config.manifold.name != "spd":
            raise UsageError(f"manifold.name must be spd for an interval (got {config.manifold.name})")
        return SPDInterval(arrays["lower"], arrays["upper"])
    center = (
        torch.tensor(config.set.center, dtype=torch.float64) if config.set.center else arrays.get("center", fallback)
    )
    if center is None:
        raise UsageError("set.center must be given for this data (got none): give it, or `center` in the .npz file")
    if isinstance(manifold, Sphere):
        center = center / center.norm().clamp_min(1e-300)
    if manifold.point_ndim == 2 and center.ndim == 1:
        center = center.reshape(*(round(len(center) ** 0.5),) * 2)
    return GeodesicBall(manifold, center, config.set.radius)


def _minimize(problem: Problem, config: SolveConfig, x0: Tensor | None = None, **options: Any) -> Result:
    return minimize(
        problem.f,
        x0,
        problem.feasible_set,
        riemannian_grad=problem.f.gradient,
        convex=problem.convex,
        max_iter=config.solver.max_iter,
        tol=config.solver.tol,
        **{"step": config.solver.step, "smoothness": config.solver.smoothness, **options},
    )


def _note(run: Run, state: State) -> None:
    row = state.history[-1]
    values = {("step_size" if name == "step" else name): float(value) for name, value in row.items()}
    run.log(state.iteration, **values)


def _report(run: Run, problem: Problem, result: Result, seconds: float) -> None:
    kind = result.certificate_kind
    run.say(f"{result.message} after {result.n_iter} iterations, certificate {result.certificate:.2e} ({kind})")
    run.metric("final_loss", result.fun, higher_is_better=False)
    run.metric("certificate", result.certificate, higher_is_better=False)
    run.metric("outside", max(0.0, float(problem.feasible_set.excess(result.x))), higher_is_better=False)
    run.metric("iterations", result.n_iter, higher_is_better=False)
    run.metric("seconds", seconds, unit="s", higher_is_better=False)
    run.metric("seconds_per_step", seconds / max(1, result.n_iter), unit="s", higher_is_better=False)


def _compare(config: SolveConfig, problem: Problem, run: Run) -> None:
    """Run the baselines on the same problem; their answers are certified with our bound, after moving them inside."""
    ball = problem.feasible_set
    if not isinstance(ball, GeodesicBall):
        run.say("no baseline: projections and penalties are implemented for balls")
        return
    for name in config.baselines:
        run.say(f"baseline {name}")
        count = [0]

        def observe(x: Tensor, count: list[int] = count) -> bool:
            count[0] += 1
            return False

        _warm_up(name, ball)
        started = time.perf_counter()
        x = BASELINES[name](problem.f, ball.center, ball, observe=observe)
        seconds = time.perf_counter() - started
        inside = ball.project(x)
        g = problem.f.gradient(inside)
        bound, _ = certify_gap(ball, inside, g, ball.lmo(inside, g), convex=problem.convex)
        run.metric("final_loss", problem.f(x), of=name, higher_is_better=False)
        run.metric("certificate", bound, of=name, higher_is_better=False)
        run.metric("outside", max(0.0, float(ball.excess(x))), of=name, higher_is_better=False)
        run.metric("iterations", count[0], of=name, higher_is_better=False)
        run.metric("seconds", seconds, of=name, unit="s", higher_is_better=False)
        run.metric("seconds_per_step", seconds / max(1, count[0]), of=name, unit="s", higher_is_better=False)


def _warm_up(name: str, ball: GeodesicBall) -> None:
    """Import what the baseline imports (geoopt, torch's compiler behind its optimisers), so that no clock counts it."""
    manifold, center = ball.manifold, ball.center
    f = FrechetMean(manifold, center[None])
    BASELINES[name](f, center, ball, observe=lambda x: True)


def _write(run: Run, result: Result) -> None:
    summary = {
        "x": result.x.tolist(),
        "fun": result.fun,
        "certificate": result.certificate,
        "certificate_kind": result.certificate_kind,
        "n_iter": result.n_iter,
        "converged": result.converged,
        "observed_rate": None if np.isnan(result.observed_rate) else result.observed_rate,
        "message": result.message,
    }
    (run.out / "result.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    with (run.out / "history.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["iteration", *result.history])
        for t, row in enumerate(zip(*result.history.values(), strict=True)):
            writer.writerow([t, *(repr(float(value)) for value in row)])
    run.artifact("result.json")
    run.artifact("history.csv")


def _draw(config: SolveConfig, problem: Problem, run: Run) -> None:
    """Write convergence.png, all step rules from the side of the set, and map.png for airports."""
    side, smoothness = _side(problem, run.seed), _smoothness(config, problem)
    runs: dict[str, Result] = {}
    iterates = [side]
    for rule in STEPS:
        if rule != "short" or smoothness is not None:
            note = (lambda state: iterates.append(state.x)) if rule == "backtracking" else None
            L = smoothness if rule == "short" else None
            runs[rule] = _minimize(problem, config, x0=side, step=rule, smoothness=L, callback=note)
    label = "certificate" if problem.convex else "Frank-Wolfe gap"
    curves = {rule: result.history["cert"] for rule, result in runs.items()}
    convergence_plot(run.out / "convergence.png", curves, title=config.objective.name, ylabel=label)
    run.artifact("convergence.png")
    if problem.airports and isinstance(problem.f, FrechetMean) and isinstance(problem.feasible_set, GeodesicBall):
        ball, points, free = problem.feasible_set, problem.f.points, _free_mean(problem.f, problem.feasible_set)
        path = torch.stack(iterates).numpy()
        map_plot(run.out / "map.png", points.numpy(), ball.center.numpy(), float(ball.radius), path, free.numpy())
        run.artifact("map.png")


def _side(problem: Problem, seed: int) -> Tensor:
    """Return the boundary point at right angles to the gradient at the centre (balls), else a random point."""
    feasible_set, manifold, generator = problem.feasible_set, problem.feasible_set.manifold, torch.Generator()
    generator.manual_seed(seed)
    if not isinstance(feasible_set, GeodesicBall):
        return feasible_set.random(1, generator)[0]
    center, u = feasible_set.center, manifold.random_tangent(feasible_set.center, generator)
    downhill = manifold.unit(center, problem.f.gradient(center))
    across = manifold.unit(center, u - manifold.inner(center, u, downhill) * downhill)
    return manifold.exp(center, feasible_set.radius * across)


def _smoothness(config: SolveConfig, problem: Problem) -> float | None:
    """Return L where it is given or known, for the curve of the short step."""
    if config.solver.smoothness is not None:
        return config.solver.smoothness
    if isinstance(problem.f, QuadraticSphere):
        return problem.f.smoothness
    if isinstance(problem.f, FrechetMean) and isinstance(problem.feasible_set, GeodesicBall):
        return problem.f.bounds(problem.feasible_set)[1]
    return None


def _free_mean(f: FrechetMean, ball: GeodesicBall) -> Tensor:
    """Return the mean without the constraint: 100 gradient steps of length 1 from the constrained centre."""
    x = ball.center
    for _ in range(100):
        x = ball.manifold.exp(x, -f.gradient(x))
    return x
