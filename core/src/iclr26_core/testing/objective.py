"""The contract of objectives: a model and a batch in, a loss to train with and numbers to log out. Needs torch."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import pytest
import torch

from iclr26_core.interfaces import Objective
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.damage import rows, with_nan
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb
from iclr26_core.testing.unchanged import changed, fingerprint, weights

Example = tuple[torch.nn.Module, Mapping[str, Any]]


class ObjectiveContract(Contract, sealed=True):
    """Checks an objective on the author's model and batch, before a training step and during it.

    Override ``make`` and ``example``; ``damaged`` for more that must be refused.

    Attributes:
        draws: calls to average where the loss is random; the means may then differ by five standard errors
        tolerance: how far two losses may differ, relatively, beyond that
        without_gradient: names of trainable parameters that this loss rightly does not reach
    """

    draws: ClassVar[int] = 1
    tolerance: ClassVar[float] = 1e-4
    without_gradient: ClassVar[Sequence[str]] = ()

    def make(self) -> Objective:
        """Return a new objective."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def example(self) -> Example:
        """Return a new small model and a batch: tensors of B >= 3 different rows each; the same ones at every call."""
        raise NotImplementedError(f"{type(self).__name__} must define example(self)")

    def damaged(self) -> Mapping[str, Mapping[str, Any]]:
        """Return batches to be refused, by what is wrong with them: without rows, and with a NaN in each float."""
        batch = self.example()[1]
        poisoned = {name: with_nan(value) for name, value in batch.items()}
        nans = {f"NaN in {name!r}": {**batch, name: value} for name, value in poisoned.items() if value is not None}
        return {"a batch without rows": rows(batch, []), **nans}

    def test_loss_is_a_finite_scalar_with_gradient(self) -> None:
        loss, _ = self.make()(*self.example())
        self.check(isinstance(loss, torch.Tensor), f"the loss must be a tensor (got {type(loss).__name__})")
        self.check(loss.shape == (), f"the loss must be a scalar (got shape {tuple(loss.shape)})")
        self.check(loss.is_floating_point() and loss.isfinite(), f"the loss must be a finite float (got {loss})")
        self.check(loss.requires_grad, "the loss has no gradient")

    def test_logs_are_numbers(self) -> None:
        _, logs = self.make()(*self.example())
        self.check(isinstance(logs, Mapping), f"logs must be a mapping (got {type(logs).__name__})")
        for name, value in logs.items():
            self.check(isinstance(name, str), f"a log's name must be a string (got {name!r})")
            number = isinstance(value, (int, float)) and math.isfinite(value)
            self.check(number, f"logs[{name!r}] must be a finite float, no tensor (got {value!r})")

    def test_gradient_reaches_the_whole_model(self) -> None:
        model, batch = self.example()
        self.make()(model, batch)[0].backward()  # type: ignore[no-untyped-call]
        reached = {name: p.grad for name, p in model.named_parameters() if p.requires_grad}
        missed = [name for name, grad in reached.items() if grad is None and name not in self.without_gradient]
        self.check(not missed, f"no gradient reaches {missed}; name them in without_gradient if that is right")
        grads = [grad for grad in reached.values() if grad is not None]
        self.check(all(grad.isfinite().all() for grad in grads), "a gradient is not finite")
        self.check(any(grad.any() for grad in grads), "every gradient is zero")

    def test_same_seed_gives_the_same_loss(self) -> None:
        first, second = self._losses(draws=1), self._losses(draws=1)
        self.check(first == second, f"one seed gives the losses {first[0]} and {second[0]}")

    def test_second_call_gives_the_same_loss(self) -> None:
        objective, (model, batch) = self.make(), self.example()
        first, second = self._loss(objective, model, batch), self._loss(objective, model, batch)
        self.check(first == second, f"the same model, batch and seed give {first} at first and then {second}")

    def test_order_of_rows_does_not_matter(self) -> None:
        self._check_close(self._losses(), self._losses(seed=100, backward=True), "the rows in another order")

    def test_model_and_batch_are_not_changed(self) -> None:
        model, batch = self.example()
        before, print_before, training = weights(model), fingerprint(batch), model.training
        self.make()(model, batch)
        parameters = dict(model.named_parameters())
        moved = [name for name in changed(before, model) if name in parameters]
        self.check(not moved, f"the objective changed the parameters {moved}: that is the optimizer's to do")
        self.check(all(p.grad is None for p in parameters.values()), "the objective called backward itself")
        self.check(model.training == training, "the objective left the model in another mode")
        self.check(fingerprint(batch) == print_before, "the objective changed the batch")

    def test_damaged_batches_are_refused(self) -> None:
        model, _ = self.example()
        for what, batch in self.damaged().items():
            self.check_refused(partial(self.make(), model, batch), ValueError, what)

    def test_double_precision_is_kept(self) -> None:
        model, batch = self.example()
        double = {name: _double(value) for name, value in batch.items()}
        loss, _ = self.make()(model.double(), double)
        self.check(loss.dtype == torch.float64, f"a float64 model and batch give a loss in {loss.dtype}")

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        device = require_gpu()
        self._check_close(self._losses(), self._losses(seed=100, device=device), "the GPU")

    def _losses(
        self, *, seed: int = 0, backward: bool = False, device: str = "cpu", draws: int | None = None
    ) -> list[float]:
        model, batch = self.example()
        size = max(len(value) for value in batch.values() if getattr(value, "ndim", 0))
        if backward:
            batch = rows(batch, range(size)[::-1])
        batch = {name: value.to(device) if hasattr(value, "to") else value for name, value in batch.items()}
        objective, model = self.make(), model.to(device)
        return [self._loss(objective, model, batch, seed=seed + draw) for draw in range(draws or self.draws)]

    def _loss(self, objective: Objective, model: torch.nn.Module, batch: Mapping[str, Any], *, seed: int = 0) -> float:
        disturb(seed)
        return objective(model, batch)[0].item()

    def _check_close(self, here: list[float], there: list[float], what: str) -> None:
        a, b = statistics.fmean(here), statistics.fmean(there)
        error = 0.0
        if self.draws > 1:
            error = math.sqrt((statistics.variance(here) + statistics.variance(there)) / self.draws)
        allowed = 5 * error + self.tolerance * max(abs(a), abs(b))
        self.check(abs(a - b) <= allowed, f"the mean loss is {a}, with {what} {b}: more apart than {allowed}")


def _double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
