"""Where converted models and other things that can be made again are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir(name: str) -> Path:
    """Return an existing folder for one package's cache: below ``ICLR26_CACHE``, else below the user's cache folder."""
    import platformdirs

    root = os.environ.get("ICLR26_CACHE") or platformdirs.user_cache_path("iclr26")
    folder = Path(root) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
