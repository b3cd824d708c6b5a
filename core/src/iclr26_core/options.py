"""The options that every run has, whatever the method."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from iclr26_core.errors import UsageError

DEFAULT_OUT = Path("iclr26-runs")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options shared by all jobs.

    Attributes:
        out: Folder that holds one folder per run; default ICLR26_OUT, else iclr26-runs here.
        seed: Seed of everything random.
        device: auto, cpu, cuda, cuda:1, mps, …; auto takes a GPU if torch sees one.
        track: Tracker that follows the run beside its JSON record; default ICLR26_TRACK, else none.
        tracking_uri: Where the tracker writes; default MLFLOW_TRACKING_URI, else a sqlite file in the out folder.
        resume: Continue the newest unfinished run of the same method, job, configuration and seed.

    Raises:
        UsageError: a seed or a tracker that there is not
    """

    out: Path = field(default_factory=lambda: Path(os.environ.get("ICLR26_OUT") or DEFAULT_OUT))
    seed: int = 0
    device: str = "auto"
    track: Literal["none", "mlflow"] = field(
        default_factory=lambda: os.environ.get("ICLR26_TRACK") or "none"  # type: ignore[return-value, arg-type]
    )
    tracking_uri: str | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"seed must be in [0, 2**32) (got {self.seed})")
        if self.track not in ("none", "mlflow"):
            raise UsageError(f"track must be none or mlflow (got {self.track!r}): set --track or ICLR26_TRACK")
