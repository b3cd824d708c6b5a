"""Progress of long work, on stderr: a bar with rate and time left on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

Item = TypeVar("Item")


def say(text: str) -> None:
    """Print one line of talk."""
    print(text, file=sys.stderr, flush=True)


def progress(items: Iterable[Item], *, label: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items and show how far it is.

    Args:
        items: what to go through
        label: what is being done, e.g. ``"training"``
        total: number of items, if they have no length
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    return (_bar if sys.stderr.isatty() else _line)(items, label, total)


def _bar(items: Iterable[Item], label: str, total: int | None) -> Iterator[Item]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.finished_speed or task.speed or 0:.1f}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield from bar.track(items, total=total, description=label)


def _line(items: Iterable[Item], label: str, total: int | None) -> Iterator[Item]:
    say(f"{label}: {total if total is not None else 'some'} steps")
    started, count = time.perf_counter(), 0
    for item in items:
        yield item
        count += 1
    say(f"{label}: {count} steps in {time.perf_counter() - started:.1f} s")
