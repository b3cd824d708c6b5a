"""Means with their 95 % intervals over seeds, and paired differences; Student's t, nothing beyond the standard library.

A mean of n seeds has the interval ``mean ± t(n - 1) s / sqrt(n)``. It is exact for normal values and assumes that the
seeds are independent; with one seed, or with a value that is not finite, there is none.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean of ``n`` values; ``low`` and ``high`` are None where there is no interval."""

    mean: float
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.4g}" if self.low is None else f"{self.mean:.4g} {self.interval}"

    @property
    def interval(self) -> str:
        """The interval as text, or a dash."""
        return "–" if self.low is None else f"[{self.low:.4g}, {self.high:.4g}]"


def mean_interval(values: Sequence[float], *, level: float = LEVEL) -> Mean:
    """Return the mean of independent values with its t interval.

    Args:
        values: one per seed; not finite ones give a mean that is not finite, without an interval
        level: probability that the interval covers the mean, in (0, 1)

    Raises:
        ValueError: there is no value, or the level is out of range

    Example:
        >>> found = mean_interval([1.0, 2.0, 3.0])
        >>> found.n, found.mean, round(found.high, 4)
        (3, 2.0, 4.4841)
    """
    if not values:
        raise ValueError("a mean needs at least 1 value (got 0)")
    count = len(values)
    if not all(map(math.isfinite, values)):
        return Mean(sum(values), None, None, count)
    mean = statistics.fmean(values)
    if count < 2:
        return Mean(mean, None, None, count)
    half = t_quantile(count - 1, level=level) * statistics.stdev(values) / math.sqrt(count)
    return Mean(mean, mean - half, mean + half, count)


def paired_difference(
    values: Mapping[int, float], reference: Mapping[int, float], *, level: float = LEVEL
) -> Mean | None:
    """Return the mean of ``values - reference`` over the seeds that both have, with its t interval.

    Args:
        values: value per seed
        reference: value per seed of what is subtracted
        level: as in :func:`mean_interval`

    Returns:
        None if they have no seed in common
    """
    seeds = [seed for seed in values if seed in reference]
    if not seeds:
        return None
    return mean_interval([values[seed] - reference[seed] for seed in seeds], level=level)


@functools.cache
def t_quantile(freedom: int, *, level: float = LEVEL) -> float:
    """Return the t with ``P(|T| < t) = level`` for Student's T.

    Args:
        freedom: degrees of freedom, a whole number >= 1
        level: in (0, 1)

    Raises:
        ValueError: one of them is out of range
    """
    if freedom < 1:
        raise ValueError(f"freedom must be >= 1 (got {freedom})")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1) (got {level})")
    low, high = 0.0, math.pi / 2
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return math.tan(middle) * math.sqrt(freedom)
        low, high = (middle, high) if _central(middle, freedom) < level else (low, middle)


def _central(angle: float, freedom: int) -> float:
    """Return ``P(|T| < sqrt(freedom) tan(angle))``: Abramowitz and Stegun, 26.7.3 and 26.7.4, for whole freedoms."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2 == 1
    term, terms = (cosine if odd else 1.0), []
    for index in range(1, freedom // 2 + 1):
        terms.append(term)
        term *= cosine**2 * ((2 * index) / (2 * index + 1) if odd else (2 * index - 1) / (2 * index))
    total = sine * math.fsum(terms)
    return (angle + total) * 2 / math.pi if odd else total
