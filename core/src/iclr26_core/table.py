"""Tables on stdout: drawn by rich on a terminal and in a file alike, wide enough to cut nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from iclr26_core.record import Record


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """Print a table whose first column is text and whose others are right-aligned where they are numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    rows = [list(map(str, row)) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for index, name in enumerate(header):
        numeric = index > 0 and all(row[index][:1] in "-+0123456789.iI–" for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 100_000  # a file has no edge to fold at
    Console(width=width, highlight=False, markup=False).print(table)


def print_metrics(record: Record) -> None:
    """Print the metrics of a run beside those of its baselines; ``±`` is one standard error."""
    systems = {record.method["name"]: record.metrics, **record.baselines}
    systems = {name: metrics for name, metrics in systems.items() if metrics}
    if not systems:
        return
    names = list(dict.fromkeys(name for metrics in systems.values() for name in metrics))
    header = ["method", *(_heading(name, systems.values()) for name in names)]
    rows = [[system, *(_cell(metrics.get(name)) for name in names)] for system, metrics in systems.items()]
    print_table(header, rows)


def print_claims(record: Record) -> None:
    """Print the claims of a reproduction: what the paper says, what was measured, the verdict."""
    from iclr26_core.claims import Estimate

    rows = []
    for claim in record.claims:
        measured = Estimate(**claim["measured"]) if claim["measured"] else None
        needed = claim["region"] if measured else f"needs {claim['needs']}"
        rows.append(
            [claim["id"], claim["paper"], str(measured or "–"), needed, claim["verdict"], f"{claim['seconds']:.1f}"]
        )
    print_table(["claim", "paper", "here", "holds if", "verdict", "s"], rows)


def _heading(name: str, systems: Iterable[dict[str, Any]]) -> str:
    metric = next(metrics[name] for metrics in systems if name in metrics)
    unit = "" if metric["unit"] == "1" else f" [{metric['unit']}]"
    arrow = {True: " ↑", False: " ↓", None: ""}[metric["higher_is_better"]]
    return f"{name}{unit}{arrow}"


def _cell(metric: dict[str, Any] | None) -> str:
    if metric is None:
        return "–"
    value = f"{float(metric['value']):.4g}"
    return value if metric["stderr"] is None else f"{value} ± {float(metric['stderr']):.2g}"
