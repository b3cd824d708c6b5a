"""What a job leaves beside its record: result.json, curves.csv and the plots."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
from iclr26_core import Run
from iclr26_core.errors import MissingExtra

from iclr26_clipped_sgd.simulation.trials import TrialResult
from iclr26_clipped_sgd.tails.tail_report import TailReport

QUANTILES = (0.5, 0.9, 0.95, 0.99)
PACKAGES = ("iclr26-clipped-sgd", "torch", "numpy", "scipy", "scikit-learn")


def write(
    run: Run,
    found: Mapping[str, TrialResult],
    delta: float,
    *,
    tail: TailReport | None = None,
    bounds: Mapping[str, Callable[[int], float]] | None = None,
) -> None:
    """Write ``result.json``, ``curves.csv`` and ``curves.png`` into the run's folder; no times, so that they repeat."""
    content = {
        "config": run.record.config,
        "seed": run.seed,
        "versions": {name: version(name) for name in PACKAGES},
        "tail": None if tail is None else asdict(tail),
        "methods": {label: _summary(result, (bounds or {}).get(label)) for label, result in found.items()},
    }
    _write_json(run, "result.json", content)
    with (run.out / "curves.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["method", "iterate", "k", "quantile", "value"])
        rows.writerows(_curve_rows(found))
    run.artifact("curves.csv")
    _plot_or_say(run, "curves.png", lambda figure: draw_curves(figure, found, delta))


def keep_tail(run: Run, report: TailReport, *, of: str | None) -> None:
    """Keep a tail report as metrics."""
    stderr = (report.high - report.low) / (2.0 * 1.959963984540054)
    run.metric("tail_index", report.alpha, of=of, n=report.samples, stderr=stderr)
    run.metric("stable_index", report.stable, of=of, n=report.samples)
    run.metric("moment_order", report.moment_order, of=of)
    run.metric("sigma", report.sigma, of=of)
    run.metric("clip_level", report.clip_level, of=of)


def write_tail(run: Run, reports: Mapping[str, TailReport]) -> None:
    """Write the tail reports as ``tail.json``."""
    _write_json(run, "tail.json", {moment: asdict(report) for moment, report in reports.items()})


def _summary(result: TrialResult, bound: Callable[[int], float] | None) -> dict[str, Any]:
    K = int(result.checkpoints[-1])
    limit = math.inf if bound is None else bound(K)
    failures = None if bound is None or math.isinf(limit) else float(result.failure_rate(bound)[-1])
    per_iterate = {
        name: {
            "quantiles": {f"{q:g}": result.quantile(q)[-1, index] for q in QUANTILES},
            "mean": result.mean()[-1, index],
            "std": result.std()[-1, index],
            "slope": result.slope()[index],
        }
        for index, name in enumerate(result.iterates)
    }
    clipped = float(result.clipped_fraction.mean())
    return {"K": K, "reps": len(result.f_gap), "clipped_fraction": clipped, "failure_rate": failures, **per_iterate}


def _curve_rows(found: Mapping[str, TrialResult]) -> list[list[Any]]:
    rows = []
    for label, result in found.items():
        for q in QUANTILES:
            values = result.quantile(q)
            for index, k in enumerate(result.checkpoints):
                rows += [
                    [label, name, int(k), q, repr(float(values[index, i]))] for i, name in enumerate(result.iterates)
                ]
    return rows


def _write_json(run: Run, name: str, content: Any) -> None:
    text = json.dumps(_finite(content), indent=1, allow_nan=False)
    (run.out / name).write_text(text + "\n", encoding="utf-8")
    run.artifact(name)


def _finite(content: Any) -> Any:
    """Return plain JSON; a diverged run's figures become the strings that float() reads."""
    if isinstance(content, Mapping):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    if isinstance(content, (float, np.floating)):
        return float(content) if math.isfinite(content) else str(float(content))
    return content


def _plot_or_say(run: Run, name: str, draw: Callable[[Any], None]) -> None:
    """Write a plot, or say which extra draws it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        run.say(f"no {name}: {MissingExtra('matplotlib', package='iclr26-clipped-sgd', extra='plot')}")
        return
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    draw(figure)
    figure.savefig(run.out / name, dpi=120)
    run.artifact(name)


def draw_curves(figure: Any, found: Mapping[str, TrialResult], delta: float) -> None:
    """Draw the 1 - delta quantile (solid) and median (dashed) of the gap over the steps, for both iterates."""
    left, right = figure.subplots(1, 2, sharey=True)
    for axis, iterate, title in ((left, 0, "last iterate"), (right, 1, "average weighted by the step sizes")):
        for number, (label, result) in enumerate(found.items()):
            upper, middle = result.quantile(1.0 - delta)[:, iterate], result.quantile(0.5)[:, iterate]
            axis.loglog(result.checkpoints, upper, color=f"C{number % 10}", label=label)
            axis.loglog(result.checkpoints, middle, color=f"C{number % 10}", linestyle="--", linewidth=1)
        axis.set_title(title)
        axis.set_xlabel("steps k")
        axis.grid(alpha=0.3)
    left.set_ylabel(f"f(x) - f*: {1 - delta:g} quantile (solid), median (dashed)")
    right.legend(fontsize="small")
