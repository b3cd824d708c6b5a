"""Forest plots as SVG: one line of text and one interval per row, panels below each other, each with its own axis.

Text stands above its interval, broken to the picture's width, so nothing can overlap. Colours follow the reader's
scheme; what a colour says is also said by the shape of the mark and in the text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Literal

from iclr26_core.drawing.axis import Axis, axis
from iclr26_core.drawing.lettering import broken, text_width

STYLE = (resources.files("iclr26_core.drawing") / "forest.css").read_text(encoding="utf-8")
Tone = Literal["plain", "good", "bad"]

WIDTH, LEFT, RIGHT, ROOM, ZOOM = 400, 22, 378, 378 - 22, 1.3
LINE, STRIP, GAP, AXIS = 17, 16, 22, 24


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A row: a point with its interval (None for a point alone), and the text above it, left and right.

    ``tone`` is the shape and the colour: a filled circle for plain and good, an empty diamond for bad.
    """

    label: str
    text: str
    value: float
    low: float | None = None
    high: float | None = None
    tone: Tone = "plain"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Rows on one axis; ``region`` is shaded and explained by ``legend``, ``reference`` is a dashed line."""

    marks: Sequence[Mark]
    title: str = ""
    region: tuple[float, float] | None = None
    legend: str = ""
    reference: float | None = None


def svg(panels: Sequence[Panel], *, title: str, styled: bool = True) -> str:
    """Return the panels, from top to bottom, as one SVG.

    Args:
        panels: what is drawn
        title: what the picture shows, for those who cannot see it
        styled: False for a page that has ``forest.css`` already
    """
    height, body = GAP / 2, list[str]()
    for panel in panels:
        height, drawn = _panel(panel, height)
        height, body = height + GAP, body + drawn
    height = math.ceil(height - GAP / 2)
    style = f"<style>{STYLE}</style>" if styled else ""
    frame = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH * ZOOM}" role="img" aria-label="{escape(title)}"'
    paper = f'<rect class="paper" width="{WIDTH}" height="{height}"/>'
    return f'<svg class="forest" xmlns="http://www.w3.org/2000/svg" {frame}>{style}{paper}{"".join(body)}</svg>'


def _panel(panel: Panel, top: float) -> tuple[float, list[str]]:
    """Return where the panel ends, and its elements."""
    top, drawn = _block(panel.title, top, "title")
    scale = axis(_numbers(panel))
    for mark in panel.marks:
        for left, right in _lines(mark):
            drawn += [_text(left, top), _text(right, top, "soft", at=RIGHT, anchor="end")]
            top += LINE
        if scale is not None:
            drawn += [*_strip(panel, scale, top), *_interval(mark, scale, top + STRIP / 2)]
            top += STRIP + 3
    if scale is not None:
        drawn += _axis(scale, top + 2)
        top += AXIS
    top, legend = _block(panel.legend, top, "soft")
    return top, drawn + legend


def _numbers(panel: Panel) -> list[float]:
    numbers = [number for mark in panel.marks for number in (mark.value, mark.low, mark.high)]
    return [number for number in (*numbers, *(panel.region or ()), panel.reference) if number is not None]


def _lines(mark: Mark) -> list[tuple[str, str]]:
    """Return the mark's text as lines, left and right; side by side where both fit."""
    label = broken(mark.label, ROOM)
    if label and text_width(label[-1]) + text_width(mark.text) + GAP <= ROOM:
        return [*((line, "") for line in label[:-1]), (label[-1], mark.text)]
    return [*((line, "") for line in label), *(("", line) for line in broken(mark.text, ROOM))]


def _strip(panel: Panel, scale: Axis, top: float) -> list[str]:
    drawn = []
    if panel.region is not None:
        left, right = (_x(scale, bound) for bound in panel.region)
        drawn.append(f'<rect class="shade" x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{STRIP}"/>')
    if panel.reference is not None and math.isfinite(panel.reference):
        x = _x(scale, panel.reference)
        drawn.append(f'<line class="reference" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + STRIP}"/>')
    return drawn


def _interval(mark: Mark, scale: Axis, y: float) -> list[str]:
    drawn = []
    if mark.low is not None and mark.high is not None:
        low, high = _x(scale, mark.low), _x(scale, mark.high)
        ends = "".join(f"M{x:.1f} {y - 4}V{y + 4}" for x in (low, high))
        drawn.append(f'<path class="whisker {mark.tone}" d="M{low:.1f} {y}H{high:.1f}{ends}"/>')
    if math.isnan(mark.value):
        return drawn
    x = _x(scale, mark.value)
    if mark.tone == "bad":
        drawn.append(f'<path class="point bad" d="M{x - 5:.1f} {y}L{x:.1f} {y - 5}L{x + 5:.1f} {y}L{x:.1f} {y + 5}Z"/>')
    else:
        drawn.append(f'<circle class="point {mark.tone}" cx="{x:.1f}" cy="{y}" r="3.5"/>')
    return drawn


def _axis(scale: Axis, y: float) -> list[str]:
    drawn = [f'<line class="axis" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>']
    for value, label in scale.ticks(ROOM):
        x = _x(scale, value)
        drawn.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 4}"/>')
        drawn.append(f'<text class="soft" x="{x:.1f}" y="{y + 16}" text-anchor="middle">{label}</text>')
    return drawn


def _x(scale: Axis, value: float) -> float:
    return LEFT + scale.place(value) * ROOM


def _block(text: str, top: float, kind: str) -> tuple[float, list[str]]:
    """Return where a text that is broken into lines ends, and its elements."""
    lines = broken(text, ROOM)
    return top + LINE * len(lines), [_text(line, top + LINE * index, kind) for index, line in enumerate(lines)]


def _text(text: str, top: float, kind: str = "", *, at: float = LEFT, anchor: str = "start") -> str:
    drawn = f'<text class="{kind}" x="{at}" y="{top + 12}" text-anchor="{anchor}">{escape(text)}</text>'
    return drawn if text else ""
