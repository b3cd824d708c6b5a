"""What a job or a claims function sees of the run that it is part of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import SupportsFloat, TypeVar

import pluggy

from iclr26_core import progress
from iclr26_core.claims import Claim, Scale
from iclr26_core.device import resolve
from iclr26_core.errors import UsageError
from iclr26_core.method import Method
from iclr26_core.options import Options
from iclr26_core.record import Record
from iclr26_core.recorders import notify

Item = TypeVar("Item")


class Run:
    """One run: its seed, device and folder, and where its results go.

    Attributes:
        method: the descriptor of the method
        record: what is kept of the run
        out: the run's own folder; write artifacts there
        options: the shared options
        seed: seed of everything random
        scale: ``small`` or ``paper``, for claims
        resumed: whether ``out`` holds what an interrupted run left
    """

    def __init__(
        self,
        *,
        method: Method,
        record: Record,
        out: Path,
        options: Options,
        recorders: pluggy.PluginManager,
        scale: Scale = "small",
        resumed: bool = False,
    ) -> None:
        self.method, self.record, self.out, self.options = method, record, out, options
        self.seed, self.scale, self.resumed = record.seed, scale, resumed
        self._recorders = recorders
        self.chosen_device = options.device

    @property
    def device(self) -> str:
        """The torch device to use, e.g. ``cpu`` or ``cuda``; asking imports torch, where it is installed.

        Raises:
            UsageError: the device that was asked for is not there
        """
        self.chosen_device = resolve(self.chosen_device)
        return self.chosen_device

    def log(self, step: int, **metrics: SupportsFloat) -> None:
        """Keep the metrics of one step: they go to ``steps.jsonl`` and to the trackers."""
        values = {name: float(value) for name, value in metrics.items()}
        notify(self._recorders, "iclr26_run_metrics", run=self, step=step, metrics=values)

    def metric(
        self,
        name: str,
        value: SupportsFloat,
        *,
        of: str | None = None,
        unit: str = "1",
        higher_is_better: bool | None = None,
        n: int | None = None,
        stderr: SupportsFloat | None = None,
    ) -> None:
        """Keep a final metric, to be shown and compared.

        Args:
            name: the metric; the names in ``iclr26_core.KINDS[kind].metrics`` are shared by all methods of a kind
            value: its value
            of: the baseline or variant it belongs to; None is the method itself
            unit: its unit, ``"1"`` without one
            higher_is_better: direction, None where neither is better
            n: number of independent repetitions behind it
            stderr: standard error of the value
        """
        kept = self.record.metrics if of is None else self.record.baselines.setdefault(of, {})
        kept[name] = {
            "value": float(value),
            "unit": unit,
            "higher_is_better": higher_is_better,
            "n": None if n is None else int(n),
            "stderr": None if stderr is None else float(stderr),
        }

    def input(self, name: str, content: bytes | Path) -> None:
        """Keep the fingerprint of an input, so that ``iclr26 compare`` sets only runs on the same input side by side.

        Args:
            name: what it is, e.g. ``"breast-cancer"``
            content: its bytes (``array.tobytes()``), or the file that holds them
        """
        data = content.read_bytes() if isinstance(content, Path) else content
        self.record.inputs[name] = hashlib.sha256(data).hexdigest()

    def judge(self, claim: Claim) -> None:
        """Keep one claim with its verdict."""
        self.record.claims.append(claim.as_dict())
        notify(self._recorders, "iclr26_claim_judged", run=self, claim=claim)

    def artifact(self, path: str | Path) -> Path:
        """Return the path of a file in the run's folder, kept as one of its artifacts.

        Raises:
            UsageError: there is no such file below ``out``
        """
        path = self.out / path
        if not path.is_file() or not path.resolve().is_relative_to(self.out.resolve()):
            raise UsageError(f"an artifact must be a file below the run's folder {self.out} (got {path})")
        name = path.resolve().relative_to(self.out.resolve()).as_posix()
        if name not in self.record.artifacts:
            self.record.artifacts.append(name)
        return path

    def say(self, text: str) -> None:
        """Print one line about the stage that the run is at, on stderr."""
        progress.say(text)

    def print(self, text: str) -> None:
        """Print data beyond the table of metrics, on stdout."""
        print(text, flush=True)

    def progress(self, items: Iterable[Item], *, label: str, total: int | None = None) -> Iterator[Item]:
        """Yield the items and show how far it is; see :func:`iclr26_core.progress.progress`."""
        return progress.progress(items, label=label, total=total)
