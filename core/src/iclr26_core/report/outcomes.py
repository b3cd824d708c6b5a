"""How the reproductions of the methods came out, counted and summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iclr26_core.record import Record
from iclr26_core.report import facts

VERDICTS = ("holds", "fails", "not testable here")
HEADER = ("Method", "Kind", "Version", "Holds", "Fails", "Not testable here", "Seconds", "Status")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the reproduction of one method ended.

    ``status`` is ``"ok"`` or why it is not; ``record`` is None where it did not come to a record, and holds the
    claims that were judged before it ended otherwise. ``folder`` is the run's, where plots lie.
    """

    name: str
    kind: str = "–"
    package: str
    version: str
    summary: str = ""
    title: str = ""
    paper: str = ""
    status: str
    seconds: float
    record: Record | None = None
    folder: Path | None = None

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims that were judged, as they stand in the record."""
        return self.record.claims if self.record else []

    @property
    def row(self) -> list[str]:
        """The cells below ``HEADER``."""
        counted = Counter(claim["verdict"] for claim in self.claims)
        counts = [str(counted[verdict]) for verdict in VERDICTS]
        return [self.name, self.kind, self.version, *counts, f"{self.seconds:.0f}", self.status]


@dataclass(frozen=True, kw_only=True)
class Report:
    """All outcomes, with the run that they are part of: its date, machine and source."""

    run: Record
    scale: str
    outcomes: Sequence[Outcome]

    @property
    def about(self) -> list[tuple[str, str]]:
        """When, where and from what source the report was made."""
        git = self.run.git or {}
        source = f"{git['commit'][:12]}{' with changes' if git['dirty'] else ''}" if git else "not a git checkout"
        return [
            ("Date", self.run.started_at[:10]),
            ("Scale", self.scale),
            ("Machine", facts.of_machine(self.run.environment)),
            ("Source", source),
            ("Command", self.command),
        ]

    @property
    def command(self) -> str:
        """The command that writes this report."""
        only = f" --only {','.join(self.run.config['only'])}" if self.run.config["only"] else ""
        return f"iclr26 reproduce --all --scale {self.scale}{only}"

    @property
    def totals(self) -> list[str]:
        """The cells of the last row."""
        columns = list(zip(*(outcome.row for outcome in self.outcomes), strict=True))
        counts = [str(sum(map(int, column))) for column in columns[3:7]]
        failed = sum(outcome.status != "ok" for outcome in self.outcomes)
        return ["All", "", "", *counts, f"{failed} not complete" if failed else "ok"]

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        _, _, _, holds, fails, untested, *_ = self.totals
        count = len(self.outcomes)
        methods = "1 method" if count == 1 else f"{count} methods"
        return f"Claims of {methods}: {holds} hold, {fails} fail, {untested} not testable here."
