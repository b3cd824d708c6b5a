"""The jobs of ``iclr26 run clipped-sgd``: train beside tuned baselines, simulate as the paper does, tail report."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from iclr26_core import Run

from iclr26_clipped_sgd.baselines import AdamTrial, ClippedTrial, NormalisedTrial, SGDTrial, TrialMethod
from iclr26_clipped_sgd.clipped_sgd import ClippedSGD
from iclr26_clipped_sgd.config import (
    MethodConfig,
    NoiseConfig,
    ProblemConfig,
    RunConfig,
    SettingConfig,
    SimulateConfig,
    TailConfig,
    TrainConfig,
)
from iclr26_clipped_sgd.schedules.practical import ConstantSchedule, PowerSchedule
from iclr26_clipped_sgd.schedules.schedule import AnytimeSchedule
from iclr26_clipped_sgd.simulation import problems, results
from iclr26_clipped_sgd.simulation.problems import Problem
from iclr26_clipped_sgd.simulation.trials import TrialResult, run_trials
from iclr26_clipped_sgd.tails.models import load_model
from iclr26_clipped_sgd.tails.noise import Gaussian, NoiseModel, Pareto, StudentT, SymmetricStable
from iclr26_clipped_sgd.tails.noise_samples import gradient_noise
from iclr26_clipped_sgd.tails.tail import hill_double_bootstrap, minibatch_sigma
from iclr26_clipped_sgd.tails.tail_report import TailReport, tail_report

GRID = 12  # candidates per method, the same number for all; steps in units of 1/L or R0, levels of signal plus noise
CLIPPED_STEPS, CLIPPED_LEVELS = (10.0, 30.0, 100.0), (0.01, 0.03, 0.1, 0.3)
CONSTANT_STEPS, CONSTANT_LEVELS = (0.03, 0.1, 0.3, 1.0), (0.03, 0.1, 0.3)
TAIL_SAMPLES = 20_000  # stochastic gradients behind the tail report of a problem


def train(config: TrainConfig, run: Run) -> None:
    """Compare clipped SGD with its baselines on one problem; each is tuned on other seeds than the comparison's."""
    problem, noise = make_problem(config.problem), make_noise(config.noise)
    scale = _coordinate_scale(config.noise, problem.dimension, min(2.0, config.noise.tail))
    _keep_input(run, config.problem, problem)
    with one_thread():
        _compare(config, problem, noise, scale, run)


def _compare(config: TrainConfig, problem: Problem, noise: NoiseModel | None, scale: float, run: Run) -> None:
    report = _problem_tail(problem, noise, scale, run.seed)
    run.print(f"gradient noise at the start: {report}")
    alpha = config.alpha or report.moment_order
    run.say(f"L = {problem.smoothness:.3g}, R0 = {problem.radius:.3g}, moment order alpha = {alpha:.3g}")

    found: dict[str, TrialResult] = {}
    for entry in config.method:
        label = entry.label or entry.name
        candidates = list(_candidates(entry, problem, alpha, report))
        chosen = _tuned(label, candidates, problem, noise, scale, config.run, run)
        run.say(f"{label}: {_settings(chosen)} (out of {len(candidates)})")
        started = time.perf_counter()
        found[label] = _trials(label, problem, chosen, noise, scale, config.run, run)
        _keep_metrics(run, label, found[label], config.run, time.perf_counter() - started)
    results.write(run, found, config.run.delta, tail=report)


def simulate(config: SimulateConfig, run: Run) -> None:
    """Run each setting's schedule once with clipping and once without, on the same draws."""
    problem = make_problem(config.problem)
    _keep_input(run, config.problem, problem)
    found: dict[str, TrialResult] = {}
    bounds = {}
    with one_thread():
        for number, setting in enumerate(config.setting, start=1):
            noise, schedule = make_noise(NoiseConfig(setting.noise, setting.tail)), make_schedule(setting)
            scale = _coordinate_scale(NoiseConfig(scale=setting.scale), problem.dimension, setting.alpha)
            row = (
                f"{number} {setting.noise} {setting.tail:g}, step x{setting.step_scale:g}, clip x{setting.clip_scale:g}"
            )
            for method in (ClippedTrial(schedule), SGDTrial(schedule)):
                label = f"{row}: {method.name}"
                started = time.perf_counter()
                found[label] = _trials(label, problem, method, noise, scale, config.run, run)
                _keep_metrics(run, label, found[label], config.run, time.perf_counter() - started)
            bounds[f"{row}: clipped-sgd"] = schedule.bound
    _print_rows(run, found, config.run.delta)
    results.write(run, found, config.run.delta, bounds=bounds)


