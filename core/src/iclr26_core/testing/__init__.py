"""Conformance kit: one contract per kind of method, and one for every plugin.

    class TestClippedSGD(OptimizerContract):
        method = "clipped-sgd"

        def make(self, params):
            return ClippedSGD(params, ConstantSchedule(lr=0.1, clip=1.0))

A contract's tests cannot be overridden, only marked ``xfail`` with a reason; they say how many checks they made.
Needs the extra ``iclr26-core[testing]``; a kind's contract also needs that kind's library, as its module says
(torch, scikit-learn, ase, gymnasium or transformers), and is imported only when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iclr26_core.testing.agent import AgentContract
    from iclr26_core.testing.architecture import ArchitectureContract
    from iclr26_core.testing.benchmark import BenchmarkContract
    from iclr26_core.testing.contract import Contract
    from iclr26_core.testing.decoder import DecoderContract
    from iclr26_core.testing.detector import DetectorContract
    from iclr26_core.testing.editor import EditorContract
    from iclr26_core.testing.estimator import EstimatorContract
    from iclr26_core.testing.generator import GeneratorContract
    from iclr26_core.testing.gpu import require_gpu
    from iclr26_core.testing.objective import ObjectiveContract
    from iclr26_core.testing.optimizer import OptimizerContract
    from iclr26_core.testing.plugin import PluginContract
    from iclr26_core.testing.potential import PotentialContract

_HOME = {
    "Contract": "contract",
    "AgentContract": "agent",
    "ArchitectureContract": "architecture",
    "BenchmarkContract": "benchmark",
    "DecoderContract": "decoder",
    "DetectorContract": "detector",
    "EditorContract": "editor",
    "EstimatorContract": "estimator",
    "GeneratorContract": "generator",
    "ObjectiveContract": "objective",
    "OptimizerContract": "optimizer",
    "PluginContract": "plugin",
    "PotentialContract": "potential",
    "require_gpu": "gpu",
}
__all__ = [
    "Contract",
    "AgentContract",
    "ArchitectureContract",
    "BenchmarkContract",
    "DecoderContract",
    "DetectorContract",
    "EditorContract",
    "EstimatorContract",
    "GeneratorContract",
    "ObjectiveContract",
    "OptimizerContract",
    "PluginContract",
    "PotentialContract",
    "require_gpu",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
