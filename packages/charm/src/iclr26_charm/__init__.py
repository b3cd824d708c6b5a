"""Finds a classifier's wrong answers in the probabilities that it gave.

Names are imported when they are first used, so that importing the package loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .baselines import MaximumProbability
    from .charm import CharmDetector
    from .config import DetectConfig

_HOMES = {
    "CharmDetector": "charm",
    "DetectConfig": "config",
    "MaximumProbability": "baselines",
}
__all__ = [
    "CharmDetector",
    "DetectConfig",
    "MaximumProbability",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
