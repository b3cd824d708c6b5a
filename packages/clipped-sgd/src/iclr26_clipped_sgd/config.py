"""What can be asked of the jobs; every field is a flag of ``iclr26 run clipped-sgd`` and a key of its TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

ProblemName = Literal["breast-cancer", "quadratic", "logistic", "expected_logistic", "csv_logistic"]
NoiseName = Literal["none", "gaussian", "student-t", "pareto", "stable"]
MethodName = Literal["clipped-sgd", "sgd", "sgd-clip", "nsgd", "adam"]


@dataclass(frozen=True)
class ProblemConfig:
    """The convex objective.

    Attributes:
        name: breast-cancer (scikit-learn's, 569 rows), quadratic, logistic, expected_logistic, or csv_logistic.
        dim: Number of coordinates of quadratic, logistic and expected_logistic.
        ridge: Coefficient of the quadratic penalty of the logistic problems, > 0.
        batch_size: Rows per stochastic gradient where data are sampled.
        path: CSV file with a header, for csv_logistic.
        target: Its column with two values, for csv_logistic.
    """

    name: ProblemName = "breast-cancer"
    dim: int = 50
    ridge: float = 0.01
    batch_size: int = 8
    path: str = ""
    target: str = ""

    def __post_init__(self) -> None:
        _at_least("problem.dim", self.dim, 1)
        _at_least("problem.batch_size", self.batch_size, 1)
        _positive("problem.ridge", self.ridge)
        if self.name == "csv_logistic" and not (self.path and self.target):
            raise ValueError(f"csv_logistic needs problem.path and problem.target (got {self.path!r}, {self.target!r})")


@dataclass(frozen=True)
class NoiseConfig:
    """Noise added to every gradient, with independent coordinates.

    Attributes:
        name: none, gaussian, student-t, pareto (centred) or stable (symmetric).
        tail: Tail index: degrees of freedom, Pareto exponent or stability index; > 1.
        scale: Each coordinate of n gets scale / n^(1/min(2, tail)), so that scale is about the noise norm.
    """

    name: NoiseName = "student-t"
    tail: float = 1.5
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.tail > 1.0:
            raise ValueError(f"noise.tail must be > 1 (got {self.tail}): for a tail index <= 1 there is no mean")
        if not self.scale >= 0.0:
            raise ValueError(f"noise.scale must be >= 0 (got {self.scale})")


@dataclass(frozen=True)
class MethodConfig:
    """A method to compare; what is left at 0 is tuned on other seeds than the comparison's.

    Attributes:
        name: clipped-sgd, sgd, sgd-clip (constant clip level), nsgd (normalised) or adam.
        label: Its name in the table; the method's name if empty.
        lr: First step size; 0 is tuned.
        clip: First clip level of clipped-sgd and sgd-clip; 0 is tuned.
    """

    name: MethodName = "clipped-sgd"
    label: str = ""
    lr: float = 0.0
    clip: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("lr", self.lr), ("clip", self.clip)):
            if not value >= 0.0:
                raise ValueError(f"method.{name} must be > 0, or 0 to have it tuned (got {value})")


@dataclass(frozen=True)
class RunConfig:
    """How much is run.

    Attributes:
        K: Steps per repetition.
        reps: Independent repetitions per method.
        delta: Failure probability; the table shows the 1 - delta quantile.
        checkpoints: At how many steps the gap is taken, spaced geometrically.
        tune_reps: Repetitions per candidate when something is tuned.
    """

    K: int = 1000
    reps: int = 100
    delta: float = 0.05
    checkpoints: int = 24
    tune_reps: int = 20

    def __post_init__(self) -> None:
        _at_least("run.K", self.K, 1)
        _at_least("run.reps", self.reps, 2)
        _at_least("run.checkpoints", self.checkpoints, 2)
        _at_least("run.tune_reps", self.tune_reps, 2)
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"run.delta must be in (0, 1) (got {self.delta})")


@dataclass(frozen=True)
class TrainConfig:
    """Clipped SGD and its baselines, each tuned, on one problem under noise.

    Attributes:
        problem: The objective.
        noise: What is added to its gradients.
        method: The methods; without names, clipped-sgd and its four baselines.
        run: How much is run.
        alpha: Moment order in (1, 2] of the schedule; 0 estimates it from the gradient noise at the start.
    """

    problem: ProblemConfig = field(default_factory=ProblemConfig)
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    method: list[MethodConfig] = field(
        default_factory=lambda: [
            MethodConfig("clipped-sgd"),
            MethodConfig("sgd"),
            MethodConfig("sgd-clip"),
            MethodConfig("nsgd"),
            MethodConfig("adam"),
        ]
    )
    run: RunConfig = field(default_factory=RunConfig)
    alpha: float = 0.0

    def __post_init__(self) -> None:
        if self.alpha != 0.0 and not 1.0 < self.alpha <= 2.0:
            raise ValueError(f"alpha must be in (1, 2], or 0 to have it estimated (got {self.alpha})")
        labels = [method.label or method.name for method in self.method]
        if len(set(labels)) < len(labels) or not labels:
            raise ValueError(f"method must hold at least one method, with different labels (got {labels})")


@dataclass(frozen=True)
class SettingConfig:
    """One row of a simulation: a noise and a schedule.

    Attributes:
        noise: none, gaussian, student-t, pareto or stable.
        tail: Its tail index.
        scale: Each coordinate of n gets scale / n^(1/alpha).
        alpha: Moment order in (1, 2] of the schedule.
        sigma: Noise level that the schedule is told.
        smoothness: L that the schedule is told.
        radius: R0 that the schedule is told.
        step_scale: Multiplies the proven step sizes; above 1 nothing is guaranteed.
        clip_scale: Multiplies the proven clip levels; away from 1 nothing is guaranteed.
    """

    noise: NoiseName = "pareto"
    tail: float = 2.001
    scale: float = 0.3
    alpha: float = 2.0
    sigma: float = 1.0
    smoothness: float = 1.0
    radius: float = 1.0
    step_scale: float = 320.0
    clip_scale: float = 20.0


@dataclass(frozen=True)
class SimulateConfig:
    """The paper's kind of simulation: the same schedule for the last iterate, the average, and SGD.

    Attributes:
        problem: The objective.
        setting: The rows.
        run: How much is run.
    """

    problem: ProblemConfig = field(default_factory=lambda: ProblemConfig("quadratic"))
    setting: list[SettingConfig] = field(default_factory=lambda: [SettingConfig()])
    run: RunConfig = field(default_factory=lambda: RunConfig(K=2000, reps=60))


@dataclass(frozen=True)
class TailConfig:
    """The tail index of a model's gradient noise, at its start and after some training.

    Attributes:
        model: digits, breast-cancer (both: a linear softmax model of scikit-learn's data), or your own as
            module:function, a function without arguments that returns (model, loss_fn, loader).
        batches: Stochastic gradients that are measured at each point, >= 16.
        batch_size: Rows per gradient of the embedded data.
        steps: Training steps before the second measurement; 0 leaves it out.
        bootstrap: Also choose Hill's k by the double bootstrap of tailestim (extra tail).
    """

    model: str = "digits"
    batches: int = 2000
    batch_size: int = 4
    steps: int = 300
    bootstrap: bool = False

    def __post_init__(self) -> None:
        _at_least("batches", self.batches, 16)
        _at_least("batch_size", self.batch_size, 1)
        _at_least("steps", self.steps, 0)
        if self.model not in ("digits", "breast-cancer") and ":" not in self.model:
            raise ValueError(f"model must be digits, breast-cancer or module:function (got {self.model!r})")


def _at_least(name: str, value: int, lowest: int) -> None:
    if value < lowest:
        raise ValueError(f"{name} must be >= {lowest} (got {value})")


def _positive(name: str, value: float) -> None:
    if not value > 0.0:
        raise ValueError(f"{name} must be > 0 (got {value})")
