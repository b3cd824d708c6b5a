"""The reproduction report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from iclr26_core.drawing import markdown
from iclr26_core.report import facts
from iclr26_core.report.outcomes import HEADER, Outcome, Report


def as_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    parts = [
        "# Reproduction of the papers' claims",
        f"{report.sentence} A verdict is computed: a claim holds if the whole measured interval lies in the region "
        f"that it names. Written by `{report.command}`; the same with plots: [index.html](index.html).",
        markdown.bullets(f"{label}: {text}" for label, text in report.about[:-1]),
        markdown.table(HEADER, [*(outcome.row for outcome in report.outcomes), report.totals]),
        *(part for outcome in report.outcomes for part in _section(outcome)),
    ]
    return markdown.page(parts)


def _section(outcome: Outcome) -> Iterator[str]:
    yield f"## {markdown.plain(outcome.name)}"
    if outcome.title:
        yield f"[{markdown.plain(outcome.title)}](<{outcome.paper}>). {markdown.plain(outcome.summary)}"
    if outcome.status != "ok":
        yield f"**Not complete**: {markdown.plain(outcome.status)}"
    if outcome.record:
        yield f"Run on {markdown.plain(facts.of_machine(outcome.record.environment))}."
    rows = []
    for claim in outcome.claims:
        told = dict(facts.of_claim(claim))
        here = f"{told['Here']} ({told['Repetitions']})" if "Repetitions" in told else told["Here"]
        needed = claim["region"] if claim["measured"] else f"needs {claim['needs']}"
        seconds = "–" if claim["seconds"] is None else f"{claim['seconds']:.1f}"
        detail = told.get("Compared", "")
        rows.append(
            [claim["id"], claim["statement"], told["Paper"], here, needed, facts.verdict(claim), seconds, detail]
        )
    if rows:
        yield markdown.table(["Claim", "Statement", "Paper", "Here", "Holds if", "Verdict", "s", "Compared"], rows)
