"""Runs of the core itself that are made of other methods' runs: a comparison, the reproduction of everything."""

from __future__ import annotations

import importlib.metadata

from iclr26_core.entrypoints import Installed
from iclr26_core.method import Job, Method


def collective(name: str, *, job: str, target: str, summary: str) -> Installed:
    """Return the descriptor under which such a run is recorded; it is not listed and cannot be asked for by name.

    Args:
        name: e.g. ``comparison``
        job: the command
        target: ``"module:function"`` that does the work
        summary: one line
    """
    config = f"{target.partition(':')[0]}:Question"
    method = Method(
        name=name,
        kind="benchmark",
        target=target,
        jobs=(Job(name=job, target=target, config=config, summary=summary),),
        claims=target,
        summary=summary,
        title=summary,
        paper="none: this run is made of other runs",
    )
    return Installed(method, "iclr26-core", importlib.metadata.version("iclr26-core"))
