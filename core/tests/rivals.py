"""Distributions of the comparison tests: methods whose results are known, and the command that sees them."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import Command, distribution
from iclr26_core.record import Record, records

SOURCES = Path(__file__).parent / "comparison"
WAVE = (0.10, -0.05, 0.20, 0.00, -0.10, 0.05)


def rival(site: Path, name: str, *, offset: float = 0.0) -> None:
    """Install a method whose loss of seed s is ``offset + 1.5 WAVE[s]``, that of its baseline sgd ``1 + WAVE[s]``."""
    module = distribution(site, name, (SOURCES / "plugin.py").read_text(encoding="utf-8"))
    work = (SOURCES / "work.py").read_text(encoding="utf-8")
    work = work.replace("OFFSET = 0.0", f"OFFSET = {offset}").replace("{name}", name)
    (site / module / "work.py").write_text(work, encoding="utf-8")


def rivals(folder: Path, **offsets: float) -> Command:
    """Return the command with one method per name, each with its offset."""
    site = folder / "site"
    site.mkdir()
    for name, offset in offsets.items():
        rival(site, name, offset=offset)
    return Command(site, folder)


def runs(out: Path) -> list[Record]:
    """Return the records of the methods' runs, oldest first."""
    return [record for _, record in records(out) if record.job not in ("compare", "reproduce")]


def collective(out: Path) -> tuple[Path, Record]:
    """Return folder and record of the newest comparison or reproduction of everything."""
    return [found for found in records(out) if found[1].method["package"] == "iclr26-core"][-1]


def is_alive(process: int) -> bool:
    """Return whether there is a process of this id that is not a zombie."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
