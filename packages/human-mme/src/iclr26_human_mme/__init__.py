"""Scores answers to arithmetic questions that need the order of operations.

Names are imported when they are first used, so that importing the package loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .baselines import left_to_right
    from .config import ScoreConfig
    from .human_mme import HumanMmeBenchmark

_HOMES = {
    "HumanMmeBenchmark": "human_mme",
    "ScoreConfig": "config",
    "left_to_right": "baselines",
}
__all__ = [
    "HumanMmeBenchmark",
    "ScoreConfig",
    "left_to_right",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
