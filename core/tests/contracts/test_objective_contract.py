"""The objectives' contract accepts objectives and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from iclr26_core.testing import ObjectiveContract
from verdict import failing, names_of


class HuberObjective:
    """The mean Huber loss of the model's output for ``x`` against ``y``."""

    def __call__(self, model: torch.nn.Module, batch: Mapping[str, torch.Tensor]) -> tuple[Any, Any]:
        x, y = batch["x"], batch["y"]
        if len(x) == 0 or not (x.isfinite().all() and y.isfinite().all()):
            raise ValueError("batch must have rows, and finite numbers in x and y")
        error = model(x) - y
        loss = torch.nn.functional.huber_loss(error, torch.zeros_like(error))
        return loss, {"loss": loss.item(), "largest_error": error.abs().max().item()}


class NoisyObjective(HuberObjective):
    """The Huber loss under input noise: another one at every call, the same one under the same seed."""

    def __call__(self, model: torch.nn.Module, batch: Mapping[str, torch.Tensor]) -> tuple[Any, Any]:
        x = batch["x"]
        return super().__call__(model, {**batch, "x": x + 0.1 * torch.randn_like(x)})


class TestHuberObjective(ObjectiveContract):
    method = "huber"

    def make(self) -> Any:
        return HuberObjective()

    def example(self) -> tuple[torch.nn.Module, Mapping[str, Any]]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        return model, {"x": torch.randn(6, 3), "y": torch.randn(6, 1), "name": "batch 0"}


class TestNoisyObjective(TestHuberObjective):
    method = "noisy"
    draws = 50

    def make(self) -> Any:
        return NoisyObjective()


class GivesAVector(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        loss, logs = super().__call__(model, batch)
        return loss[None], logs


class GivesNoGradient(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        loss, logs = super().__call__(model, batch)
        return loss.detach() + 0 * next(model.parameters()).sum(), logs


class DetachesTheFirstLayer(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        hidden = model[:2](batch["x"]).detach()
        return super().__call__(model[2], {**batch, "x": hidden})


class LogsTensors(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        loss, _ = super().__call__(model, batch)
        return loss, {"loss": loss}


class LogsNaN(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        return super().__call__(model, batch)[0], {"ratio": float("nan")}


class DrawsUnseeded(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        loss, logs = super().__call__(model, batch)
        return loss * (1 + 2e-5 * random.SystemRandom().random()), logs


class WarmsUp(HuberObjective):
    calls = 0

    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        self.calls += 1
        loss, logs = super().__call__(model, batch)
        return self.calls * loss, logs


class WeighsRowsByPlace(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        weight = torch.linspace(1, 2, len(batch["x"]))[:, None]
        return super().__call__(model, {**batch, "x": weight * batch["x"]})


class CallsBackward(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        loss, logs = super().__call__(model, batch)
        loss.backward(retain_graph=True)
        return loss, logs


class ChangesTheBatch(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        batch["x"].clamp_(-1, 1)
        return super().__call__(model, batch)


class LeavesEvaluationMode(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        model.eval()
        return super().__call__(model, batch)


class DecaysWeights(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        loss, logs = super().__call__(model, batch)
        model[0].weight.data.clamp_(-0.1, 0.1)
        return loss.detach() + model(batch["x"]).mean() - model(batch["x"]).mean().detach(), logs


class TakesNaN(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        return super().__call__(model, {**batch, "x": batch["x"].nan_to_num()})


class ComputesInSinglePrecision(HuberObjective):
    def __call__(self, model: Any, batch: Any) -> tuple[Any, Any]:
        loss, logs = super().__call__(model, batch)
        return loss.float(), logs


BROKEN: dict[type[HuberObjective], set[str]] = {
    GivesAVector: {"test_loss_is_a_finite_scalar_with_gradient"},
    GivesNoGradient: {"test_gradient_reaches_the_whole_model"},
    DetachesTheFirstLayer: {"test_gradient_reaches_the_whole_model"},
    LogsTensors: {"test_logs_are_numbers"},
    LogsNaN: {"test_logs_are_numbers"},
    DrawsUnseeded: {"test_same_seed_gives_the_same_loss", "test_second_call_gives_the_same_loss"},
    WarmsUp: {"test_second_call_gives_the_same_loss"},
    WeighsRowsByPlace: {"test_order_of_rows_does_not_matter"},
    NoisyObjective: {"test_order_of_rows_does_not_matter"},  # without draws, noise counts as an error
    CallsBackward: {"test_model_and_batch_are_not_changed"},
    ChangesTheBatch: {"test_model_and_batch_are_not_changed"},
    LeavesEvaluationMode: {"test_model_and_batch_are_not_changed"},
    DecaysWeights: {"test_model_and_batch_are_not_changed", "test_second_call_gives_the_same_loss"},
    TakesNaN: {"test_damaged_batches_are_refused"},
    ComputesInSinglePrecision: {"test_double_precision_is_kept"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_objective_fails_where_it_is_broken(broken: type[HuberObjective], tmp_path: Path) -> None:
    class Broken(TestHuberObjective):
        def make(self) -> Any:
            return broken()

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


def test_parameters_that_get_no_gradient_may_be_named(tmp_path: Path) -> None:
    class Broken(TestHuberObjective):
        without_gradient = ("0.weight", "0.bias")

        def make(self) -> Any:
            return DetachesTheFirstLayer()

    assert not failing(Broken, tmp_path)


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(ObjectiveContract)