def tail(config: TailConfig, run: Run) -> None:
    """Report the tail index of a model's gradient noise before and after some training."""
    model, loss_fn, loader, name = load_model(config.model, config.batch_size, run.seed)
    device = torch.device(run.device)
    model.to(device)
    reports: dict[str, TailReport] = {}
    for moment in ("at the start", f"after {config.steps} steps") if config.steps else ("at the start",):
        if moment != "at the start":
            _descend(model, loss_fn, loader, config.steps, reports["at the start"], run)
        noise = gradient_noise(model, loss_fn, loader, config.batches, seed=run.seed)
        reports[moment] = tail_report(noise.norms, noise.coordinates, noise.gradient_norm, seed=run.seed)
        run.print(f"{name} {moment}: {reports[moment]}")
        if config.bootstrap:
            chosen = hill_double_bootstrap(noise.norms, seed=run.seed)
            run.print(
                f"{name} {moment}: double bootstrap alpha {chosen.alpha:.2f} +- {chosen.stderr:.2f}, k = {chosen.k}"
            )
    for moment, report in reports.items():
        last = moment == list(reports)[-1]
        results.keep_tail(run, report, of=None if last else moment)
    report = list(reports.values())[-1]
    run.print(
        f"clip level that follows for a single batch: {report.clip_level:.3g} (moment order {report.moment_order:.2f})"
    )
    for factor in (4, 16):
        sigma = minibatch_sigma(report.sigma, report.moment_order, factor)
        run.print(f"sigma of a batch {factor} times as large is at most {sigma:.3g} (now {report.sigma:.3g})")
    results.write_tail(run, reports)


def make_problem(config: ProblemConfig) -> Problem:
    """Return the objective that a configuration names."""
    if config.name == "breast-cancer":
        return problems.breast_cancer_logistic(ridge=config.ridge, batch_size=config.batch_size)
    if config.name == "csv_logistic":
        return problems.csv_logistic(config.path, config.target, ridge=config.ridge, batch_size=config.batch_size)
    if config.name == "quadratic":
        return problems.Quadratic(config.dim)
    if config.name == "logistic":
        return problems.Logistic(config.dim, config.ridge)
    return problems.ExpectedLogistic(config.dim, batch_size=config.batch_size)


def make_noise(config: NoiseConfig) -> NoiseModel | None:
    """Return the law of the coordinates' noise, or None."""
    if config.name == "none":
        return None
    if config.name == "gaussian":
        return Gaussian()
    laws: dict[str, Callable[[float], NoiseModel]] = {
        "student-t": StudentT,
        "pareto": Pareto,
        "stable": SymmetricStable,
    }
    return laws[config.name](config.tail)


def make_schedule(setting: SettingConfig) -> AnytimeSchedule:
    """Return the scaled schedule of one row of a simulation."""
    return AnytimeSchedule(
        setting.alpha, setting.sigma, setting.smoothness, setting.radius,
        step_scale=setting.step_scale, clip_scale=setting.clip_scale,
    )  # fmt: skip


def _coordinate_scale(noise: NoiseConfig, dimension: int, alpha: float) -> float:
    return float(noise.scale / dimension ** (1.0 / alpha))


def _keep_input(run: Run, config: ProblemConfig, problem: Problem) -> None:
    data = problem.features.tobytes() if isinstance(problem, problems.FiniteSumLogistic) else repr(problem).encode()
    run.input(config.path or config.name, data)


def _problem_tail(problem: Problem, noise: NoiseModel | None, scale: float, seed: int) -> TailReport:
    """Report on stochastic gradients at x0."""
    generator = np.random.default_rng([seed, 1])
    draws = tuple(torch.from_numpy(np.ascontiguousarray(array)) for array in problem.draw(generator, TAIL_SAMPLES))
    start = torch.from_numpy(np.tile(problem.start(), (TAIL_SAMPLES, 1)))
    gradients = problem.gradient(start, draws).numpy()
    if noise is not None:
        gradients = gradients + scale * noise.sample(gradients.shape, generator)
    centre = np.median(gradients, axis=0)
    norms = np.linalg.norm(gradients - centre, axis=1)
    return tail_report(norms, gradients - centre, float(np.linalg.norm(centre)), seed=seed)


