"""Splits by group, so that a detector cannot learn names: every entity's traces lie in one part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Places of the traces of each part, ascending."""

    train: Index
    val: Index
    test: Index

    def part_of(self) -> dict[int, str]:
        """Return the part of every place."""
        return {int(i): name for name in ("train", "val", "test") for i in getattr(self, name)}


def grouped_split(groups: Sequence[Any], *, val: float = 0.2, test: float = 0.2, seed: int = 0) -> Split:
    """Return a split in which no group is in two parts; shares are of groups, rounded, at least one group each.

        >>> split = grouped_split(["a", "a", "b", "c", "c"], val=0.3, test=0.3, seed=0)
        >>> sum(len(part) for part in (split.train, split.val, split.test))
        5

    Raises:
        ValueError: fewer than 3 groups, or shares that leave no training groups
    """
    names, group = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    count = len(names)
    in_test, in_val = max(1, round(test * count)), max(1, round(val * count))
    if not (0.0 < val < 1.0 and 0.0 < test < 1.0) or in_test + in_val >= count:
        raise ValueError(f"val and test must leave groups to train on (got {val} and {test} of {count} groups)")
    order = np.random.default_rng(seed).permutation(count)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    rank = place[group]
    return Split(
        train=np.flatnonzero(rank >= in_test + in_val),
        val=np.flatnonzero((rank >= in_test) & (rank < in_test + in_val)),
        test=np.flatnonzero(rank < in_test),
    )
