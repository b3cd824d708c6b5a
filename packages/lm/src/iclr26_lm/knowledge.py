"""A synthetic knowledge base in which every hallucination is known exactly.

300 entities (three syllables each) x 4 relations = 1200 facts; a value is one token of ``a0 … a23`` and one of
``b0 … b23``. How often a fact is stated in the training text is its kind:

    frequent         its value, weight 8            a model that learns answers it right
    rare             its value, weight 1            seldom learnt
    unseen           never stated                   a fluent guess
    corrupted        two values, weight 4 each      one of them is true: the model wavers, half its answers are wrong
    confident-wrong  one wrong value, weight 8      learnt like a frequent fact, and wrong

An answer is hallucinated iff one of its value tokens is wrong. There are two forms of the question: ``short`` (canvas
of 12 tokens, the value once) and ``long`` (canvas of 32 tokens, the value three times).

    >>> knowledge = KnowledgeBase.generate(seed=0)
    >>> len(knowledge.facts), len(knowledge.vocabulary)
    (1200, 129)
    >>> fact = knowledge.facts[0]
    >>> knowledge.question(fact).split()[:5]
    ['<bos>', 'what', 'is', 'the', 'capital']
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RELATIONS = ("capital", "river", "founder", "export")
KINDS = ("frequent", "rare", "unseen", "corrupted", "confident-wrong")
SHARES = (0.32, 0.20, 0.20, 0.14, 0.14)
SPECIAL = ("<pad>", "<bos>", "<eos>", "<mask>", "<unk>")
WORDS = ("what", "is", "the", "of", ".", "tell", "us", "so")
SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprstvwxz" for vowel in "aeiu")
FIRST = tuple(f"a{i}" for i in range(24))
SECOND = tuple(f"b{i}" for i in range(24))
FORMS = ("short", "long")
CANVAS = {"short": 12, "long": 32}
VALUE_POSITIONS = {"short": ((7, 8),), "long": ((7, 8), (11, 12), (26, 27))}
PROMPT_LENGTH = 9

Value = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One fact: who, which relation, what is true, and what the training text states.

    Args:
        entity: number of the entity; split by it, so that a detector cannot learn names
        name: its three syllables
        relation: one of ``RELATIONS``
        value: the true value, two tokens
        kind: one of ``KINDS``
        stated: the values that the training text states, each with its weight; empty for ``unseen``
    """

    entity: int
    name: tuple[str, str, str]
    relation: str
    value: Value
    kind: str
    stated: tuple[tuple[Value, int], ...]

    @property
    def id(self) -> str:
        """The entity's number and the relation, e.g. ``"17-river"``."""
        return f"{self.entity}-{self.relation}"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is wrong with one answer.

    Args:
        label: 1 if a value token is wrong, else 0
        token_labels: one per canvas position: 1 at a wrong value token, else 0
        well_formed: whether everything but the values is as it should be
        spans: (start, end, name) of the values, half-open, in canvas positions
    """

    label: int
    token_labels: tuple[int, ...]
    well_formed: bool
    spans: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, kw_only=True)
class KnowledgeBase:
    """The facts and the language they are written in."""

    facts: tuple[Fact, ...]

    @classmethod
    def generate(cls, *, seed: int = 0, entities: int = 300) -> KnowledgeBase:
        """Return a knowledge base of ``entities`` x 4 facts; the same seed gives the same facts."""
        if not 1 <= entities <= len(SYLLABLES) ** 3:
            raise ValueError(f"entities must be in 1..{len(SYLLABLES) ** 3} (got {entities})")
        draw = random.Random(seed)
        names = _distinct_names(draw, entities)
        kinds = _shuffled_kinds(draw, entities * len(RELATIONS))
        facts = [
            _fact(draw, entity, name, relation, kinds[entity * len(RELATIONS) + number])
            for entity, name in enumerate(names)
            for number, relation in enumerate(RELATIONS)
        ]
        return cls(facts=tuple(facts))

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Every token; a token's id is its place."""
        return SPECIAL + WORDS + RELATIONS + SYLLABLES + FIRST + SECOND

    def question(self, fact: Fact, *, form: str = "short") -> str:
        """Return the prompt, ``PROMPT_LENGTH`` tokens separated by spaces."""
        opening = {"short": ("what", "is"), "long": ("tell", "us")}[_known_form(form)]
        return " ".join(("<bos>", *opening, "the", fact.relation, "of", *fact.name))

    def answer(self, fact: Fact, *, form: str = "short", value: Value | None = None) -> str:
        """Return the canvas with ``value`` (the true one if None): ``CANVAS[form]`` tokens separated by spaces."""
        said = value or fact.value
        words = ["the", fact.relation, "of", *fact.name, "is", *said, "."]
        if _known_form(form) == "long":
            words += ["so", *said, "is", "the", fact.relation, "of", *fact.name, "."]
            words += [*fact.name, fact.relation, "is", *said, "."]
        return " ".join(words + ["<eos>"] * (CANVAS[form] - len(words)))

    def judge(self, fact: Fact, answer: str | Sequence[str], *, form: str = "short") -> Judgement:
        """Return what is wrong with an answer of ``CANVAS[form]`` tokens."""
        tokens = answer.split() if isinstance(answer, str) else list(answer)
        right = self.answer(fact, form=form).split()
        if len(tokens) != len(right):
            raise ValueError(f"answer must have {len(right)} tokens in the {form} form (got {len(tokens)})")
        values = {place for pair in VALUE_POSITIONS[form] for place in pair}
        wrong = tuple(int(place in values and tokens[place] != right[place]) for place in range(len(right)))
        return Judgement(
            label=int(any(wrong)),
            token_labels=wrong,
            well_formed=all(tokens[place] == right[place] for place in range(len(right)) if place not in values),
            spans=tuple((first, last + 1, "value") for first, last in VALUE_POSITIONS[form]),
        )

    def save(self, path: Path) -> None:
        """Write the facts as JSON, one fact a line."""
        lines = [json.dumps(_fact_to_list(fact), separators=(",", ":")) for fact in self.facts]
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> KnowledgeBase:
        """Return the knowledge base that ``save`` wrote."""
        return cls(facts=tuple(_fact_from_list(row) for row in json.loads(path.read_text(encoding="utf-8"))))


