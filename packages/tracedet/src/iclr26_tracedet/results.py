"""What a job leaves beside its record: scores.jsonl, metrics.json, model/ and explain.png."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from iclr26_core import Run
from iclr26_core.errors import MissingExtra
from numpy.typing import NDArray

from .comparison import Fitted
from .detector import TraceDetDetector
from .explain import draw_weights
from .material import Material
from .splits import Split


def keep_metrics(run: Run, name: str, fitted: Fitted, figures: Mapping[str, Any], count: int) -> None:
    """Keep a method's figures in the record."""
    of = None if name == run.method.name else name
    low, high = figures["interval"]
    run.metric("auroc", figures["auroc"], of=of, higher_is_better=True, n=count, stderr=(high - low) / (2 * 1.96))
    run.metric("auprc", figures["aupr"], of=of, higher_is_better=True, n=count)
    run.metric("tpr_at_fpr01", figures["tpr_at_fpr01"], of=of, higher_is_better=True, n=count)
    run.metric("fpr_at_tpr95", figures["fpr_at_tpr95"], of=of, higher_is_better=False, n=count)
    run.metric("seconds_per_example", fitted.seconds_per_example, of=of, unit="s", higher_is_better=False)


def kinds_table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return AUROC with 95 % interval of every method, overall and by kind, as lines of text."""
    kinds = list(dict.fromkeys(kind for method in figures.values() for kind in method["kinds"]))
    header = ["AUROC [95 %]", "all", *kinds]
    rows = [header]
    for name, method in figures.items():
        areas = [method["kinds"].get(kind) for kind in kinds]
        cells = [_cell(method["auroc"], *method["interval"])]
        cells += ["-" if area is None else _cell(area["value"], area["low"], area["high"]) for area in areas]
        rows.append([name, *cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
                     for row in rows)  # fmt: skip


def write_scores(
    run: Run, material: Material, split: Split, scores: NDArray[np.float64], weights: NDArray[np.float64]
) -> None:
    """Write ``scores.jsonl``: one line per trace with its part, label, score and weights of its passes."""
    parts = split.part_of()
    with (run.out / "scores.jsonl").open("w", encoding="utf-8") as file:
        for place, name in enumerate(material.traces.ids):
            passes = int(material.traces.entry(name)["T"])
            line = {
                "id": name,
                "part": parts[place],
                "kind": str(material.kinds[place]),
                "label": int(material.labels[place]),
                "score": float(scores[place]),
                "weights": [round(float(weight), 6) for weight in weights[place, :passes]],
            }
            file.write(json.dumps(line) + "\n")
    run.artifact("scores.jsonl")


def write_json(run: Run, name: str, content: Mapping[str, Any]) -> None:
    """Write a JSON file into the run's folder."""
    (run.out / name).write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    run.artifact(name)


def save_model(run: Run, detector: TraceDetDetector) -> None:
    """Write the fitted detector as ``model/``."""
    detector.save(run.out / "model")
    for name in ("model.safetensors", "detector.json"):
        run.artifact(f"model/{name}")


def plot(run: Run, material: Material, places: NDArray[np.int64], detector: TraceDetDetector) -> None:
    """Write ``explain.png`` of the test traces that have the most passes, or say which extra draws it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        run.say(f"no explain.png: {MissingExtra('matplotlib', package='iclr26-tracedet', extra='plot')}")
        return
    ids = material.traces.ids
    shapes = {int(p): tuple(int(material.traces.entry(ids[p])[axis]) for axis in "TG") for p in places}
    largest = max(shapes.values())
    groups = []
    for label, title in ((0, "faithful"), (1, "hallucinated")):
        rows = np.array([p for p in places if material.labels[p] == label and shapes[int(p)] == largest])
        if len(rows):
            traces = material.part(rows)
            entropy = np.stack([traces.tensor(name, "entropy").numpy() for name in traces.ids])
            groups.append((title, entropy, detector.explain(traces)))
    figure = Figure(figsize=(10, 5), layout="constrained")
    name = "p(keep the pass)" if detector.variant == "paper" else "normalised weight"
    draw_weights(figure, groups, weight_name=name)
    figure.savefig(run.out / "explain.png", dpi=120)
    run.artifact("explain.png")


def _cell(value: float, low: float, high: float) -> str:
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"
