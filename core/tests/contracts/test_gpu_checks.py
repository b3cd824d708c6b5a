"""The checks that need a GPU accept and reject, too: run here with the CPU as the other device."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import test_agent_contract as agents
import test_architecture_contract as architectures
import test_decoder_contract as decoders
import test_detector_contract as detectors
import test_editor_contract as editors
import test_estimator_contract as estimators
import test_generator_contract as generators
import test_objective_contract as objectives
import test_optimizer_contract as optimizers
import test_potential_contract as potentials
import torch
from iclr26_core.testing import Contract
from verdict import failing, names_of


class DecodesDifferently(decoders.TemperatureDecoder):
    def _choose(self, logits: torch.Tensor, generator: Any) -> torch.Tensor:
        return super()._choose(-logits, generator)


class WeighsTheLoss(objectives.HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        loss, logs = super().__call__(model, batch)
        return 2 * loss, logs


class EditsHalfway(editors.AssociativeEditor):
    def _apply(self) -> Any:
        model = super()._apply()
        model.weight.data.lerp_(self.original, 0.5)
        return model


class ScoresHigher(detectors.MeanDistance):
    def score(self, examples: Any) -> Any:
        return super().score(examples) + 0.1


class SamplesElsewhere(generators.Gaussian):
    def sample(self, n: int, *, seed: int) -> Any:
        return super().sample(n, seed=seed) + 10


class ActsInTheHouse(agents.RandomSearch):
    def save(self, path: Any) -> None:
        self.weights = -self.weights
        super().save(path)
        self.weights = -self.weights


class PredictsTheOther(estimators.NearestMean):
    def predict(self, X: Any) -> Any:
        return 1 - super().predict(X)


class MovesWeights(architectures.ScaledForCausalLM):
    def to(self, *where: Any, **options: Any) -> Any:
        if where == ("cpu",):
            self.scale.data += 1
        return super().to(*where, **options)


class ConvertsToMovesWeights(architectures.ScaledLogits):
    model_class = MovesWeights


class StepsFurther(optimizers.Momentum):
    def step(self, closure: Any = None) -> Any:
        loss = super().step(closure)
        for parameter in self.params:
            parameter.data += 1e-6
        return loss


# the contract's good case, what it makes on one device, and on the other
CASES: dict[type[Contract], tuple[Callable[..., Any], Callable[..., Any]]] = {
    agents.TestRandomSearch: (agents.RandomSearch, ActsInTheHouse),
    detectors.TestMeanDistance: (detectors.MeanDistance, ScoresHigher),
    estimators.TestNearestMean: (estimators.NearestMean, PredictsTheOther),
    generators.TestGaussian: (generators.Gaussian, SamplesElsewhere),
    potentials.TestSoftPotential: (potentials.SoftPotential, potentials.ComputesInOtherUnits),
    decoders.TestTemperatureDecoder: (decoders.TemperatureDecoder, DecodesDifferently),
    objectives.TestHuberObjective: (objectives.HuberObjective, WeighsTheLoss),
    editors.TestAssociativeEditor: (editors.AssociativeEditor, EditsHalfway),
    optimizers.TestSGD: (optimizers.Momentum, StepsFurther),
    architectures.TestScaledLogits: (architectures.ScaledLogits, ConvertsToMovesWeights),
}
TAKES_DEVICE = (agents, detectors, estimators, generators, potentials)


def made_by_device(here: Callable[..., Any], there: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``make`` that takes a device."""

    def make(self: Any, *given: Any, device: str | None = None) -> Any:
        return here(*given) if device is None else there(*given)

    return make


def made_in_turns(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``make`` that gives one implementation and then another: the contract makes one for each device."""
    turns = iter((first, second))
    return lambda self, *given: next(turns)(*given)


def verdict_on(good: type[Contract], other: Callable[..., Any], tmp_path: Path) -> dict[str, str]:
    here = CASES[good][0]
    if any(vars(module).get(good.__name__) is good for module in TAKES_DEVICE):
        make = made_by_device(here, other)
    elif good is architectures.TestScaledLogits:
        make = lambda self: other()  # noqa: E731
    else:
        make = made_in_turns(here, other)
    members = {"make": make}
    if good is decoders.TestTemperatureDecoder:
        greedy = made_in_turns(lambda: here(temperature=0.0), lambda: other(temperature=0.0))
        members = {"make_greedy": greedy}
    contract = type("Broken", (good,), members)
    return failing(contract, tmp_path, only=names_of(contract, without=frozenset()) - names_of(contract))


@pytest.fixture(autouse=True)
def _cpu_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("iclr26_core.testing.") and hasattr(module, "require_gpu"):
            monkeypatch.setattr(module, "require_gpu", lambda make=None: "cpu")


@pytest.mark.parametrize("good", CASES, ids=lambda good: good.__name__)
def test_implementation_that_agrees_is_accepted(good: type[Contract], tmp_path: Path) -> None:
    assert not verdict_on(good, CASES[good][0], tmp_path)


@pytest.mark.parametrize("good", CASES, ids=lambda good: good.__name__)
def test_implementation_that_differs_is_rejected(good: type[Contract], tmp_path: Path) -> None:
    assert len(verdict_on(good, CASES[good][1], tmp_path)) == 1
