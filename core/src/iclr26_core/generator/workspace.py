"""The workspace's root pyproject: whether a folder is the root, and the two lines that tie a member to it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from iclr26_core.errors import UsageError

SOURCE = re.compile(r"^(iclr26-[a-z0-9-]+) = \{ workspace = true \}[^\n]*\n", re.MULTILINE)
NEED = re.compile(r'^    "(iclr26-[a-z0-9-]+)(?:\[[^]]*\])?",[^\n]*\n', re.MULTILINE)


def is_root(folder: Path) -> bool:
    """Return whether the folder is the root of the federation's workspace."""
    return (folder / "core" / "pyproject.toml").is_file() and (folder / "packages").is_dir()


def root_above(folder: Path) -> Path | None:
    """Return the root of the workspace that the folder lies in, itself excepted, or None."""
    return next(filter(is_root, folder.parents), None)


def with_member(text: str, package: str) -> str:
    """Return the root pyproject with the package among the workspace's sources and in the dev group.

    Raises:
        UsageError: the text has no such lists, or the package is in them
    """
    if package in (found[1] for pattern in (SOURCE, NEED) for found in pattern.finditer(text)):
        raise UsageError(f"the root pyproject.toml names {package} already: remove it there or choose another name")
    text = _inserted(text, SOURCE, package, f"{package} = {{ workspace = true }}\n")
    text = _inserted(text, NEED, package, f'    "{package}",\n')
    content = tomllib.loads(text)
    sources = content.get("tool", {}).get("uv", {}).get("sources", {})
    if package not in sources or package not in content.get("dependency-groups", {}).get("dev", []):
        raise UsageError(f"the root pyproject.toml has its members elsewhere: add {package} by hand")
    return text


def _inserted(text: str, pattern: re.Pattern[str], package: str, line: str) -> str:
    """Return the text with one line more, behind those of the core and of the packages that sort before it."""
    there = list(pattern.finditer(text))
    before = [found for found in there if found[1] == "iclr26-core" or found[1] < package]
    if not before:
        raise UsageError(f"the root pyproject.toml has no line that looks like {line.strip()!r}: add it by hand")
    end = before[-1].end()
    return text[:end] + line + text[end:]
