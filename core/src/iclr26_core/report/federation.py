"""``iclr26 reproduce --all``: the claims of every installed method, each in a process of its own, and the report."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iclr26_core import child, execute
from iclr26_core.claims import Scale
from iclr26_core.collective import collective
from iclr26_core.entrypoints import BrokenPlugin, Installed
from iclr26_core.errors import MethodNotFound, OutputError
from iclr26_core.options import Options
from iclr26_core.plugins import Plugins, discovered
from iclr26_core.record import records
from iclr26_core.report import write
from iclr26_core.report.outcomes import Outcome, Report
from iclr26_core.run import Run

FILES = ("README.md", "index.html")
THIS = collective(
    "federation", job="reproduce", target="iclr26_core.federation:reproduce_all", summary="every method's claims"
)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be reproduced.

    Attributes:
        scale: ``small`` or ``paper``
        only: names of methods; empty is every installed one
        timeout: seconds per method
    """

    scale: Scale = "small"
    only: Sequence[str] = ()
    timeout: float = 1800.0


def reproduce_all(question: Question, *, report: Path, out: Path | None = None, among: Plugins | None = None) -> Report:
    """Return the report, written as ``README.md`` and ``index.html``; no method can end those after it.

    Args:
        question: what is to be reproduced
        report: the folder for the report
        out: the output folder
        among: the plugins to look in; None is the cached instance

    Raises:
        MethodNotFound, PluginError: a method that was asked for is missing or broken, or there is none at all
        OutputError: a folder cannot be written
    """
    plugins = among or discovered()
    chosen = [plugins.find(name) for name in question.only or sorted(plugins.installed)]
    broken = [] if question.only else plugins.broken
    if not chosen and not broken:
        raise MethodNotFound("no methods are installed; try: pip install iclr26-clipped-sgd")
    try:
        report.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write the report to {report}: {error}: choose another with --report") from error
    options = Options(out=out) if out else Options()
    reports: list[Report] = []

    def work(run: Run) -> None:
        outcomes = [_outcome(run, method, question) for method in run.progress(chosen, label="methods")]
        made = Report(run=run.record, scale=question.scale, outcomes=[*outcomes, *map(_broken, broken)])
        for folder in (run.out, report):
            write(made, folder)
        for name in FILES:
            run.artifact(name)
        reports.append(made)

    execute.perform(work, THIS, "reproduce", dataclasses.asdict(question), options, plugins, scale=question.scale)
    return reports[0]


def _outcome(run: Run, installed: Installed, question: Question) -> Outcome:
    method, out = installed.method, run.options.out
    log = run.out / f"{method.name}.log"
    run.say(f"{method.name}: at most {question.timeout:.0f} s (its talk: {log})")
    command = ["reproduce", method.name, "--scale", question.scale, "--out", str(out)]
    ended = child.iclr26(command, log=log, parent=run.record.run_id, timeout=question.timeout)
    mine = [
        (folder, record)
        for folder, record in records(out)
        if record.parent == run.record.run_id and record.method["name"] == method.name
    ]
    folder, record = mine[-1] if mine else (None, None)
    status = "ok" if record and record.status == "ok" and ended.code == 0 else ended.reason()
    if record and record.error and not ended.out_of_time:
        status = f"{record.error['type']}: {record.error['message']}"
    if status == "ok" and record and not record.claims:
        status = "it has no claims"
    run.say(f"{method.name}: {status} ({ended.seconds:.0f} s)")
    return Outcome(
        name=method.name, kind=method.kind, package=installed.package, version=installed.version,
        summary=method.summary, title=method.title, paper=method.paper,
        status=status, seconds=ended.seconds, record=record, folder=folder,
    )  # fmt: skip


def _broken(plugin: BrokenPlugin) -> Outcome:
    status = f"broken plugin, {type(plugin.error).__name__}: {plugin.error}"
    return Outcome(name=plugin.name, package=plugin.package, version=plugin.version, status=status, seconds=0.0)
