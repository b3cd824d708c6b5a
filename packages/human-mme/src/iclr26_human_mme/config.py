"""Options of the jobs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ScoreConfig:
    """Options of ``score``.

    Attributes:
        answers: JSON lines with id and answer; without it a calculator that knows no precedence answers.
        size: Questions of the split.
        questions_seed: Seed that the questions are made from.
    """

    answers: Path | None = None
    size: int = 200
    questions_seed: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be >= 1 (got {self.size})")
        if self.answers is not None and not self.answers.is_file():
            raise ValueError(f"answers must be a file of JSON lines (got {self.answers}, which is no file)")
