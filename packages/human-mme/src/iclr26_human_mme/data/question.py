"""One question of the official layout, read without opening its photo."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

    from .prompts import Prompts

A_TYPES = ("bbox", "choice", "blank", "tf_bbox", "tf_blank", "open_hoi", "sequence", "double_choice")
HOW = (
    "download Human-MME_data.zip of the data set Yuanhou/Human-MME and unpack it, so that ROOT holds final_qa/ and "
    "final_labeling/; python -m iclr26_human_mme.pip_people --out ROOT builds a small one"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold answer.

    Attributes:
        key: ``<q_type>/<number>``
        q_type: one of 21 question types
        a_type: one of 8 answer types
        dimension: FU, BU, HU, MIU, MPR, ID, CD or ED
        text: the question, without the format instruction
        gold: a letter, four floats, a string, four letters, or a dictionary, by a_type
        size: original (width, height); (0, 0) for four photos
        attr_name: the attribute asked for; ``default`` where none is named
        images: one photo, or four
        bboxes: (colour, normalised box) to draw
        sha256: of qa.json
    """

    key: str
    q_type: str
    a_type: str
    dimension: str
    text: str
    gold: Any
    size: tuple[int, int]
    attr_name: str
    images: tuple[Path, ...]
    bboxes: tuple[tuple[str, tuple[float, float, float, float]], ...]
    sha256: str

    @property
    def id(self) -> str:
        """The key."""
        return self.key

    def image(self, *, font: str | None = None) -> Image:
        """Return what the model sees: scaled, with boxes drawn, or four photos side by side."""
        from .rendering import render

        return render(self, font=font)

    def prompt(self, prompts: Prompts) -> str:
        """Return the question and, after a blank line, the instruction for the form of its answer."""
        return f"{self.text}\n\n{prompts.instructions[self.a_type]}"


def normalise_key(key: str) -> str:
    """Return ``<q_type>/<number>`` of a path as anybody writes it.

    Example:
        >>> normalise_key(".\\\\final_qa\\\\causal\\\\23110")
        'causal/23110'
    """
    return "/".join([part for part in key.replace("\\", "/").split("/") if part not in ("", ".")][-2:])


def load_questions(
    root: str | Path,
    qa_dir: str | Path | None,
    image_roots: Sequence[str | Path],
    types: set[str] | None,
    dimension_of: Mapping[str, str],
) -> tuple[list[Question], list[Path]]:
    """Return every question below the folder in the order of its key, and the folders that photos are looked for in."""
    root = Path(root)
    folder = Path(qa_dir) if qa_dir is not None else root / "final_qa"
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: {HOW}")
    roots = [folder.parent, root, *map(Path, image_roots)]
    if qa_dir is None and not image_roots and not (root / "final_labeling").is_dir():
        raise FileNotFoundError(f"there is no folder {root / 'final_labeling'} with the photos: {HOW}")
    found = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        if "qa.json" in files:
            question = read_question(Path(place), roots, dimension_of)
            if types is None or question.q_type in types:
                found.append(question)
    if not found:
        which = f" of the types {', '.join(sorted(types))}" if types else ""
        raise ValueError(f"there is no question{which} below {folder}: {HOW}")
    return sorted(found, key=lambda question: question.key), roots


def read_question(folder: Path, roots: Sequence[Path], dimension_of: Mapping[str, str]) -> Question:
    """Return the question in a folder; ValueError names the file and what is wrong with it."""
    path = folder / "qa.json"
    content = path.read_bytes()
    if not content.strip():
        raise ValueError(f"{path} is empty: unpack it again")
    try:
        data = json.loads(content)
    except ValueError as error:
        raise ValueError(f"{path} is no JSON ({error}): unpack it again") from error
    try:
        return _question(data, folder, roots, dimension_of, hashlib.sha256(content).hexdigest())
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{path} lacks {error}: it must have type, question, answer and data") from error


def _question(
    data: Any, folder: Path, roots: Sequence[Path], dimension_of: Mapping[str, str], sha256: str
) -> Question:
    shown, asked = data["question"][0], data["question"][1]
    q_type, answer = data["type"], data["answer"]
    a_type = answer["type"]
    if q_type not in dimension_of:
        raise ValueError(f"{folder / 'qa.json'}: type must be one of {', '.join(dimension_of)} (got {q_type!r})")
    if a_type not in A_TYPES:
        raise ValueError(f"{folder / 'qa.json'}: answer type must be one of {', '.join(A_TYPES)} (got {a_type!r})")
    several = shown["type"] == "multi_image"
    names = [shown[f"image_{letter}"] for letter in "ABCD"] if several else [shown["image"]]
    return Question(
        key=normalise_key(folder.as_posix()),
        q_type=q_type,
        a_type=a_type,
        dimension=dimension_of[q_type],
        text=asked["text"],
        gold=_gold(a_type, answer.get("data", answer.get("answer"))),
        size=(0, 0) if several else (int(shown["width"]), int(shown["height"])),
        attr_name=_attribute(data.get("data") or {}, a_type),
        images=tuple(_photo(name, roots) for name in names),
        bboxes=tuple((color, tuple(box)) for color, box in shown.get("bboxes", ())),  # type: ignore[misc]
        sha256=sha256,
    )


def _gold(a_type: str, gold: Any) -> Any:
    if gold is None:
        raise KeyError("answer.data")
    return gold[0] if a_type == "choice" else gold


def _attribute(data: Mapping[str, Any], a_type: str) -> str:
    place = data.get("answer" if a_type.startswith("tf_") else "question")
    name = place.get("attr_name") if isinstance(place, dict) else None
    return str(name or "default")


def _photo(name: str, roots: Sequence[Path]) -> Path:
    relative = PurePosixPath(name.replace("\\", "/"))
    for root in roots[2:]:  # only the folders that a user names are searched by file name alone
        for candidate in (root / relative, root / relative.name):
            if candidate.is_file():
                return candidate
    return roots[0] / relative
