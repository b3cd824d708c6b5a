"""The words of a command line as the parser wants them: ``--learning-rate inf`` is ``--learning_rate=1e999``."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from iclr26_core.options import Options

INFINITE = {"inf": "1e999", "+inf": "1e999", "-inf": "-1e999"}  # a number that overflows is how the parser reads it


def spelled_out(arguments: Sequence[str], config_class: type) -> list[str]:
    """Return the arguments with underscores in names, ``true`` behind every lone switch, and infinities as numbers."""
    fields = [(f"--{name}", field) for cls in (config_class, Options) for name, field in named_fields(cls)]
    switches = {flag for flag, field in fields if field.type in (bool, "bool")}
    floats = {flag for flag, field in fields if "float" in str(field.type)}
    words = [_underscored(argument) for argument in arguments]
    spelled: list[str] = []
    for word, after in itertools.zip_longest(words, words[1:], fillvalue="--"):
        flag, _, value = word.partition("=")
        if spelled and spelled[-1] in floats and word in INFINITE:
            spelled[-1] += f"={INFINITE[word]}"
        elif flag in floats and value in INFINITE:
            spelled.append(f"{flag}={INFINITE[value]}")
        else:
            spelled.append(f"{word}=true" if word in switches and after.startswith("--") else word)
    return spelled


def named_fields(cls: Any, prefix: str = "") -> Iterator[tuple[str, dataclasses.Field[Any]]]:
    """Yield dotted names and fields of a dataclass, also of the dataclasses and lists of dataclasses in it."""
    example = cls()
    for field in dataclasses.fields(cls):
        yield prefix + field.name, field
        inner = table_in(getattr(example, field.name))
        if inner is not None:
            yield from named_fields(type(inner), f"{prefix}{field.name}.")


def table_in(default: Any) -> Any:
    """Return the dataclass instance that a default is, or the first one of a list of them; None for other defaults."""
    default = default[0] if isinstance(default, (list, tuple)) and default else default
    return default if dataclasses.is_dataclass(default) else None


def _underscored(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"