def _known_form(form: str) -> str:
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)} (got {form!r})")
    return form


def _distinct_names(draw: random.Random, count: int) -> list[tuple[str, str, str]]:
    names: dict[tuple[str, str, str], None] = {}
    while len(names) < count:
        names[(draw.choice(SYLLABLES), draw.choice(SYLLABLES), draw.choice(SYLLABLES))] = None
    return list(names)


def _shuffled_kinds(draw: random.Random, count: int) -> list[str]:
    kinds: list[str] = []
    for kind, share in zip(KINDS[1:], SHARES[1:], strict=True):
        kinds += [kind] * round(share * count)
    kinds += [KINDS[0]] * (count - len(kinds))
    draw.shuffle(kinds)
    return kinds


def _fact(draw: random.Random, entity: int, name: tuple[str, str, str], relation: str, kind: str) -> Fact:
    true = (draw.choice(FIRST), draw.choice(SECOND))
    other = _value_with_other_tokens(draw, true)
    stated: dict[str, tuple[tuple[Value, int], ...]] = {
        "frequent": ((true, 8),),
        "rare": ((true, 1),),
        "unseen": (),
        "corrupted": ((true, 4), (other, 4)),
        "confident-wrong": ((other, 8),),
    }
    return Fact(entity=entity, name=name, relation=relation, value=true, kind=kind, stated=stated[kind])


def _value_with_other_tokens(draw: random.Random, value: Value) -> Value:
    first = draw.choice([token for token in FIRST if token != value[0]])
    second = draw.choice([token for token in SECOND if token != value[1]])
    return (first, second)


def _fact_to_list(fact: Fact) -> list[Any]:
    return [fact.entity, fact.name, fact.relation, fact.value, fact.kind, fact.stated]


def _fact_from_list(row: list[Any]) -> Fact:
    entity, name, relation, value, kind, stated = row
    return Fact(
        entity=entity,
        name=(name[0], name[1], name[2]),
        relation=relation,
        value=(value[0], value[1]),
        kind=kind,
        stated=tuple(((said[0], said[1]), weight) for said, weight in stated),
    )
