"""Questions with reference answers, as JSON lines, and whether an answer matches one of them.

    {"id": "q1", "prompt": "Who wrote Emma?", "answers": ["Jane Austen", "Austen"], "group": "Emma", "kind": "books"}

``group`` (what must not be on both sides of a split; the id if absent) and ``kind`` (a class to report on) are
optional. Labels are JSON lines as well: {"id": "q1", "label": 1}, 1 = hallucinated.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Match = Literal["contains", "exact"]
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


@dataclass(frozen=True)
class Question:
    """One line of a question file."""

    id: str
    prompt: str
    answers: tuple[str, ...]
    group: str
    kind: str


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file.

    Raises:
        ValueError: a line that is no question, or an id twice; the message names the line
    """
    found: dict[str, Question] = {}
    for number, row in _rows(path, ("id", "prompt", "answers")):
        answers = row["answers"]
        if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
            raise ValueError(f"{path}, line {number}: answers must be a list of strings (got {answers!r})")
        name = str(row["id"])
        if name in found:
            raise ValueError(f"{path}, line {number}: id {name!r} is there twice")
        group, kind = str(row.get("group", name)), str(row.get("kind", ""))
        found[name] = Question(name, str(row["prompt"]), tuple(answers), group, kind)
    if not found:
        raise ValueError(f"{path} must hold at least one question (got 0)")
    return list(found.values())


def read_labels(path: Path) -> dict[str, int]:
    """Return the label of every id: 1 hallucinated, 0 faithful, -1 unknown; ValueError names a line with another."""
    labels = {}
    for number, row in _rows(path, ("id", "label")):
        if row["label"] not in (-1, 0, 1):
            raise ValueError(f"{path}, line {number}: label must be 1, 0 or -1 (got {row['label']!r})")
        labels[str(row["id"])] = int(row["label"])
    return labels


def matches(text: str, answers: Iterable[str], *, how: Match = "contains") -> bool:
    """Return whether a text matches an answer after case, punctuation, articles and spaces are evened out.

        >>> matches("It was Jane  Austen.", ["jane austen"]), matches("It was Jane Austen.", ["Austen"], how="exact")
        (True, False)

    Args:
        text: what the model said
        answers: right answers and their aliases
        how: ``"contains"`` as whole words, or ``"exact"``
    """
    said = normalised(text)
    right = [normalised(answer) for answer in answers]
    if how == "exact":
        return said in right
    return any(answer and f" {answer} " in f" {said} " for answer in right)


def normalised(text: str) -> str:
    """Return the text in lower case without punctuation, articles and extra spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _rows(path: Path, keys: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}, line {number}, is no JSON: {error}") from error
            if not isinstance(row, dict) or not set(keys) <= set(row):
                raise ValueError(
                    f"{path}, line {number} must have the keys {', '.join(keys)} (got {line.strip()[:60]})"
                )
            yield number, row
