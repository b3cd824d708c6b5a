"""The accelerator's step, run on CPU tensors: same result as the host's, and faults that freeze the parameters."""

import math

import pytest
import torch
from iclr26_clipped_sgd import ClippedSGD, ConstantSchedule, PowerSchedule, gradient_norm
from test_optimizer import groups, parameters, run, set_gradients


class Deferred(ClippedSGD):
    """Takes the accelerator's path on every device."""

    def _step_on_host(self, moves, gradients):
        self._step_without_sync(moves, gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"weight_decay": 0.1}, {"lr": 0.5}], ids=str)
@pytest.mark.parametrize("clip", [2.0, math.inf])
def test_it_equals_the_step_on_the_host(dtype, options, clip):
    host, device = parameters(dtype=dtype), parameters(dtype=dtype)
    expected = run(ClippedSGD(groups(host), ConstantSchedule(0.1, clip), **options), host, 20)
    optimizer = Deferred(groups(device), ConstantSchedule(0.1, clip), **options)
    got = run(optimizer, device, 20)
    for a, b in zip(got, expected, strict=True):
        tolerance = 1e-13 if dtype == torch.float64 else 1e-5
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
    assert isinstance(optimizer.last_step.grad_norm, torch.Tensor)
    assert isinstance(optimizer.sync().grad_norm, float)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_fault_freezes_parameters_and_is_raised_by_the_next_step(dtype, bad):
    params = parameters(dtype=dtype)
    optimizer = Deferred(groups(params), PowerSchedule(0.1, 2.0), weight_decay=0.1)
    before = run(optimizer, params, 3)
    set_gradients(params, 3)
    params[1].grad[0, 0] = bad
    optimizer.step()
    assert all(torch.equal(p, b) for p, b in zip(params, before, strict=True))
    set_gradients(params, 4)
    with pytest.raises(FloatingPointError, match="step 3"):
        optimizer.step()
    assert all(torch.equal(p, b) for p, b in zip(params, before, strict=True))
    assert optimizer.param_groups[0]["k"] == 3
    run(optimizer, params, 1, start=5)  # after the error the run can go on
    assert optimizer.param_groups[0]["k"] == 4
    assert not any(torch.equal(p, b) for p, b in zip(params, before, strict=True))


def test_a_fault_stays_up_when_nobody_looks():
    params = parameters()
    optimizer = Deferred(groups(params), PowerSchedule(0.1, 2.0))
    before = run(optimizer, params, 1)
    optimizer._raise_fault = lambda *, wait: None  # the message has not arrived
    for k in (1, 2, 3):
        set_gradients(params, k)
        if k == 1:
            params[0].grad[0] = math.nan
        optimizer.step()
    del optimizer._raise_fault
    assert all(torch.equal(p, b) for p, b in zip(params, before, strict=True))
    with pytest.raises(FloatingPointError, match="step 1"):
        optimizer.sync()
    assert optimizer.state_dict()["param_groups"][0]["k"] == 1


def test_float32_gradients_of_any_size_keep_the_step_within_its_limit(monkeypatch):
    monkeypatch.setattr(gradient_norm, "_precision", lambda group: torch.float64)  # as on an accelerator
    for magnitude in (1e-3, 1e18, 1e30):
        x = torch.nn.Parameter(torch.zeros(1000))
        x.grad = torch.full_like(x, magnitude)
        Deferred([x], ConstantSchedule(0.5, 1e-3)).step()
        assert torch.linalg.vector_norm(x.detach().double()).item() == pytest.approx(5e-4, rel=1e-6)
