"""Who answers where no model is at hand: three rules that any model should beat, each of a question's text alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from .question import Question

Answerer = Callable[[str], int]


def left_to_right(question: str) -> int:
    """Return what a calculator without precedence gives: ``"3 + 4 * 5 = ?"`` is 35."""
    value, *rest = re.findall(r"\d+|[+*]", question)
    result = int(value)
    for sign, number in zip(rest[::2], rest[1::2], strict=True):
        result = result + int(number) if sign == "+" else result * int(number)
    return result


def last_number(question: str) -> int:
    """Return the last number of the question."""
    return int(re.findall(r"\d+", question)[-1])


def most_frequent_answer(known: Sequence[Question]) -> Answerer:
    """Return a rule that always gives the most frequent answer of the known questions, the smallest of several."""
    counts = Counter(question.answer for question in known)
    best = min(counts, key=lambda answer: (-counts[answer], answer))
    return lambda question: best
