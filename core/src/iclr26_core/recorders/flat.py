"""A nested config as flat names and texts, which is what trackers take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

NOT_ALLOWED = re.compile(r"[^\w/. -]")  # in a name, by MLflow's rules


def flat(content: Any, prefix: str = "") -> dict[str, str]:
    """Return nested mappings and lists as dotted names and texts."""
    if isinstance(content, Mapping):
        items = [(str(key), value) for key, value in content.items()]
    elif isinstance(content, (list, tuple)) and any(isinstance(item, Mapping) for item in content):
        items = [(str(index), value) for index, value in enumerate(content)]
    else:
        return {NOT_ALLOWED.sub("_", prefix): str(content)}
    return {
        name: text for key, value in items for name, text in flat(value, f"{prefix}.{key}" if prefix else key).items()
    }
