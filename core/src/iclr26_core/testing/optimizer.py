"""The contract of optimizers: what torch's users take for granted of a ``torch.optim.Optimizer``."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from iclr26_core.testing.contract import Contract
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb

Problem = tuple[list[torch.Tensor], Callable[[], torch.Tensor]]
STEPS = 20


class OptimizerContract(Contract, sealed=True):
    """Checks a subclass of ``torch.optim.Optimizer`` on a small convex problem.

    Override ``make``, and ``example`` where parameters must lie on a manifold or in a set.
    """

    def make(self, params: list[torch.Tensor]) -> torch.optim.Optimizer:
        """Return a new optimizer of these parameters, with settings under which it descends on ``example``."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self, params)")

    def example(self, *, dtype: torch.dtype = torch.float64, device: str = "cpu") -> Problem:
        """Return parameters and a loss of them; the same ones at every call, in this dtype and on this device."""
        generator = torch.Generator().manual_seed(0)
        target = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((3, 2), (4,), ())]
        target = [t.to(device=device, dtype=dtype) for t in target]
        params = [torch.zeros_like(t).requires_grad_() for t in target]
        return (
            params,
            lambda: torch.stack([((p - t) ** 2).sum() for p, t in zip(params, target, strict=True)]).sum() / 2,
        )

    def test_is_a_torch_optimizer(self) -> None:
        params, _ = self.example()
        self.check(isinstance(self.make(params), torch.optim.Optimizer), "is not a torch.optim.Optimizer")

    def test_loss_falls(self) -> None:
        params, loss = self.example()
        before = loss().item()
        self._run(self.make(params), loss, STEPS)
        self.check(loss().item() < before, f"the loss did not fall in {STEPS} steps: {before} to {loss().item()}")

    def test_step_returns_the_loss_of_its_closure(self) -> None:
        params, loss = self.example()
        expected = loss().item()
        returned = self._run(self.make(params), loss, 1)
        value = returned.item() if isinstance(returned, torch.Tensor) else returned
        self.check(value == pytest.approx(expected), f"step returned {returned}, not the loss {expected}")

    def test_same_problem_gives_the_same_bits(self) -> None:
        first, second = self._trajectory(STEPS, disturbed=1), self._trajectory(STEPS, disturbed=2)
        self._check_equal(first, second, "two runs from the same start differ")

    def test_saved_state_continues_bit_for_bit(self) -> None:
        params, loss = self.example()
        optimizer = self.make(params)
        self._run(optimizer, loss, STEPS // 2)
        buffer = io.BytesIO()
        torch.save({"state": optimizer.state_dict(), "params": [p.detach() for p in params]}, buffer)
        buffer.seek(0)
        saved = torch.load(buffer, weights_only=False)
        fresh, fresh_loss = self.example()
        for parameter, value in zip(fresh, saved["params"], strict=True):
            parameter.data.copy_(value)
        continued = self.make(fresh)
        continued.load_state_dict(saved["state"])
        self._run(continued, fresh_loss, STEPS - STEPS // 2)
        self._check_equal(
            fresh, self._trajectory(STEPS), "a run continued from its state_dict differs from one in a go"
        )

    def test_gradients_are_not_changed(self) -> None:
        params, loss = self.example()
        optimizer = self.make(params)
        seen: list[torch.Tensor] = []

        def closure() -> torch.Tensor:
            value = self._backward(params, loss)
            seen[:] = [p.grad.clone() for p in params if p.grad is not None]
            return value

        optimizer.step(closure)  # type: ignore[arg-type]
        self._check_equal(seen, [p.grad for p in params if p.grad is not None], "step changed the gradients")

    def test_parameter_without_gradient_stays(self) -> None:
        params, loss = self.example()
        idle = params[0].detach().clone().requires_grad_()
        optimizer = self.make([*params, idle])
        before = idle.detach().clone()
        self._run(optimizer, loss, 3)
        self.check(torch.equal(idle, before), "a parameter without a gradient moved")

    def test_no_parameters_are_refused(self) -> None:
        self.check_refused(lambda: self.make([]), ValueError, "an empty list of parameters")

    def test_copies_are_independent(self) -> None:
        params, loss = self.example()
        optimizer = self.make(params)
        self._run(optimizer, loss, 2)
        twin = copy.deepcopy(optimizer)
        before = [p.detach().clone() for p in params]
        for group in twin.param_groups:
            for parameter in group["params"]:
                parameter.data.zero_()
        self._check_equal(params, before, "changing a deep copy changes the original")

    def test_float32_follows_float64(self) -> None:
        single, double = self._trajectory(3, dtype=torch.float32), self._trajectory(3)
        for a, b in zip(single, double, strict=True):
            self.check(a.dtype == torch.float32, f"float32 parameters became {a.dtype}")
            close = torch.allclose(a.double(), b, rtol=1e-4, atol=1e-5)
            self.check(close, f"float32 and float64 differ after 3 steps by {(a - b).abs().max()}")

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        device = require_gpu()
        there = [p.cpu() for p in self._trajectory(STEPS, device=device)]
        for a, b in zip(there, self._trajectory(STEPS), strict=True):
            self.check(torch.allclose(a, b, rtol=1e-9, atol=1e-12), f"GPU and CPU differ by {(a - b).abs().max()}")

    def _trajectory(self, steps: int, *, disturbed: int = 0, **where: Any) -> list[torch.Tensor]:
        params, loss = self.example(**where)
        disturb(disturbed)
        self._run(self.make(params), loss, steps)
        return [p.detach() for p in params]

    def _run(self, optimizer: torch.optim.Optimizer, loss: Callable[[], torch.Tensor], steps: int) -> Any:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        return [optimizer.step(lambda: self._backward(params, loss)) for _ in range(steps)][-1]  # type: ignore[arg-type, return-value]

    def _backward(self, params: list[torch.Tensor], loss: Callable[[], torch.Tensor]) -> torch.Tensor:
        for parameter in params:
            parameter.grad = None
        value = loss()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    def _check_equal(self, here: Sequence[torch.Tensor], there: Sequence[torch.Tensor | None], otherwise: str) -> None:
        for a, b in zip(here, there, strict=True):
            self.check(b is not None and torch.equal(a, b), otherwise)
