"""Which torch device a run uses."""

from __future__ import annotations

import importlib.util

from iclr26_core.errors import UsageError


def resolve(name: str) -> str:
    """Return the device that ``auto`` or an explicit name stands for; imports torch, where it is installed.

    Raises:
        UsageError: the device that was asked for is not there
    """
    if importlib.util.find_spec("torch") is None:
        if name not in ("auto", "cpu"):
            raise UsageError(f"--device {name} needs torch, which is not installed: pip install torch")
        return "cpu"
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"--device {name} cannot be used: {str(error).splitlines()[0]}") from error
    return name
