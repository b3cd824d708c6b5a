"""Options of the jobs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DetectConfig:
    """Options of ``detect``.

    Attributes:
        strength: Inverse of the detector's regularisation.
        alternatives: How many of the most likely classes the detector looks at.
        train_size: How many digits the classifier learns from; fewer make it err more.
    """

    strength: float = 1.0
    alternatives: int = 3
    train_size: int = 100

    def __post_init__(self) -> None:
        if not self.strength > 0:
            raise ValueError(f"strength must be > 0 (got {self.strength})")
        if self.alternatives < 1:
            raise ValueError(f"alternatives must be >= 1 (got {self.alternatives})")
        if not 50 <= self.train_size <= 500:
            raise ValueError(f"train_size must be in [50, 500] (got {self.train_size}): the rest is for the detector")
