"""The reproduction report as one HTML page that loads nothing: styles, plots and pictures are in it."""

from __future__ import annotations

import base64
import mimetypes
import string
from collections.abc import Iterable, Iterator
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from iclr26_core.drawing import forest
from iclr26_core.report import facts
from iclr26_core.report.outcomes import HEADER, Outcome, Report

CLASSES = {"holds": "holds", "fails": "fails", "not testable here": "untested"}
NUMERIC = range(3, 7)


def render(report: Report) -> str:
    """Return the page."""
    return string.Template(_file("page.html")).substitute(
        style=_file("page.css") + forest.STYLE,
        sentence=escape(report.sentence),
        about=_facts(report.about, "How this was made"),
        head=_row(HEADER, header=True),
        rows="".join(_row(outcome.row, link=f"#method-{outcome.name}") for outcome in report.outcomes),
        foot=_row(report.totals),
        methods="".join(map(_method, report.outcomes)),
    )


def _row(cells: Iterable[str], *, header: bool = False, link: str = "") -> str:
    """Return a row of the summary; its first cell, or every cell of a header, is a heading."""
    made = []
    for index, cell in enumerate(cells):
        text = f'<a href="{escape(link)}">{escape(cell)}</a>' if link and index == 0 else escape(cell)
        style = ' class="number"' if index in NUMERIC else ""
        if header or index == 0:
            made.append(f'<th scope="{"col" if header else "row"}"{style}>{text}</th>')
        else:
            made.append(f"<td{style}>{text}</td>")
    return f"<tr>{''.join(made)}</tr>\n"


def _facts(pairs: Iterable[tuple[str, str]], caption: str) -> str:
    rows = (f'<tr><th scope="row">{escape(label)}</th><td>{escape(text)}</td></tr>' for label, text in pairs)
    return f'<table class="facts"><caption>{escape(caption)}</caption><tbody>{"".join(rows)}</tbody></table>'


def _method(outcome: Outcome) -> str:
    name, kind = escape(outcome.name), escape(outcome.kind)
    return (
        f'<section id="method-{name}" aria-labelledby="title-{name}"><h2 id="title-{name}">{name} '
        f"<small>{kind}, {escape(outcome.package)} {escape(outcome.version)}</small></h2>"
        f"{''.join(_introduction(outcome))}{''.join(_claim(claim, outcome) for claim in outcome.claims)}</section>\n"
    )


def _introduction(outcome: Outcome) -> Iterator[str]:
    if outcome.title:
        title = escape(outcome.title)
        if outcome.paper.startswith(("https://", "http://")):
            title = f'<a href="{escape(outcome.paper)}">{title}</a>'
        yield f"<p>{title}. {escape(outcome.summary)}</p>"
    if outcome.status != "ok":
        yield f'<p class="problem"><strong>Not complete:</strong> {escape(outcome.status)}</p>'
    if outcome.record:
        machine = facts.of_machine(outcome.record.environment)
        yield f'<p class="machine">{outcome.seconds:.0f} s on {escape(machine)}</p>'


def _claim(claim: dict[str, Any], outcome: Outcome) -> str:
    panel = facts.panel(claim)
    label = f"{claim['id']}: measured interval and region in which the claim holds"
    plot = f"<figure>{forest.svg([panel], title=label, styled=False)}</figure>" if panel else ""
    return (
        f'<article class="{CLASSES[claim["verdict"]]}"><h3>{escape(claim["id"])} '
        f'<span class="verdict">{escape(facts.verdict(claim))}</span></h3>'
        f"<blockquote>{escape(claim['statement'])}</blockquote>"
        f'<div class="sides">{_facts(facts.of_claim(claim), claim["id"])}{plot}</div>'
        f"{_picture(claim, outcome.folder)}</article>\n"
    )


def _picture(claim: dict[str, Any], folder: Path | None) -> str:
    """Return the claim's plot as a data URI, or a sentence that says why it is not shown."""
    if not claim["plot"] or folder is None:
        return ""
    path = (folder / claim["plot"]).resolve()
    kind = mimetypes.guess_type(path.name)[0] or "unknown"
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        return f'<p class="problem">The plot {escape(claim["plot"])} is missing from the run.</p>'
    if not kind.startswith("image/"):
        return f'<p class="problem">The plot {escape(claim["plot"])} is of type {escape(kind)}, not an image.</p>'
    encoded = base64.b64encode(path.read_bytes()).decode()
    caption = f"{claim['id']}: {claim['detail'] or claim['statement']}"
    return (
        f'<figure class="plot"><img src="data:{kind};base64,{encoded}" alt="{escape(f"Plot of {caption}")}">'
        f"<figcaption>{escape(claim['plot'])}</figcaption></figure>"
    )


def _file(name: str) -> str:
    return (resources.files("iclr26_core.report") / name).read_text(encoding="utf-8")
