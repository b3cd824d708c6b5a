"""The forest plot of a comparison: per metric the means, and below them the paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterator

from iclr26_core.compare.figures import Block, Comparison
from iclr26_core.compare.presentation import heading
from iclr26_core.compare.result import Result
from iclr26_core.compare.statistics import Mean
from iclr26_core.drawing import forest

TONES: dict[str, forest.Tone] = {"better": "good", "worse": "bad"}


def svg(result: Result) -> str:
    """Return the plot as SVG."""
    panels = [panel for comparison in result.comparisons for panel in _panels(comparison)]
    return forest.svg(panels, title=f"comparison of {result.question['what']}: means and paired differences")


def _panels(comparison: Comparison) -> Iterator[forest.Panel]:
    for block in comparison.blocks:
        means = [_mark(row.system.label, row.mean) for row in block.rows]
        yield forest.Panel(
            title=f"{heading(block)} on {comparison.group.title}",
            marks=means,
            legend="means over seeds, 95 % intervals",
        )
        minus = [(row, row.difference) for row in block.rows if row.difference]
        if comparison.reference and minus:
            label = comparison.reference.label
            yield forest.Panel(
                title=f"{block.metric.name} minus that of {label}, paired by seed",
                marks=[_mark(row.system.label, difference, row.verdict) for row, difference in minus],
                reference=0.0,
                region=_better(block),
                legend="" if block.metric.higher_is_better is None else f"shaded: better than {label}",
            )


def _mark(label: str, mean: Mean, verdict: str = "") -> forest.Mark:
    text = f"{mean}  {verdict}" if verdict else str(mean)
    tone = TONES.get(verdict, "plain")
    return forest.Mark(label=label, text=text, value=mean.mean, low=mean.low, high=mean.high, tone=tone)


def _better(block: Block) -> tuple[float, float] | None:
    return {True: (0.0, math.inf), False: (-math.inf, 0.0), None: None}[block.metric.higher_is_better]
