"""The instructions for the form of an answer: our wording, or the authors' from the user's own copy of their script."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .question import A_TYPES

LEAD = "Reply in exactly this form and add nothing to it:"
LEAD_ORDER = "Reply in exactly this form and add nothing to it; each letter stands for one place only:"
ANALYZE = "Analyze: <your reasoning>"
BOX = "[x1,y1,x2,y2]"
LINES = {
    "bbox": [f"Answer: {BOX}"],
    "choice": ["Answer: A/B/C/D"],
    "blank": ["Answer: <a short expression>"],
    "tf_bbox": [f"Answer: {BOX}, or [-1,-1,-1,-1] if there is no match"],
    "tf_blank": ["Answer: <a short expression>, or unknown if there is no match"],
    "open_hoi": ["Name: <name of the object>", f"Box: {BOX}"],
    "sequence": [f"{place}: A/B/C/D" for place in ("First", "Second", "Third", "Fourth")],
    "double_choice": ["Past: A/B/C/D", "Future: A/B/C/D"],
}


@dataclass(frozen=True)
class Prompts:
    """Instructions by answer type, with where they come from.

    Attributes:
        source: ``iclr26`` or ``official``
        instructions: text by a_type
    """

    source: str
    instructions: Mapping[str, str]

    @property
    def sha256(self) -> str:
        """Fingerprint of the instructions."""
        return hashlib.sha256(json.dumps(dict(self.instructions), sort_keys=True).encode()).hexdigest()


def prompt_set(name: str = "iclr26") -> Prompts:
    """Return ``iclr26``, or ``official:PATH`` of a copy of the authors' benchmark.py, which is read and never run.

    Raises:
        ValueError: another name, or a file without the dictionary FORMAT_INSTRUCTIONS of all eight answer types
    """
    if name == "iclr26":
        texts = {
            kind: "\n".join([LEAD_ORDER if kind == "sequence" else LEAD, "", ANALYZE, *lines])
            for kind, lines in LINES.items()
        }
        return Prompts("iclr26", texts)
    word, _, path = name.partition(":")
    if word != "official" or not path:
        raise ValueError(f"prompts must be iclr26 or official:PATH of the authors' benchmark.py (got {name!r})")
    return Prompts("official", _official(Path(path)))


def _official(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise ValueError(f"prompts: {path} is no file: give the path of your copy of the authors' benchmark.py")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "FORMAT_INSTRUCTIONS" for target in targets):
            texts = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            missing = [kind for kind in A_TYPES if kind not in texts]
            if missing:
                raise ValueError(f"prompts: FORMAT_INSTRUCTIONS of {path} lacks {', '.join(missing)}")
            return {kind: texts[kind] for kind in A_TYPES}
    raise ValueError(f"prompts: {path} has no dictionary FORMAT_INSTRUCTIONS: it must be the authors' benchmark.py")
