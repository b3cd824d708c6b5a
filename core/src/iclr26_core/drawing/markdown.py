"""Markdown from data: tables whose cells cannot break out of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

SPECIAL = re.compile(r"([\\`*_\[\]<>|])")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are plain text, escaped here."""
    lines = [[plain(cell) for cell in row] for row in (header, *rows)]
    lines.insert(1, ["---"] * len(header))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def plain(text: str) -> str:
    """Return plain text as Markdown that shows it as it is, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def bullets(lines: Iterable[str]) -> str:
    """Return a list of plain texts, escaped here."""
    return "".join(f"- {plain(line)}\n" for line in lines)


def page(parts: Iterable[str]) -> str:
    """Return the parts, those that are not empty, with one empty line between them."""
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"
