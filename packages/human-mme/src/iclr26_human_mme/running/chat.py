"""What a model is here: something with a name that answers a picture and a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image


@dataclass(frozen=True)
class Reply:
    """One reply.

    Attributes:
        text: raw text; None if there is none
        finish_reason: ``stop``, ``length``, ``content_filter`` or None
        usage: token counts, where known
        attempts: tries that it took
    """

    text: str | None
    finish_reason: str | None = "stop"
    usage: Mapping[str, int] = field(default_factory=dict)
    attempts: int = 1


class ReplyError(RuntimeError):
    """No reply after all tries; ``attempts`` is their number."""

    def __init__(self, message: str, *, attempts: int = 1) -> None:
        super().__init__(message)
        self.attempts = attempts


@runtime_checkable
class VisionChat(Protocol):
    """A model; ``generate_batch(images, texts)`` is optional, and so is ``settings``, a dictionary for the manifest."""

    name: str

    def generate(self, image: Image, text: str) -> Reply:
        """Return the reply to a picture and a text."""


class CallableVisionChat:
    """A function of (image, text) as a model.

    Args:
        function: returns the reply's text
        name: for tables

    Example:
        >>> CallableVisionChat(lambda image, text: "Answer: A").generate(None, "?").text
        'Answer: A'
    """

    def __init__(self, function: Callable[[Any, str], str | None], *, name: str = "callable") -> None:
        self.function, self.name = function, name

    def generate(self, image: Any, text: str) -> Reply:
        """Return the function's reply."""
        return Reply(self.function(image, text))


class KeyedChat:
    """A model that answers by the question rather than by what it sees: dummies and replays. Pictures stay unopened."""

    name: str = "keyed"

    def answer(self, question: Any) -> str | None:
        """Return the reply to a question."""
        raise NotImplementedError

    def generate(self, image: Any, text: str) -> Reply:
        """Raise TypeError: these models need the question itself."""
        raise TypeError(f"{self.name} answers questions of a benchmark only: pass it to run()")


class ReplayChat(KeyedChat):
    """Replies of an earlier run.

    Args:
        results: a responses.jsonl, a run's folder, or a results file of the authors' format
    """

    def __init__(self, results: str | Path) -> None:
        from pathlib import Path

        from ..exchange.official import import_official
        from .responses import read_responses

        path = Path(results)
        self.name = f"replay-{path.stem}"
        self._replies = import_official(path) if path.suffix == ".json" else read_responses(path)

    def answer(self, question: Any) -> str | None:
        """Return the earlier reply; KeyError where there was none."""
        return self._replies[question.key].raw
