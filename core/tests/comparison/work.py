"""A method whose results are known: the loss of seed s is OFFSET + 1.5 WAVE[s], that of its baseline 1 + WAVE[s].

FAIL, KILL and HANG in the environment name the seeds that fail, kill their own process, and do not end.
"""

import base64
import os
import subprocess
import sys
import time
from dataclasses import dataclass

from iclr26_core import Claim, Estimate

OFFSET = 0.0
WAVE = [0.10, -0.05, 0.20, 0.00, -0.10, 0.05]
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


@dataclass(frozen=True)
class Config:
    """What to do.

    Attributes:
        data: the input
    """

    data: str = "wine"


class Thing:
    """Nothing."""


def run(config, run):
    """Give the known results."""
    seed = str(run.seed)
    run.input("data", config.data.encode())
    if seed in os.environ.get("FAIL", "").split(","):
        raise RuntimeError(f"seed {seed} fails")
    if seed in os.environ.get("KILL", "").split(","):
        os.kill(os.getpid(), 9)
    if seed in os.environ.get("HANG", "").split(","):
        _hang(run)
    run.metric("final_loss", OFFSET + WAVE[run.seed] * 1.5, higher_is_better=False)
    run.metric("final_loss", 1 + WAVE[run.seed], of="sgd", higher_is_better=False)
    run.metric("final_loss", 2.0, of="adam", higher_is_better=False)
    run.metric("seconds_per_step", 0.5, unit="s", higher_is_better=False)
    run.metric("extra_{name}", 10 * run.seed)


def claims(run):
    """Claims of all verdicts, with plots that are there, missing, and no picture."""
    (run.out / "dot.png").write_bytes(base64.b64decode(DOT))
    (run.out / "notes.pdf").write_bytes(b"%PDF")
    found = Estimate(value=0.42, low=0.31, high=0.55, n=5, interval="95 % t over seeds")
    yield Claim(
        id="holds", statement="It is <b>large</b> & good", paper="0.5", source="Table 1", measured=found,
        at_least=0.25, seeds=(0, 1, 2), detail="loss of {name} minus that of SGD", plot="dot.png",
    )  # fmt: skip
    if "{name}" == "slow":
        _hang(run)
    if "{name}" == "failing":
        raise RuntimeError("no <data> | here")
    exact = Estimate(value=1234.5, low=1234.5, high=1234.5, n=1, unit="ms")
    yield Claim(
        id="fails", statement="It is fast", paper="10 ms", source="Fig. 2", measured=exact, at_most=10.0,
        plot="missing.png",
    )  # fmt: skip
    yield Claim(
        id="untested", statement="It scales", paper="no figure", source="Sec. 5", needs="8 GPUs", plot="notes.pdf"
    )


def _hang(run):
    """Do not end, with a child that ignores SIGTERM; its process id is left in the run's folder."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code])
    (run.out / "child.pid").write_text(str(child.pid))
    time.sleep(600)
