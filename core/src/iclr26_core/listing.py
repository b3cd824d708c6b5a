"""What ``list``, ``show`` and ``runs`` print: plain aligned columns, so that nothing heavy is imported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iclr26_core.entrypoints import Installed
from iclr26_core.plugins import Plugins

if TYPE_CHECKING:
    from iclr26_core.record import Record


def print_methods(plugins: Plugins, kind: str | None, *, as_json: bool) -> None:
    """Print the installed methods, one a line, or a JSON list of their descriptors."""
    found = [plugins.installed[name] for name in plugins.methods(kind)]
    if as_json:
        print(json.dumps([_described(installed) for installed in found], indent=1))
        return
    rows = [(i.method.name, i.method.kind, i.version, i.method.status, i.method.summary) for i in found]
    if rows:
        _print_columns([("NAME", "KIND", "VERSION", "STATUS", "SUMMARY"), *rows])
    else:
        print("no methods are installed; try: pip install iclr26-clipped-sgd")


def print_method(installed: Installed) -> None:
    """Print one method: its paper, what it takes, its jobs, and the commands to go on with."""
    method = installed.method
    print(f"{method.name} {installed.version} ({installed.package}), {method.kind}, {method.status}")
    print(f"{method.summary}\n")
    print(f"paper      {method.title}\n           {method.paper}")
    for label, values in (("accepts", method.accepts), ("baselines", method.baselines), ("tags", method.tags)):
        if values:
            print(f"{label:<10} {', '.join(values)}")
    print(f"gpu        {method.gpu}\nclass      {method.target}\n\njobs")
    _print_columns(
        [(f"  {job.name}", job.summary + (" (can be resumed)" if job.resumable else "")) for job in method.jobs]
    )
    print()
    _print_columns(
        [
            (f"iclr26 run {method.name}", "the first job, on an embedded example"),
            (f"iclr26 run {method.name} {method.jobs[0].name} --help", "the options of a job"),
            (f"iclr26 reproduce {method.name}", "the paper's claims, checked here"),
        ]
    )


def print_runs(out: Path, *, as_json: bool) -> None:
    """Print the runs in a folder, oldest first, or their records as JSON lines."""
    from iclr26_core.record import records, to_json

    found = records(out)
    if as_json:
        for _, record in found:
            print(to_json(vars(record)))
    elif found:
        rows = [
            (record.run_id, _status(folder, record), record.started_at, _wall(record), _result(record))
            for folder, record in found
        ]
        _print_columns([("RUN", "STATUS", "STARTED", "WALL", "RESULT"), *rows])
    else:
        print(f"no runs in {out}")


def _described(installed: Installed) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(installed.method), "package": installed.package, "version": installed.version}


def _status(folder: Path, record: Record) -> str:
    if record.wall_s is None:
        from iclr26_core.folder import is_running

        return "running" if is_running(folder) else record.status
    return record.status


def _wall(record: Record) -> str:
    return "–" if record.wall_s is None else f"{record.wall_s:.1f} s"


def _result(record: Record) -> str:
    if record.error:
        return f"{record.error['type']}: {record.error['message']}".splitlines()[0][:100]
    if record.claims:
        verdicts = [claim["verdict"] for claim in record.claims]
        return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    return ", ".join(f"{name} {float(metric['value']):.4g}" for name, metric in record.metrics.items())[:100]


def _print_columns(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