def _candidates(entry: MethodConfig, problem: Problem, alpha: float, report: TailReport) -> Iterator[TrialMethod]:
    """Yield the settings to choose from: a grid over what the entry leaves open."""
    L, radius, level, name = problem.smoothness, problem.radius, report.clip_level, entry.label or entry.name

    def steps(unit: float, factors: Iterable[float]) -> list[float]:
        return [entry.lr] if entry.lr else [float(unit * factor) for factor in factors]

    def levels(factors: Iterable[float]) -> list[float]:
        return [entry.clip] if entry.clip else [level * factor for factor in factors]

    if entry.name == "clipped-sgd":
        for lr, clip in itertools.product(steps(1.0 / L, CLIPPED_STEPS), levels(CLIPPED_LEVELS)):
            yield ClippedTrial(PowerSchedule(lr, clip, alpha, L), name)
    elif entry.name == "sgd-clip":
        for lr, clip in itertools.product(steps(1.0 / L, CONSTANT_STEPS), levels(CONSTANT_LEVELS)):
            yield ClippedTrial(ConstantSchedule(lr, clip), name)
    elif entry.name == "sgd":
        for lr in steps(1.0 / L, np.geomspace(0.03, 3.0, GRID)):
            yield SGDTrial(PowerSchedule(lr, 1.0, alpha), name=name)
    elif entry.name == "nsgd":
        for lr in steps(radius, np.geomspace(0.03, 0.6, GRID)):
            yield NormalisedTrial(lr, name)
    else:
        for lr, decay in itertools.product(steps(radius, np.geomspace(0.001, 0.1, GRID // 2)), (0.0, 0.5)):
            yield AdamTrial(lr, decay=decay, name=name)


def _settings(method: TrialMethod) -> str:
    """Return what a trial method was set to, in words."""
    own = vars(method).get("schedule", method)
    names = [name for name in ("lr", "clip", "alpha", "decay") if vars(own).get(name) not in (None, 0.0)]
    return ", ".join(f"{name} {vars(own)[name]:.3g}" for name in names)


def _tuned(
    label: str, candidates: list[TrialMethod], problem: Problem, noise: NoiseModel | None, scale: float,
    config: RunConfig, run: Run,
) -> TrialMethod:  # fmt: skip
    """Return the candidate with the smallest 1 - delta quantile of the last gap, on seeds of its own."""
    if len(candidates) == 1:
        return candidates[0]
    path = run.out / f"tuned-{_slug(label)}.json"
    if path.exists():
        return candidates[int(json.loads(path.read_text(encoding="utf-8"))["chosen"])]
    seed, reached = run.seed + 2**32, []
    for candidate in run.progress(candidates, label=f"tuning {label}"):
        tried = run_trials(problem, candidate, noise, config.K, config.tune_reps, seed, [config.K], noise_scale=scale)
        reached.append(float(tried.quantile(1.0 - config.delta)[0, 0]))
    chosen = int(np.argmin(reached))
    path.write_text(json.dumps({"chosen": chosen, "quantiles": [repr(q) for q in reached]}), encoding="utf-8")
    return candidates[chosen]


def _trials(
    label: str, problem: Problem, method: TrialMethod, noise: NoiseModel | None, scale: float, config: RunConfig,
    run: Run,
) -> TrialResult:  # fmt: skip
    """Run the repetitions in blocks that a resumed run finds again."""
    points = np.unique(np.round(np.geomspace(1, config.K, config.checkpoints)).astype(int)).tolist()
    block = max(1, math.ceil(config.reps / 8))
    folder = run.out / "blocks" / _slug(label)
    parts = range(0, config.reps, block)
    for first in run.progress(parts, label=label):
        reps = min(block, config.reps - first)
        run_trials(
            problem, method, noise, config.K, reps, run.seed, points, noise_scale=scale, first=first, folder=folder
        )
    return run_trials(problem, method, noise, config.K, config.reps, run.seed, points, noise_scale=scale, folder=folder)


def _keep_metrics(run: Run, label: str, result: TrialResult, config: RunConfig, seconds: float) -> None:
    """Keep the final figures as metrics and the curves as steps."""
    of = None if label == run.method.name else label
    upper, middle = result.quantile(1.0 - config.delta), result.quantile(0.5)
    percent = f"q{100 * (1 - config.delta):g}"
    final = {
        "final_loss": middle[-1, 0],
        f"{percent}_last": upper[-1, 0],
        f"{percent}_average": upper[-1, 1],
        "median_average": middle[-1, 1],
    }
    for name, value in final.items():
        run.metric(name, value, of=of, higher_is_better=False, n=config.reps)
    run.metric("clipped", result.clipped_fraction.mean(), of=of, n=config.reps)
    run.metric("seconds_per_step", seconds / (config.K * config.reps), of=of, unit="s", higher_is_better=False)
    for index, k in enumerate(result.checkpoints):
        run.log(int(k), **{f"{label}/{percent}_last": upper[index, 0], f"{label}/median_last": middle[index, 0]})


def _print_rows(run: Run, found: dict[str, TrialResult], delta: float) -> None:
    """Print one line per setting: the three columns of the specification's table and their ratio."""
    run.print(f"{'setting':<52} clipped last  clipped average  SGD last  SGD/clipped")
    labels = list(found)
    for clipped, plain in zip(labels[::2], labels[1::2], strict=True):
        last, average = found[clipped].quantile(1.0 - delta)[-1, :2]
        sgd = found[plain].quantile(1.0 - delta)[-1, 0]
        run.print(f"{clipped.rpartition(':')[0]:<52} {last:12.2e}  {average:15.2e}  {sgd:8.2e}  {sgd / last:11.1f}")


def _descend(model: torch.nn.Module, loss_fn: object, loader: object, steps: int, report: TailReport, run: Run) -> None:
    optimizer = ClippedSGD(model.parameters(), PowerSchedule(0.5, report.clip_level, report.moment_order))
    batches = _endless(loader)
    for step in run.progress(range(steps), label="training"):
        optimizer.zero_grad()
        loss = loss_fn(model, next(batches))  # type: ignore[operator]
        loss.backward()
        optimizer.step()
        run.log(step, loss=loss.item())


def _endless(loader: object) -> Iterator[object]:
    while True:
        yield from loader  # type: ignore[misc]


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run on one core: the tensors of a block are too small to share, and waiting threads slow them down."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _slug(label: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in label)
