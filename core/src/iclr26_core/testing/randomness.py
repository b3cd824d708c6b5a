"""The global random states, set to something a method must not depend on."""

from __future__ import annotations

import random
import sys


def disturb(seed: int) -> None:
    """Seed the global generators of Python, numpy and torch, of the latter two if they are loaded."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
