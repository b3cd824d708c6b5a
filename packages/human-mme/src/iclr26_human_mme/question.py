"""Questions of a sum and a product, made from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """One question, e.g. ``"3 + 4 * 5 = ?"``, with the answer that is right."""

    id: str
    question: str
    answer: int


def questions(split: str, size: int, seed: int) -> list[Question]:
    """Return the questions of a split, numbered; the same seed makes the same ones."""
    draw = random.Random(f"{split} {seed}")
    return [_question(f"{split}-{number}", draw) for number in range(size)]


def _question(identity: str, draw: random.Random) -> Question:
    a, b, c = (draw.randint(2, 9) for _ in range(3))
    if draw.random() < 0.5:
        return Question(identity, f"{a} + {b} * {c} = ?", a + b * c)
    return Question(identity, f"{a} * {b} + {c} = ?", a * b + c)
