"""The rule for tests that need an accelerator: skipped without one, failed where one is demanded."""

from __future__ import annotations

import os

import pytest


def require_gpu() -> str:
    """Return ``"cuda"``; without a GPU skip the test, or fail it where ``ICLR26_REQUIRE_GPU=1``."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if os.environ.get("ICLR26_REQUIRE_GPU") == "1":
        pytest.fail("ICLR26_REQUIRE_GPU=1, and torch sees no GPU")
    pytest.skip("torch sees no GPU")
