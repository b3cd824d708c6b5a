"""What the method is compared with; it has nothing to tune."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .charm import checked_examples


class MaximumProbability:
    """Scores an answer by one minus the probability of its most likely class."""

    def fit(self, examples: Sequence[Any], labels: Sequence[int]) -> Self:
        """Return self; there is nothing to learn."""
        return self

    def score(self, examples: Sequence[Any]) -> np.ndarray:
        """Return (N,) doubts in [0, 1]."""
        doubt: np.ndarray = -np.expm1(checked_examples(examples).max(axis=1))
        return doubt
