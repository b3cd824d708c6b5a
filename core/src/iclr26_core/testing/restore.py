"""Saving and loading, for methods that leave it to pickle."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def through_pickle(thing: T, folder: Path) -> T:
    """Return the object, pickled into a file of the folder and loaded from it."""
    path = folder / "state.pickle"
    path.write_bytes(pickle.dumps(thing))
    loaded: T = pickle.loads(path.read_bytes())
    return loaded
