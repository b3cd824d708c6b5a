"""A command in a process group of its own, with a time limit, so that it can fail or be killed without us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PARENT = "ICLR26_PARENT"
GRACE = 10.0  # seconds between SIGTERM, on which a run writes its record, and SIGKILL


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code (negative for a signal), seconds, and whether the time limit ended it."""

    code: int
    seconds: float
    out_of_time: bool
    log: Path

    def reason(self) -> str:
        """Return why it failed, from the signal or the last line that it wrote."""
        if self.out_of_time:
            return f"ran out of time after {self.seconds:.0f} s"
        if self.code < 0:
            return f"killed by {signal.Signals(-self.code).name}"
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = lines[-1].removeprefix("iclr26: ") if lines else "it wrote nothing"
        return f"exit code {self.code}: {last}"


def iclr26(arguments: Sequence[str], *, log: Path, parent: str, timeout: float | None = None) -> Ended:
    """Return how ``iclr26 arguments…`` ended, run with this interpreter.

    Args:
        arguments: the command and its options
        log: the file that gets its stdout and stderr
        parent: id of the run that it is part of
        timeout: seconds after which it and everything it started are ended; None is no limit
    """
    command = [sys.executable, "-m", "iclr26_core.cli", *arguments]
    return run(command, log=log, timeout=timeout, variables={PARENT: parent})


def run(
    command: Sequence[str],
    *,
    log: Path,
    timeout: float | None = None,
    grace: float = GRACE,
    variables: Mapping[str, str] | None = None,
) -> Ended:
    """Return how a command ended; when its time is up, or we are interrupted, its whole group is ended.

    Args:
        command: the program and its arguments
        log: the file that gets its stdout and stderr
        timeout: seconds that it has; None is no limit
        grace: seconds that it then has to end by itself
        variables: what is added to the environment
    """
    started = time.perf_counter()
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
            env={**os.environ, **(variables or {})},
        )  # fmt: skip
        out_of_time = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            out_of_time = True
            _end(process, grace)
        except BaseException:
            _end(process, grace)
            raise
    return Ended(process.returncode, time.perf_counter() - started, out_of_time, log)


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    _signal(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace)
    _signal(process, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to the whole group; on Windows, which has none, to the process."""
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)
