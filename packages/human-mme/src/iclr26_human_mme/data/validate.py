"""What is wrong with the questions of a folder, before a model is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .question import A_TYPES, Question, normalise_key, read_question


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        key: of the question
        what: the problem, the value got, and what would be right
    """

    key: str
    what: str

    def __str__(self) -> str:
        return f"{self.key}: {self.what}"


def validate(questions: Iterable[Question]) -> list[Problem]:
    """Return the problems of questions that could be read; photos are opened for their size only."""
    sizes: dict[Path, tuple[int, int] | str] = {}
    return [Problem(question.key, what) for question in questions for what in _problems(question, sizes)]


def validate_folder(qa_dir: Path, roots: Sequence[Path], dimension_of: dict[str, str]) -> list[Problem]:
    """Return the problems of every question below a folder, also of those that cannot be read."""
    found: list[Problem] = []
    sizes: dict[Path, tuple[int, int] | str] = {}
    keys: set[str] = set()
    for path in sorted(qa_dir.rglob("qa.json")):
        key = normalise_key(path.parent.as_posix())
        if key in keys:
            found.append(Problem(key, f"the key is there twice, again in {path.parent}: rename one folder"))
        keys.add(key)
        try:
            question = read_question(path.parent, roots, dimension_of)
        except ValueError as error:
            found.append(Problem(key, str(error)))
            continue
        found += [Problem(key, what) for what in _problems(question, sizes)]
    return found


def _problems(question: Question, sizes: dict[Path, tuple[int, int] | str]) -> Iterator[str]:
    for path in question.images:
        if path not in sizes:
            sizes[path] = _size(path)
        size = sizes[path]
        if isinstance(size, str):
            yield size
        elif len(question.images) == 1 and size != question.size:
            yield f"width and height must be those of the photo, {size} (got {question.size})"
    for name, box in question.bboxes:
        if not _is_box(box):
            yield f"a drawn box must be four numbers in [0, 1] (got {name} {list(box)})"
    yield from _gold_problems(question)


def _gold_problems(question: Question) -> Iterator[str]:
    kind, gold = question.a_type, question.gold
    if kind == "choice" and gold not in ("A", "B", "C", "D"):
        yield f"the gold letter must be A, B, C or D (got {gold!r})"
    elif kind in ("bbox", "tf_bbox") and not (_is_box(gold) or (kind == "tf_bbox" and list(gold) == [-1, -1, -1, -1])):
        yield f"the gold box must be four numbers in [0, 1], or four times -1 for tf_bbox (got {json.dumps(gold)})"
    elif kind == "open_hoi" and not (isinstance(gold, dict) and _is_box(gold.get("bbox")) and gold.get("name")):
        yield f"the gold answer must have a name and a box in [0, 1] (got {json.dumps(gold)})"
    elif kind in ("blank", "tf_blank") and not (isinstance(gold, str) and gold.strip()):
        yield f"the gold answer must be text (got {gold!r})"
    elif kind == "sequence" and sorted(gold) != ["A", "B", "C", "D"]:
        yield f"the gold order must have A, B, C and D once (got {gold!r})"
    elif kind == "double_choice" and not (isinstance(gold, dict) and {"past", "future"} <= gold.keys()):
        yield f"the gold answer must have past and future (got {gold!r})"
    elif kind not in A_TYPES:
        yield f"the answer type must be one of {', '.join(A_TYPES)} (got {kind!r})"


def _is_box(box: Any) -> bool:
    four = isinstance(box, (list, tuple)) and len(box) == 4
    return four and all(isinstance(k, (int, float)) and 0 <= k <= 1 for k in box)


def _size(path: Path) -> tuple[int, int] | str:
    from PIL import Image

    try:
        with Image.open(path) as photo:
            return photo.size
    except FileNotFoundError:
        return f"photo {path} is missing"
    except (OSError, SyntaxError) as error:
        return f"photo {path} cannot be decoded ({error})"
