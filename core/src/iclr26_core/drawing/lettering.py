"""Text in a picture: how wide it is at most, and where to break it, without knowing the reader's font."""

from __future__ import annotations

import unicodedata

NARROW, WIDE = " .,;:'|!()[]ijlt-", "MWmw@%"


def text_width(text: str) -> float:
    """Return a width in pixels that a text at 12 px does not exceed in the usual sans-serif fonts."""
    return sum(map(_letter_width, text))


def broken(text: str, room: float) -> list[str]:
    """Return a text as lines that fit into a width in pixels; a word that does not fit into one is cut."""
    lines: list[str] = []
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(joined) <= room:
            lines[-1] = joined
        else:
            lines += _cut(word, room)
    return lines


def _cut(word: str, room: float) -> list[str]:
    pieces = [""]
    for letter in word:
        if pieces[-1] and text_width(pieces[-1] + letter) > room:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 13.0
    if letter in WIDE:
        return 12.5
    if letter in NARROW:
        return 5.0
    return 9.5 if letter.isupper() or not letter.isascii() else 7.8
