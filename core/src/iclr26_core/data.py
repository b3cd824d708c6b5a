"""Text files that come with the core: style sheets and templates."""

from __future__ import annotations

from importlib import resources


def data(name: str) -> str:
    """Return the content of a file of the package, e.g. ``"forest.css"``."""
    return resources.files("iclr26_core").joinpath(name).read_text(encoding="utf-8")
