"""Answers out of replies: as the authors' code reads them, quirks included, or leniently for users."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

NUMBER = r"(\d+(?:\.\d+)?)"
NO_BOX = (-1.0, -1.0, -1.0, -1.0)
MOST_CHARACTERS = 200_000  # a reply is read up to here: one of a megabyte must not stop the scoring
LABELS = "Answer|Name|Box|First|Second|Third|Fourth|Past|Future"
ANALYSIS = re.compile(rf"Analyze:\s*(.*?)\s*(?:{LABELS}):", re.IGNORECASE | re.DOTALL)
BLANK = re.compile(r"Answer:\s*(.+)", re.IGNORECASE)
NAME = re.compile(r"Name:\s*(.*?)\s*Box:", re.IGNORECASE | re.DOTALL)
SIGNED = r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*"
LOOSE_BOX = re.compile(rf"[\[(]{SIGNED},{SIGNED},{SIGNED},{SIGNED}[\])]", re.IGNORECASE)
PLACES = ("first", "second", "third", "fourth")
Parsed = dict[str, Any]


def parse(reply: str | None, a_type: str, *, mode: str = "official", strip_think: bool | None = None) -> Parsed:
    """Return the answer in a reply, by its answer type.

    Args:
        reply: raw text; None reads as empty
        a_type: ``bbox`` gives ``bbox``; ``choice`` ``choice``; ``blank`` ``answer``; ``open_hoi`` ``name`` and
            ``bbox``; ``sequence`` four letters in ``answer``; ``double_choice`` ``past`` and ``future``
        mode: ``official``: the first match, as the authors' code; ``lenient``: the last, with forms it does not know
        strip_think: drop ``<think>…</think>`` first; None does so in lenient mode only

    Raises:
        ValueError: another mode

    Example:
        >>> parse("Analyze: a hat.\\nAnswer: B", "choice")
        {'choice': 'B', 'analysis': 'a hat.'}
    """
    if mode not in ("official", "lenient"):
        raise ValueError(f"parsing must be official or lenient (got {mode!r})")
    text = (reply or "")[:MOST_CHARACTERS]
    if mode == "lenient" if strip_think is None else strip_think:
        text = re.sub(r"<think>.*?(?:</think>|\Z)", "", text, flags=re.DOTALL)
    parsed = _PARSERS[mode](text, a_type.removeprefix("tf_"))
    analysis = ANALYSIS.search(text)
    return {**parsed, "analysis": analysis.group(1).strip() if analysis else ""}


def _official(text: str, kind: str) -> Parsed:
    if kind == "bbox":
        unfenced = "\n".join(line for line in text.split("\n") if not line.strip().startswith("```"))
        return {"bbox": _strict_box("Answer", unfenced)}
    if kind == "choice":
        return {"choice": _strict_letter("Answer", text)}
    if kind == "blank":
        found = BLANK.search(text[max(text.lower().find("answer:"), 0) :])
        return {"answer": found.group(1).strip().replace("*", "").strip() if found else None}
    if kind == "open_hoi":
        name = NAME.search(text)
        return {"name": name.group(1).strip() if name else None, "bbox": _strict_box("Box", text)}
    if kind == "sequence":
        return {"answer": [_strict_letter(place, text) for place in PLACES]}
    return {when: _strict_letter(when, text) for when in ("past", "future")}


def _strict_box(label: str, text: str) -> tuple[float, ...]:
    four = r"\s*,\s*".join([NUMBER] * 4)
    found = re.search(rf"{label}:\s*\[?\[\s*{four}\s*\]\]?", text, re.IGNORECASE)
    return tuple(float(number) for number in found.groups()) if found else NO_BOX


def _strict_letter(label: str, text: str) -> str | None:
    found = re.search(rf"{label}:\s*([A-D])", text, re.IGNORECASE)
    return found.group(1).upper() if found else None


def _lenient(text: str, kind: str) -> Parsed:
    plain = "\n".join(line for line in re.sub(r"[*`]{1,3}(?=\s|\S)", "", text).split("\n") if line.strip() != "json")
    if kind == "bbox":
        return {"bbox": _loose_box(_after("answer", plain) or plain)}
    if kind == "choice":
        return {"choice": _loose_letter(_after("answer", plain))}
    if kind == "blank":
        answer = _after("answer", plain)
        line = next((line.strip() for line in (answer or "").split("\n") if line.strip()), None)
        return {"answer": None if line is None else re.sub(r"^unknown\.$", "unknown", line, flags=re.IGNORECASE)}
    if kind == "open_hoi":
        name = _after("name", plain)
        cut = None if name is None else re.split(r"\n|Box\s*:", name, flags=re.IGNORECASE)[0].strip()
        return {"name": cut, "bbox": _loose_box(_after("box", plain) or plain)}
    if kind == "sequence":
        return {"answer": [_loose_letter(_after(place, plain)) for place in PLACES]}
    return {when: _loose_letter(_after(when, plain)) for when in ("past", "future")}


def _after(label: str, text: str) -> str | None:
    places = list(re.finditer(rf"\b{label}\s*:", text, re.IGNORECASE))
    return text[places[-1].end() :].strip() if places else None


def _loose_letter(text: str | None) -> str | None:
    if text is None:
        return None
    found = re.match(r"(?:the\s+)?(?:option|answer\s+is|choice)?\s*\(?([A-D])\b\)?", text, re.IGNORECASE)
    found = found or re.search(r"\boption\s+\(?([A-D])\b", text, re.IGNORECASE)
    return found.group(1).upper() if found else None


def _loose_box(text: str) -> tuple[float, ...]:
    for blob in reversed(re.findall(r"\{[^{}]*\}", text)):
        try:
            content = json.loads(blob)
        except ValueError:
            continue
        for name in ("bbox_2d", "bbox", "box"):
            four = content.get(name)
            if isinstance(four, list) and len(four) == 4 and all(isinstance(k, (int, float)) for k in four):
                return tuple(float(k) for k in four)
    found = LOOSE_BOX.findall(text)
    return tuple(float(number) for number in found[-1]) if found else NO_BOX


_PARSERS: dict[str, Callable[[str, str], Parsed]] = {"official": _official, "lenient": _lenient}
