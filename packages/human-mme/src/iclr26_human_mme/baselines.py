"""Models that look at nothing: random, constant, blind, and one that knows every answer."""

from __future__ import annotations

import json
import random
from typing import Any

from .running.chat import KeyedChat, Reply, VisionChat

FORMS = {
    "bbox": "Answer: [{0}]", "tf_bbox": "Answer: [{0}]", "choice": "Answer: {0}", "blank": "Answer: {0}",
    "tf_blank": "Answer: {0}", "open_hoi": "Name: {0}\nBox: [{1}]",
    "sequence": "First: {0}\nSecond: {1}\nThird: {2}\nFourth: {3}", "double_choice": "Past: {0}\nFuture: {1}",
}  # fmt: skip
WORDS = ("shirt", "hat", "phone", "adult", "female", "happy", "bag", "unknown")


def written(a_type: str, *values: str) -> str:
    """Return an answer in the form that the instruction of its type asks for."""
    return FORMS[a_type].format(*values)


class OracleChat(KeyedChat):
    """Answers with gold: everything that can be 100 is 100."""

    name = "oracle"

    def answer(self, question: Any) -> str:
        """Return gold in the asked form."""
        kind, gold = question.a_type, question.gold
        if kind in ("bbox", "tf_bbox"):
            return "Answer: unknown" if gold[0] == -1 else written(kind, _numbers(gold))
        if kind == "open_hoi":
            return written(kind, gold["name"], _numbers(gold["bbox"]))
        if kind == "double_choice":
            return written(kind, gold["past"], gold["future"])
        return written(kind, *(gold if kind == "sequence" else [gold]))


class RandomChat(KeyedChat):
    """Uniform letters, permutations and boxes.

    Args:
        seed: the same seed and question give the same answer
    """

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def answer(self, question: Any) -> str:
        """Return an answer drawn for this question."""
        draw = random.Random(f"{self.seed} {question.key}")
        letters = draw.sample("ABCD", 4)
        x, y = (sorted((draw.random(), draw.random())) for _ in "xy")
        box = _numbers((x[0], y[0], x[1], y[1]))
        kind = question.a_type
        if kind in ("bbox", "tf_bbox"):
            return written(kind, box)
        if kind in ("blank", "tf_blank"):
            return written(kind, draw.choice(WORDS))
        return written(kind, draw.choice(WORDS), box) if kind == "open_hoi" else written(kind, *letters)


class ConstantChat(KeyedChat):
    """The same answer to everything: A, the whole picture, A-B-C-D, unknown.

    Args:
        box: for boxes, x1,y1,x2,y2; ``-1,-1,-1,-1`` says that there is nobody
        word: for short answers
    """

    name = "constant"

    def __init__(self, *, box: str = "0,0,1,1", word: str = "unknown") -> None:
        self.box, self.word = box, word

    def answer(self, question: Any) -> str:
        """Return the constant of the question's answer type."""
        kind = question.a_type
        if kind in ("bbox", "tf_bbox"):
            return written(kind, self.box)
        if kind in ("blank", "tf_blank"):
            return written(kind, self.word)
        return written(kind, self.word, self.box) if kind == "open_hoi" else written(kind, *"ABCD")


class BlindChat:
    """A model that is shown a grey picture of the same size: what its language prior alone is worth.

    Args:
        model: the model to be asked
    """

    def __init__(self, model: VisionChat) -> None:
        self.model, self.name = model, f"blind-{model.name}"
        self.settings = {**getattr(model, "settings", {}), "blind": True}

    def generate(self, image: Any, text: str) -> Reply:
        """Return the model's reply to grey and the text."""
        from PIL import Image

        return self.model.generate(Image.new("RGB", image.size, (128, 128, 128)), text)


def _numbers(box: Any) -> str:
    return json.dumps([round(float(k), 12) for k in box])[1:-1]
