import json
import math
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from iclr26_core import Claim, Estimate


@dataclass(frozen=True)
class Start:
    """Where to start.

    Attributes:
        x: First coordinate, in [-10, 10].
        y: Second coordinate.
    """

    x: float = 1.0
    y: float = -1.0

    def __post_init__(self):
        if not -10 <= self.x <= 10:
            raise ValueError(f"x must be in [-10, 10] (got {self.x}): start closer")


@dataclass(frozen=True)
class Variant:
    """A variant to compare with.

    Attributes:
        name: Its name.
        momentum: Its momentum.
    """

    name: str = "momentum"
    momentum: float = 0.9


@dataclass(frozen=True)
class Minimise:
    """Options of the descent.

    Attributes:
        learning_rate: Length of a step, > 0.
        steps: Number of steps.
        pause: Seconds to wait after each step.
        clip: Largest length of a gradient.
        label: Free text.
        note: Free text, or nothing.
        fail: Raise an error after the steps.
        witness: A file to write when the work begins.
        start: Where to start.
        variants: What to compare with.
    """

    learning_rate: float = 0.1
    steps: int = 3
    pause: float = 0.0
    clip: float = math.inf
    label: str = ""
    note: str | None = None
    fail: bool = False
    witness: Path | None = None
    start: Start = field(default_factory=Start)
    variants: list[Variant] = field(default_factory=lambda: [Variant(), Variant("heavy", 0.99)])

    def __post_init__(self):
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be > 0 (got {self.learning_rate}): try 0.1")


@dataclass(frozen=True)
class Leave:
    """Options of leaving.

    Attributes:
        code: The exit code.
    """

    code: int = 0


class Descent:
    param_groups: ClassVar[list] = []

    def step(self, closure=None):
        return None

    def state_dict(self):
        return {}

    def load_state_dict(self, state_dict):
        return None


def minimise(config, run):
    if config.witness is not None:
        config.witness.write_text("begun")
    saved = run.out / "state.json"
    first, x = json.loads(saved.read_text()) if run.resumed else (0, config.start.x)
    for step in range(first, config.steps):
        x -= config.learning_rate * max(-config.clip, min(config.clip, 2 * x))
        run.log(step, loss=x * x)
        saved.write_text(json.dumps([step + 1, x]))
        time.sleep(config.pause)
    if config.fail:
        raise RuntimeError(f"the step {config.steps} went wrong: é \udcff")
    run.metric("loss", x * x, higher_is_better=False, n=3, stderr=0.01)
    run.metric("seconds", 0.25, unit="s")
    for variant in config.variants:
        run.metric("loss", math.inf if variant.momentum < 0.95 else math.nan, of=variant.name, higher_is_better=False)
    (run.out / "plots").mkdir(exist_ok=True)
    (run.out / "plots" / "x.txt").write_text(str(x))
    run.artifact("plots/x.txt")
    run.say(f"started from step {first}")
    run.print("x is small")
    os.chdir("/")  # a job may; the record must be written all the same


def leave(config, run):
    sys.exit(config.code)


def claims(run):
    exact = Estimate(value=0.4, low=0.3, high=0.5, n=5)
    yield Claim(id="above", statement="It is > 0.25", paper="0.5", source="T1", measured=exact, at_least=0.25)
    yield Claim(id="well-above", statement="It is > 0.35", paper="0.5", source="T1", measured=exact, at_least=0.35)
    yield Claim(id="large", statement="It scales", paper="no figure", source="T2", needs="8 GPUs", scale=run.scale)
