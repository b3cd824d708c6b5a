"""A comparison as its readers get it: tables on a terminal, and a Markdown page."""

from __future__ import annotations

from collections.abc import Iterator

from iclr26_core.compare.figures import Block, Comparison
from iclr26_core.compare.result import Result
from iclr26_core.compare.statistics import Mean
from iclr26_core.drawing import markdown

HOW = "Intervals: 95 %, Student's t over seeds; differences are paired by seed. Not corrected for many comparisons."


def heading(block: Block) -> str:
    """Return a metric with its unit and direction, e.g. ``"final_loss [s] ↓"``."""
    metric = block.metric
    unit = "" if metric.unit == "1" else f" [{metric.unit}]"
    arrow = {True: " ↑", False: " ↓", None: ""}[metric.higher_is_better]
    return f"{metric.name}{unit}{arrow}"


def tables(comparison: Comparison) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield title, header and rows of each metric's table."""
    for block in comparison.blocks:
        header = ["method", "mean", "95 % interval", "n"]
        if comparison.reference and any(row.difference for row in block.rows):
            header += [f"− {comparison.reference.label}", "95 % interval", "verdict"]
        rows = []
        for row in block.rows:
            minus = row.difference
            cells = [row.system.label, f"{row.mean.mean:.4g}", row.mean.interval, str(row.mean.n)]
            cells += [_signed(minus) if minus else "–", minus.interval if minus else "–", row.verdict]
            rows.append(cells[: len(header)])
        yield f"{heading(block)} on {comparison.group.title}", header, rows


def _signed(difference: Mean) -> str:
    return f"{difference.mean:+.4g}" if difference.mean else "0"


def print_result(result: Result) -> None:
    """Print every table, and below each group what to know before believing it."""
    from iclr26_core.table import print_table

    for comparison in result.comparisons:
        for title, header, rows in tables(comparison):
            print(title)
            print_table(header, rows)
        for caveat in result.caveats(comparison):
            print(f"note: {caveat}")
        print()
    if result.failures:
        rows = [[failure.method, str(failure.seed), failure.reason] for failure in result.failures]
        print("runs without a result")
        print_table(["method", "seed", "reason"], rows)
    for note in result.notes:
        print(f"note: {note}")


def as_markdown(result: Result) -> str:
    """Return the comparison as a Markdown page that shows ``compare.svg``."""
    question = result.question
    seeds = ", ".join(map(str, question["seeds"]))
    parts = [f"# Comparison: {markdown.plain(question['what'])}", f"Seeds {seeds}. {HOW}"]
    for comparison in result.comparisons:
        parts.append(f"## On {markdown.plain(comparison.group.title)}")
        for title, header, rows in tables(comparison):
            parts += [f"### {markdown.plain(title.partition(' on ')[0])}", markdown.table(header, rows)]
        parts.append(markdown.bullets(result.caveats(comparison)))
    if result.failures:
        rows = [[failure.method, str(failure.seed), failure.reason] for failure in result.failures]
        parts += ["## Runs without a result", markdown.table(["method", "seed", "reason"], rows)]
    parts.append(markdown.bullets(result.notes))
    if result.comparisons:
        parts.append("![Forest plot of the means and the paired differences](compare.svg)")
    return markdown.page(parts)
