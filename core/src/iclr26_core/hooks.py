"""The hooks of the plugin API v1: one that describes methods, four that follow a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from iclr26_core.claims import Claim
    from iclr26_core.method import Method
    from iclr26_core.run import Run

PROJECT = "iclr26"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


def manager() -> pluggy.PluginManager:
    """Return a plugin manager that knows these hooks and no plugin."""
    made = pluggy.PluginManager(PROJECT)
    made.add_hookspecs(sys.modules[__name__])
    return made


@hookspec
def iclr26_methods() -> Iterable[Method]:  # type: ignore[empty-body]
    """Return the descriptors of the methods in this package; must import nothing but ``iclr26_core``."""


@hookspec
def iclr26_run_started(run: Run) -> None:
    """Follow the start of a run; ``run.record`` is complete but for its results."""


@hookspec
def iclr26_run_metrics(run: Run, step: int, metrics: Mapping[str, float]) -> None:
    """Follow the metrics of one step."""


@hookspec
def iclr26_claim_judged(run: Run, claim: Claim) -> None:
    """Follow one claim of a reproduction, as soon as it has its verdict."""


@hookspec
def iclr26_run_finished(run: Run) -> None:
    """Follow the end of a run; ``run.record.status`` is ``ok``, ``failed`` or ``interrupted``."""
