"""A benchmark of arithmetic questions whose answers need multiplication before addition.

Start of ``iclr26 new``; after the elementary-mathematics task of Hendrycks et al., https://arxiv.org/abs/2009.03300.
Questions are made from a seed, so that nobody can have learned their answers by heart; a missing answer is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .question import Question, questions

SPLITS = ("validation", "test")


class HumanMmeBenchmark:
    """Questions in a fixed order, and the score of answers to them.

    Args:
        size: questions of each split
        seed: the same seed makes the same questions

    Raises:
        ValueError: ``size`` is below 1

    Example:
        >>> from iclr26_human_mme import HumanMmeBenchmark
        >>> benchmark = HumanMmeBenchmark(size=2)
        >>> benchmark.evaluate({question.id: question.answer for question in benchmark.examples("test")})
        {'score': 0.5, 'coverage': 0.5}
    """

    def __init__(self, *, size: int = 200, seed: int = 0) -> None:
        if size < 1:
            raise ValueError(f"size must be >= 1 (got {size})")
        self._questions = {split: questions(split, size, seed) for split in SPLITS}

    def examples(self, split: str) -> list[Question]:
        """Return the questions of a split, in a fixed order; ValueError for another split."""
        if split not in self._questions:
            raise ValueError(f"split must be one of {', '.join(SPLITS)} (got {split!r})")
        return list(self._questions[split])

    def evaluate(self, predictions: Mapping[str, Any], *, split: str | None = None) -> dict[str, float]:
        """Return ``score``, the share of right answers, and ``coverage``, the share of questions with an answer.

        Args:
            predictions: answers by the question's id; a missing one is wrong
            split: count the questions of this split only; None counts all

        Raises:
            ValueError: an id that no question has, or an answer that is no number
        """
        asked = self.examples(split) if split else [q for each in SPLITS for q in self._questions[each]]
        unknown = predictions.keys() - {question.id for question in asked}
        if unknown:
            raise ValueError(f"predictions must be of ids asked for, like {asked[0].id!r} (got {min(unknown)!r})")
        for identity, answer in predictions.items():
            if isinstance(answer, bool) or not isinstance(answer, (int, float)) or not math.isfinite(answer):
                raise ValueError(f"an answer must be a finite number (got {answer!r} for {identity!r})")
        right = sum(predictions.get(question.id) == question.answer for question in asked)
        return {"score": right / len(asked), "coverage": len(predictions) / len(asked)}
