"""Options of the jobs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DecodeConfig:
    """Options of ``decode``.

    Attributes:
        max_new_tokens: How many words are added to each prompt.
        errors: Share of the words that the model has seen with another word in their place.
        rounds: How often the model has seen each series.
    """

    max_new_tokens: int = 6
    errors: float = 0.2
    rounds: int = 20

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be >= 1 (got {self.max_new_tokens})")
        if not 0 <= self.errors < 1:
            raise ValueError(f"errors must be in [0, 1) (got {self.errors})")
        if self.rounds < 1:
            raise ValueError(f"rounds must be >= 1 (got {self.rounds})")
