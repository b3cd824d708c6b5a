"""Discover, run, record and check the methods of ICLR 2026 that are installed as plugins.

    >>> import iclr26_core as iclr26
    >>> sorted(iclr26.KINDS)[:3]
    ['agent', 'architecture', 'benchmark']

``methods(kind=None)`` lists what is installed, ``get(name)`` imports a method's class, ``run_job(name)`` runs it and
returns its record, ``reproduce(name)`` checks its paper's claims. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iclr26_core.cache import cache_dir
    from iclr26_core.claims import Claim, Estimate
    from iclr26_core.entrypoints import BrokenPlugin, Installed
    from iclr26_core.execute import reproduce, run_job
    from iclr26_core.hooks import hookimpl
    from iclr26_core.kinds import KINDS
    from iclr26_core.method import Job, Method
    from iclr26_core.options import Options
    from iclr26_core.plugins import Plugins, discovered, get, methods
    from iclr26_core.record import Record
    from iclr26_core.run import Run

_HOME = {
    "BrokenPlugin": "entrypoints",
    "Claim": "claims",
    "Estimate": "claims",
    "Installed": "entrypoints",
    "Job": "method",
    "KINDS": "kinds",
    "Method": "method",
    "Options": "options",
    "Plugins": "plugins",
    "Record": "record",
    "Run": "run",
    "cache_dir": "cache",
    "discovered": "plugins",
    "get": "plugins",
    "hookimpl": "hooks",
    "methods": "plugins",
    "reproduce": "execute",
    "run_job": "execute",
}
__all__ = [
    "KINDS",
    "BrokenPlugin",
    "Claim",
    "Estimate",
    "Installed",
    "Job",
    "Method",
    "Options",
    "Plugins",
    "Record",
    "Run",
    "cache_dir",
    "discovered",
    "get",
    "hookimpl",
    "methods",
    "reproduce",
    "run_job",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
