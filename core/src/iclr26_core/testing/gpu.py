"""The rule for tests that need an accelerator: skipped without one, failed where one is demanded."""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Callable

import pytest


def require_gpu(make: Callable[..., object] | None = None) -> str:
    """Return ``"cuda"``; without a GPU skip the test, or fail it where ``ICLR26_REQUIRE_GPU=1``.

    Args:
        make: a contract's hook; if it takes no ``device``, the method runs on the CPU only and the test is skipped
    """
    if make is not None and "device" not in inspect.signature(make).parameters:
        pytest.skip("make() takes no device, so this method runs on the CPU only")
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            return "cuda"
    if os.environ.get("ICLR26_REQUIRE_GPU") == "1":
        pytest.fail("ICLR26_REQUIRE_GPU=1, and torch sees no GPU")
    pytest.skip("torch sees no GPU")
