"""The optimizers' contract accepts torch's own and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from iclr26_core.testing import OptimizerContract
from verdict import failing, names_of


class TestSGD(OptimizerContract):
    method = "sgd"

    def make(self, params: list[torch.Tensor]) -> torch.optim.Optimizer:
        return torch.optim.SGD(params, lr=0.1, momentum=0.9)


class TestAdam(OptimizerContract):
    method = "adam"

    def make(self, params: list[torch.Tensor]) -> torch.optim.Optimizer:
        return torch.optim.Adam(params, lr=0.1)


class Momentum(torch.optim.SGD):
    """SGD with momentum, for the others to break."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, lr=0.1, momentum=0.9)

    @property
    def params(self) -> list[torch.Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]


class NoOptimizer:
    """Everything an optimizer does, without being one of torch's."""

    def __init__(self, params: list[torch.Tensor]) -> None:
        self.inner = Momentum(params)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)


class Ascends(Momentum):
    def __init__(self, params: Any) -> None:
        torch.optim.SGD.__init__(self, params, lr=0.1, maximize=True)


class ReturnsNothing(Momentum):
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        super().step(closure)


class IsRandom(Momentum):
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = super().step(closure)
        for parameter in self.params:
            if parameter.grad is not None:
                parameter.data += 1e-9 * torch.randn_like(parameter)
        return loss


class LosesState(Momentum):
    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "state": {}}


class ClipsGradientsInPlace(Momentum):
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = super().step(closure)
        torch.nn.utils.clip_grad_norm_(self.params, 0.1)
        return loss


class DecaysIdleParameters(Momentum):
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = super().step(closure)
        for parameter in self.params:
            if parameter.grad is None:
                parameter.data += 1
        return loss


class TakesNoParameters(Momentum):
    def __init__(self, params: Any) -> None:
        super().__init__(params or [torch.zeros(1, requires_grad=True)])


class CopiesShareParameters(Momentum):
    def __deepcopy__(self, memo: dict[int, Any]) -> Momentum:
        return self


class PromotesToDouble(Momentum):
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = super().step(closure)
        for parameter in self.params:
            parameter.data = parameter.data.double()
        return loss


class LosesPrecision(Momentum):
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = super().step(closure)
        for parameter in self.params:
            if parameter.dtype == torch.float32:
                parameter.data = parameter.data.bfloat16().float()
        return loss


BROKEN: dict[Callable[..., Any], set[str]] = {
    NoOptimizer: {"test_is_a_torch_optimizer"},
    Ascends: {"test_loss_falls"},
    ReturnsNothing: {"test_step_returns_the_loss_of_its_closure"},
    IsRandom: {"test_same_problem_gives_the_same_bits", "test_saved_state_continues_bit_for_bit"},
    LosesState: {"test_saved_state_continues_bit_for_bit"},
    ClipsGradientsInPlace: {"test_gradients_are_not_changed"},
    DecaysIdleParameters: {"test_parameter_without_gradient_stays"},
    TakesNoParameters: {"test_no_parameters_are_refused"},
    CopiesShareParameters: {"test_copies_are_independent"},
    LosesPrecision: {"test_float32_follows_float64"},
    PromotesToDouble: {"test_float32_follows_float64"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_optimizer_fails_where_it_is_broken(broken: Callable[..., Any], tmp_path: Path) -> None:
    class Broken(TestSGD):
        def make(self, params: list[torch.Tensor]) -> Any:
            return broken(params)

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(OptimizerContract)
