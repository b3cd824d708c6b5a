"""Conformance kit: one contract per kind of method, and one for every plugin.

    class TestClippedSGD(OptimizerContract):
        method = "clipped-sgd"

        def make(self, params):
            return ClippedSGD(params, ConstantSchedule(lr=0.1, clip=1.0))

A contract's tests cannot be overridden, only marked ``xfail`` with a reason; they say how many checks they made.
Needs the extra ``iclr26-core[testing]``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iclr26_core.testing.contract import Contract
    from iclr26_core.testing.gpu import require_gpu
    from iclr26_core.testing.optimizer import OptimizerContract
    from iclr26_core.testing.plugin import PluginContract

_HOME = {
    "Contract": "contract",
    "OptimizerContract": "optimizer",
    "PluginContract": "plugin",
    "require_gpu": "gpu",
}
__all__ = ["Contract", "OptimizerContract", "PluginContract", "require_gpu"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
