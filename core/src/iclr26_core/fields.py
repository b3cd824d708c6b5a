"""What a field of a descriptor may hold; every refusal names the field and the value."""

from __future__ import annotations

import re

from iclr26_core.errors import did_you_mean

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def require_name(field: str, value: object) -> None:
    """Raise ValueError unless the value is lower-case words joined by dashes."""
    if not (isinstance(value, str) and NAME.fullmatch(value)):
        raise ValueError(f"{field} must be lower-case words joined by dashes, like 'clipped-sgd' (got {value!r})")


def require_target(field: str, value: object) -> None:
    """Raise ValueError unless the value is ``"module:name"``."""
    if not (isinstance(value, str) and TARGET.fullmatch(value)):
        raise ValueError(f"{field} must be 'module:name', like 'iclr26_tracedet:TraceDetDetector' (got {value!r})")


def require_choice(field: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ValueError, with the closest choice, unless the value is one of them."""
    if value not in choices:
        hint = did_you_mean(str(value), choices)
        raise ValueError(f"{field} must be one of {', '.join(choices)} (got {value!r}){hint}")


def require_line(field: str, value: object) -> None:
    """Raise ValueError unless the value is one line of text; ``list`` prints one method a line."""
    if not (isinstance(value, str) and len(value.splitlines()) == 1):
        raise ValueError(f"{field} must be one line of text (got {value!r})")


def require_lines(field: str, value: object) -> None:
    """Raise ValueError unless the value is a tuple of lines of text."""
    if not isinstance(value, tuple):
        raise ValueError(f"{field} must be a tuple (got {value!r})")
    for index, line in enumerate(value):
        require_line(f"{field}[{index}]", line)
