"""Runs beside the published rows of the paper and the authors' repository."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from .scores import Scores

DIMENSION_NAMES = ("FU", "BU", "HU", "MIU", "MPR", "ID", "CD", "ED")


@dataclass(frozen=True)
class Row:
    """One line of the leaderboard.

    Attributes:
        name: the model
        dimensions: eight scores, NaN where there is none
        average: their mean
        source: where the figures come from
        coverage: share of answered questions; None for published rows
    """

    name: str
    dimensions: tuple[float, ...]
    average: float
    source: str
    coverage: float | None = None


def published() -> list[Row]:
    """Return the published rows with their source."""
    content = json.loads(files("iclr26_human_mme").joinpath("scoring/published.json").read_text(encoding="utf-8"))
    return [Row(r["name"], tuple(r["dimensions"]), r["average"], r["source"]) for r in content["dimensions"]]


def published_components() -> dict[str, dict[str, float]]:
    """Return the published component scores by model."""
    content = json.loads(files("iclr26_human_mme").joinpath("scoring/published.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, float]] = content["components"]
    return found


def leaderboard(runs: Sequence[Scores | str | Path], *, include_published: bool = True) -> list[Row]:
    """Return the rows of scores, of scores.json files or of folders that hold one, the highest average first.

    Raises:
        FileNotFoundError: a folder without scores.json
    """
    rows = [_row(run) for run in runs] + (published() if include_published else [])
    return sorted(rows, key=lambda row: -math.inf if math.isnan(row.average) else row.average, reverse=True)


def to_markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| model | " + " | ".join(DIMENSION_NAMES) + " | avg | coverage | source |", "|---" * 12 + "|"]
    for row in rows:
        cells = ["n/a" if math.isnan(value) else f"{value:.1f}" for value in (*row.dimensions, row.average)]
        covered = "" if row.coverage is None else f"{row.coverage:.0%}"
        lines.append("| " + " | ".join([row.name, *cells, covered, row.source]) + " |")
    return "\n".join(lines)


def _row(run: Scores | str | Path) -> Row:
    content: dict[str, Any]
    if isinstance(run, Scores):
        content = json.loads(run.to_json())
    else:
        path = Path(run) / "scores.json" if Path(run).is_dir() else Path(run)
        if not path.is_file():
            raise FileNotFoundError(f"there is no {path}: score the run first (iclr26 run human-mme score --run DIR)")
        content = json.loads(path.read_text(encoding="utf-8"))
    found = [content["dimensions"].get(name) for name in DIMENSION_NAMES]
    values = tuple(math.nan if value is None else value for value in found)
    average = math.nan if content["average"] is None else content["average"]
    source = "this run" + (", not official" if content["notes"] else "")
    return Row(content["name"] or "unnamed", values, average, source, content["coverage"])
