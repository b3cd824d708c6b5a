"""A numeric axis: its range, where a value lies on it, and ticks that do not run into each other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

PADDING = 0.06
DECADES = 2.0  # positive values that span more than this are drawn on a logarithmic axis
CHARACTER = 6.5  # width of a tick label's character in pixels, a wide one
GAP = 12


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``; both are logarithms where ``logarithmic``."""

    low: float
    high: float
    logarithmic: bool

    def place(self, value: float) -> float:
        """Return where a value lies, 0 at the low end and 1 at the high end; values beyond are held at the ends."""
        if self.logarithmic:
            value = math.log10(value) if value > 0 else -math.inf
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def ticks(self, width: float) -> list[tuple[float, str]]:
        """Return values and labels of as many ticks, at most six, as fit into a width in pixels."""
        for count in range(6, 1, -1):
            found = self._logarithmic(count) if self.logarithmic else self._linear(count)
            if sum(len(label) * CHARACTER + GAP for _, label in found) <= width:
                return found
        return found[:1]

    def _linear(self, count: int) -> list[tuple[float, str]]:
        step = _nice((self.high - self.low) / count)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        digits = max(0, -math.floor(math.log10(step)))
        values = [round(index * step, digits) + 0.0 for index in range(first, last + 1)]
        return [(value, f"{value:.10g}") for value in values]

    def _logarithmic(self, count: int) -> list[tuple[float, str]]:
        first, last = math.ceil(self.low), math.floor(self.high)
        stride = max(1, math.ceil((last - first + 1) / count))
        return [(10.0**power, f"{10.0**power:g}") for power in range(first, last + 1, stride)]


def axis(values: Iterable[float]) -> Axis | None:
    """Return an axis on which all finite values fit with some room, or None if there is no finite value."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return None
    low, high = min(finite), max(finite)
    logarithmic = low > 0 and math.log10(high) - math.log10(low) > DECADES
    if logarithmic:
        low, high = math.log10(low), math.log10(high)
    room = (high - low) * PADDING or abs(low) * PADDING or 1.0
    return Axis(low - room, high + room, logarithmic)


def _nice(step: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is at least the step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
