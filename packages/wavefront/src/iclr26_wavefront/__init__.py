"""Decodes the most likely token at every step.

Names are imported when they are first used, so that importing the package loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .baselines import Sampling
    from .bigram import Bigram
    from .config import DecodeConfig
    from .wavefront import WavefrontDecoder

_HOMES = {
    "Bigram": "bigram",
    "DecodeConfig": "config",
    "Sampling": "baselines",
    "WavefrontDecoder": "wavefront",
}
__all__ = [
    "Bigram",
    "DecodeConfig",
    "Sampling",
    "WavefrontDecoder",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
