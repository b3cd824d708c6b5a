"""The reproduction report: how each method's claims came out, as Markdown and as one HTML page that loads nothing."""

from __future__ import annotations

from pathlib import Path

from iclr26_core.record import write_atomically
from iclr26_core.report import page, text
from iclr26_core.report.outcomes import Report


def write(report: Report, folder: Path) -> None:
    """Write ``README.md`` and ``index.html`` into a folder."""
    write_atomically(folder / "README.md", text.as_markdown(report))
    write_atomically(folder / "index.html", page.render(report))
