"""A figure over several seeds with an interval that assumes nothing about its distribution."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from iclr26_core import Estimate

FEWEST = 6


def over_seeds(figures: Sequence[float], *, unit: str = "1") -> Estimate:
    """Return the median of n independent figures, with their range as its interval.

    Half of the distribution lies on either side of its median, so all n figures lie on one side with probability
    2 ** (1 - n): the range holds the median with 96.9 % for n = 6 and more for more.

    Args:
        figures: one per seed, at least 6
        unit: their unit

    Raises:
        ValueError: there are fewer than 6
    """
    n = len(figures)
    if n < FEWEST:
        raise ValueError(f"a 95 % interval needs the figures of >= {FEWEST} seeds (got {n})")
    interval = f"range of {n} seeds, {100 * (1 - 2 ** (1 - n)):.1f} % for the median"
    return Estimate(
        value=statistics.median(figures), low=min(figures), high=max(figures), n=n, unit=unit, interval=interval
    )
