"""The examples of a README: Python blocks that are followed by the block with their output."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

EXAMPLE = re.compile(r"^```python\n(.*?)^```\n+```(?:text)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def readme_of(cls: type) -> Path | None:
    """Return the README.md of the package whose tests define the class, or None if it has none."""
    for folder in Path(inspect.getfile(cls)).resolve().parents:
        if (folder / "pyproject.toml").is_file():
            return folder / "README.md" if (folder / "README.md").is_file() else None
    return None


def examples(readme: Path) -> list[tuple[str, str]]:
    """Return the code and the printed output of every example with an output block directly below it."""
    return [(code, output) for code, output in EXAMPLE.findall(readme.read_text(encoding="utf-8"))]
