"""What a method of each kind offers, as Protocols: a class of a third party fulfils one without importing it.

Shapes: N examples, B sequences of a batch, S tokens of a sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import numpy
    import torch


@runtime_checkable
class Detector(Protocol):
    """Scores examples; higher means more likely hallucinated or ungrounded."""

    def fit(self, examples: Sequence[Any], labels: Sequence[int]) -> Self:
        """Return self, fitted on N examples and their N labels (1 hallucinated, 0 faithful); ValueError on others."""

    def score(self, examples: Sequence[Any]) -> numpy.ndarray:
        """Return (N,) finite floats; ValueError for an empty input, RuntimeError before ``fit``."""


class DecodeOutput(Protocol):
    """What a decoder returns: ``sequences`` (B, S) integer token ids with the prompt, ``passes`` of the model."""

    sequences: torch.Tensor
    passes: int


@runtime_checkable
class Decoder(Protocol):
    """Decodes with a model that it is given; it owns no weights."""

    def generate(self, model: Any, inputs: torch.Tensor, *, generator: torch.Generator | None = None) -> DecodeOutput:
        """Return sequences for (B, P) integer prompts, the same for the same generator state; ValueError for others."""


@runtime_checkable
class Optimizer(Protocol):
    """A subclass of ``torch.optim.Optimizer``; updates parameters in place and leaves gradients as they are."""

    param_groups: list[dict[str, Any]]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Return the closure's loss, or None without one, after one update."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything that ``load_state_dict`` needs to continue bit for bit."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a saved state; ValueError if it belongs to other settings."""


@runtime_checkable
class Potential(Protocol):
    """Energies (eV), forces (eV/Å) and stress (eV/Å³, Voigt order xx yy zz yz xz xy) of ASE atoms."""

    def calculator(self) -> Any:
        """Return an ``ase.calculators.calculator.Calculator``."""

    def compute(self, atoms: Any) -> Mapping[str, Any]:
        """Return ``energy`` (float), ``forces`` (N, 3) and ``stress`` (6,); ValueError for no or non-finite atoms."""


@runtime_checkable
class Benchmark(Protocol):
    """Examples with gold answers, and the scores of predictions on them."""

    def examples(self, split: str) -> Sequence[Any]:
        """Return the examples of a split in a fixed order; ValueError names the splits there are."""

    def evaluate(self, predictions: Mapping[str, Any]) -> Mapping[str, float]:
        """Return metrics for predictions by id; missing ones count as wrong, unknown ids and NaN are a ValueError."""


@runtime_checkable
class Objective(Protocol):
    """A loss that a training loop or a transformers / TRL trainer can call."""

    def __call__(self, model: Any, batch: Mapping[str, Any]) -> tuple[torch.Tensor, Mapping[str, float]]:
        """Return a finite scalar loss with gradient, and numbers to log; ValueError for an empty or NaN batch."""


@runtime_checkable
class Generator(Protocol):
    """Learns a distribution from data and samples from it."""

    def fit(self, data: Any) -> Self:
        """Return self, fitted; ValueError for empty or non-finite data."""

    def sample(self, n: int, *, seed: int) -> Any:
        """Return n samples like the data, the same for a seed; ValueError for n < 1, RuntimeError before ``fit``."""


@runtime_checkable
class Estimator(Protocol):
    """A scikit-learn estimator: ``fit``, ``predict`` or ``transform``, ``get_params``, ``set_params``."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return self, fitted on (N, features); ValueError for empty or non-finite input."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments."""

    def set_params(self, **params: Any) -> Self:
        """Return self with these arguments; ValueError for one that the constructor does not have."""


@runtime_checkable
class Agent(Protocol):
    """Learns to act, by the convention of stable-baselines3."""

    def learn(self, total_timesteps: int) -> Self:
        """Return self after this many environment steps."""

    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, Any]:
        """Return an action of the action space and the recurrent state, or None; ValueError for a bad observation."""

    def save(self, path: Any) -> None:
        """Write everything that ``load`` needs to predict the same actions."""

    @classmethod
    def load(cls, path: Any, env: Any = None) -> Any:
        """Return an agent that predicts as the saved one did."""


@runtime_checkable
class Architecture(Protocol):
    """A transformers config and model class, registered with the Auto classes, and the way to it."""

    config_class: Any
    model_class: Any

    def convert(self, model: Any) -> Any:
        """Return a model of ``model_class`` made from a trained one; TypeError for a family it does not know."""


@runtime_checkable
class Editor(Protocol):
    """Changes facts in a model by request, and takes each change back."""

    def edit(self, model: Any, requests: Iterable[Mapping[str, Any]]) -> Any:
        """Return the edited model; ValueError names a request that cannot be applied and leaves the model as it was."""

    def revert(self, request: Mapping[str, Any]) -> Any:
        """Return the model without this edit; LookupError if it was never made."""
