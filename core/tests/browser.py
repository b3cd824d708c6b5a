"""Chromium without a window: what a page looks like to a browser, and what it complains about."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
)  # fmt: skip


@dataclass(frozen=True)
class Opened:
    """A page in the browser: its DOM as text, and the lines on the console."""

    dom: str
    console: list[str]


def open_page(page: Path, profile: Path, *options: str) -> Opened:
    """Return a page as the browser has it; skip without a browser, fail with ``ICLR26_REQUIRE_BROWSER=1``."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        if required:
            pytest.fail("ICLR26_REQUIRE_BROWSER=1 and no chromium: apt-get install chromium")
        pytest.skip("no chromium: apt-get install chromium")
    command = [program, *FLAGS, f"--user-data-dir={profile}", *options, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return Opened(done.stdout, re.findall(r":CONSOLE[^\]]*\] (.*)", done.stderr))


required = os.environ.get("ICLR26_REQUIRE_BROWSER") == "1"  # read at import: the tests hide such variables
