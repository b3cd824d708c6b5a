"""Commands in processes of their own: how they ended is told truly, and nothing of them is left."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from iclr26_core import child
from rivals import is_alive

STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleeper = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
pathlib.Path("processes").write_text(f"{os.getpid()} {sleeper.pid}")
time.sleep(600)
"""


def run(code: str, folder: Path, **options: float) -> child.Ended:
    return child.run([sys.executable, "-c", textwrap.dedent(code)], log=folder / "log", **options)


def test_success_has_code_0(tmp_path: Path) -> None:
    ended = run("print('said')", tmp_path)
    assert (ended.code, ended.out_of_time, ended.log.read_text()) == (0, False, "said\n")


def test_failure_is_told_by_its_last_line(tmp_path: Path) -> None:
    assert run("raise ValueError('no such thing')", tmp_path).reason() == "exit code 1: ValueError: no such thing"


def test_silent_failure_says_that_it_was_silent(tmp_path: Path) -> None:
    assert run("raise SystemExit(3)", tmp_path).reason() == "exit code 3: it wrote nothing"


def test_death_by_a_signal_is_told_by_its_name(tmp_path: Path) -> None:
    assert run("import os; os.kill(os.getpid(), 9)", tmp_path).reason() == "killed by SIGKILL"


def test_time_limit_ends_a_process_that_ignores_sigterm_and_its_child(
    tmp_path: Path, wait: Callable[..., None]
) -> None:
    code = STUBBORN.replace('"processes"', repr(str(tmp_path / "processes")))
    ended = run(code, tmp_path, timeout=3, grace=0.2)
    assert ended.out_of_time
    assert ended.reason() == "ran out of time after 3 s"
    for process in (tmp_path / "processes").read_text().split():
        wait(lambda process=process: not is_alive(int(process)), 5)
