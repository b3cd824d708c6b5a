"""Questions about facts in the context, for the autoregressive twin: every token's label is known exactly.

A prompt states one to four facts and asks for one value: ``<bos> n1 n2 v1 v2 ; … ? n1 n2 :``; the answer is
``v1 v2 <eos>``. If the name asked for is not in the context, every value is a contextual hallucination.

    >>> question = context_questions(1, seed=0)[0]
    >>> question.prompt.split()[0], question.prompt.split()[-1]
    ('<bos>', ':')
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>", "?", ":", ";")
NAME_FIRST = tuple(f"n{i}" for i in range(24))
NAME_SECOND = tuple(f"m{i}" for i in range(24))
FIRST = tuple(f"a{i}" for i in range(24))
SECOND = tuple(f"b{i}" for i in range(24))
VOCABULARY = SPECIAL + NAME_FIRST + NAME_SECOND + FIRST + SECOND
MOST_FACTS = 4
ANSWER_LENGTH = 3

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class ContextQuestion:
    """One prompt with what it states and what is asked.

    Args:
        id: number in its list
        facts: (name, value) pairs in the order of the context
        name: the name asked for
        answer: its value, or None if the context does not hold the name
    """

    id: str
    facts: tuple[tuple[Pair, Pair], ...]
    name: Pair
    answer: Pair | None

    @property
    def prompt(self) -> str:
        """The prompt's tokens, separated by spaces."""
        context = [token for name, value in self.facts for token in (*name, *value, ";")]
        return " ".join(["<bos>", *context, "?", *self.name, ":"])

    def token_labels(self, answer: Sequence[str]) -> tuple[int, ...]:
        """Return one label per generated token: 1 = hallucinated, 0 = faithful.

        With the name in the context a token is hallucinated iff it is not the right one at its place; without, every
        token but ``<eos>`` is.
        """
        if self.answer is None:
            return tuple(int(token != "<eos>") for token in answer)
        right = (*self.answer, *["<eos>"] * max(1, len(answer) - 2))
        return tuple(int(token != wanted) for token, wanted in zip(answer, right, strict=False))


def context_questions(count: int, *, seed: int, answerable: float = 0.5) -> list[ContextQuestion]:
    """Return ``count`` questions with one to four facts each; a share of ``answerable`` asks for a name that is there.

    Raises:
        ValueError: ``count`` below 1 or ``answerable`` outside [0, 1]
    """
    if count < 1 or not 0.0 <= answerable <= 1.0:
        raise ValueError(f"need count >= 1 and answerable in [0, 1] (got {count} and {answerable})")
    draw = random.Random(seed)
    return [_question(draw, str(number), answerable) for number in range(count)]


def _question(draw: random.Random, number: str, answerable: float) -> ContextQuestion:
    length = draw.randint(1, MOST_FACTS)
    firsts, seconds = draw.sample(NAME_FIRST, length + 1), draw.sample(NAME_SECOND, length + 1)
    names = list(zip(firsts, seconds, strict=True))
    facts = tuple((name, (draw.choice(FIRST), draw.choice(SECOND))) for name in names[:length])
    if draw.random() < answerable:
        name, value = draw.choice(facts)
        return ContextQuestion(id=number, facts=facts, name=name, answer=value)
    return ContextQuestion(id=number, facts=facts, name=names[length], answer=None)
