"""What a run ran on: versions, device, threads, memory and the state of the user's git checkout."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any


def environment(device: str) -> dict[str, Any]:
    """Return python, platform, core count, device; torch's and CUDA's versions only where torch was imported."""
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "device": device,
        "torch": None,
        "cuda": None,
        "threads": None,
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found |= {"torch": torch.__version__, "cuda": torch.version.cuda, "threads": torch.get_num_threads()}
        if device.startswith("cuda") and torch.cuda.is_available():
            found["device"] = f"{device} ({torch.cuda.get_device_name(device)})"
    return found


def git(folder: Path) -> dict[str, Any] | None:
    """Return ``{"commit", "dirty"}`` of the checkout around a folder (dirty is None where git is too slow to say)."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def peak_memory_bytes() -> int | None:
    """Return the process's largest resident set so far, or None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
