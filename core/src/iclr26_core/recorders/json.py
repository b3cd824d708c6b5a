"""The recorder that is always on: ``record.json`` and ``steps.jsonl`` in the run's folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from iclr26_core.hooks import hookimpl
from iclr26_core.record import to_json

if TYPE_CHECKING:
    from iclr26_core.run import Run


class JsonRecorder:
    """Appends one line per step and rewrites the record when the run has ended."""

    def __init__(self) -> None:
        self._steps: TextIO | None = None

    @hookimpl
    def iclr26_run_metrics(self, run: Run, step: int, metrics: Mapping[str, float]) -> None:
        """Append ``{"step": …, metric: value, …}``; every line is on disk before the call returns to the job."""
        if self._steps is None:
            self._steps = (run.out / "steps.jsonl").open("a", encoding="utf-8", buffering=1)
        self._steps.write(to_json({"step": step, **metrics}) + "\n")

    @hookimpl
    def iclr26_run_finished(self, run: Run) -> None:
        """Close the steps and write the record."""
        if self._steps is not None:
            self._steps.close()
            self._steps = None
        run.record.write(run.out)
