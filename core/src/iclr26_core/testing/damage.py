"""What contracts do to examples: pick rows, and break them so that a method has something to refuse."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def rows(data: Any, index: Sequence[int]) -> Any:
    """Return these rows of an array, tensor, list, or of each such value in a mapping; other values as they are."""
    if isinstance(data, Mapping):
        return {name: rows(value, index) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(data[i] for i in index)
    return data[list(index)] if getattr(data, "ndim", 0) else data


def with_nan(data: Any) -> Any:
    """Return a copy of an array, tensor or mapping of them, its first float NaN; None if it has no floats."""
    if isinstance(data, Mapping):
        damaged = {name: with_nan(value) for name, value in data.items()}
        if all(value is None for value in damaged.values()):
            return None
        return {name: data[name] if value is None else value for name, value in damaged.items()}
    if isinstance(data, float):
        return math.nan
    if not _holds_floats(data):
        return None
    copy = data.detach().clone() if hasattr(data, "detach") else data.copy()
    copy[(0,) * copy.ndim] = math.nan
    return copy


def _holds_floats(data: Any) -> bool:
    if hasattr(data, "is_floating_point"):
        return bool(data.is_floating_point() and data.numel())
    return getattr(getattr(data, "dtype", None), "kind", "") == "f" and data.size > 0
