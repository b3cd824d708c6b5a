"""Oracles 8-11 and 15 on one process, and the optimizer's faults."""

import copy
import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from iclr26_clipped_sgd import AnytimeSchedule, ClippedSGD, ConstantSchedule, PowerSchedule
from iclr26_clipped_sgd.gradient_norm import global_norm
from iclr26_core.testing import require_gpu

SHAPES = ((3,), (4, 5), (2, 3, 2))


def parameters(seed=0, dtype=torch.float64, device="cpu"):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype))
        for shape in SHAPES
    ]


def set_gradients(params, k, scale=1.0):
    generator = torch.Generator().manual_seed(1000 + k)
    for p in params:
        p.grad = (scale * torch.randn(p.shape, generator=generator, dtype=torch.float64)).to(p.device, p.dtype)


def run(optimizer, params, steps, start=0, scale=1.0):
    for k in range(start, start + steps):
        set_gradients(params, k, scale)
        optimizer.step()
    return [p.detach().clone() for p in params]


def groups(params):
    return [{"params": [p]} for p in params]


def test_oracle_8_equals_a_numpy_loop_with_one_norm_over_three_groups():
    schedule = PowerSchedule(lr=0.5, clip=3.0, alpha=1.5, smoothness=1.0)
    params = parameters()
    optimizer = ClippedSGD(groups(params), schedule)
    x = [p.detach().numpy().copy() for p in params]
    clipped = 0
    for k in range(50):
        set_gradients(params, k)
        g = [p.grad.numpy() for p in params]
        norm = math.sqrt(sum((v**2).sum() for v in g))
        share = min(1.0, schedule.clip_level(k) / norm)
        clipped += share < 1
        x = [v - schedule.step_size(k) * share * u for v, u in zip(x, g, strict=True)]
        optimizer.step()
        assert optimizer.last_step.grad_norm == pytest.approx(norm, rel=1e-14)
        assert optimizer.last_step.clipped == (share < 1)
    for p, v in zip(params, x, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), v, rtol=0, atol=1e-12)
    assert 0 < clipped < 50  # both branches were taken


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("maximize", [True, False])
def test_oracle_9_without_clipping_it_is_torch_sgd_bit_for_bit(dtype, foreach, maximize):
    ours, theirs = parameters(dtype=dtype), parameters(dtype=dtype)
    optimizer = ClippedSGD(ours, ConstantSchedule(0.1, math.inf), foreach=foreach, maximize=maximize)
    got = run(optimizer, ours, 20)
    expected = run(torch.optim.SGD(theirs, lr=0.1, maximize=maximize), theirs, 20)
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))


def test_oracle_9_zero_gradient_changes_nothing():
    params = parameters()
    before = [p.detach().clone() for p in params]
    for p in params:
        p.grad = torch.zeros_like(p)
    optimizer = ClippedSGD(params, ConstantSchedule(0.1, 1.0))
    optimizer.step()
    assert all(torch.equal(p, b) for p, b in zip(params, before, strict=True))
    assert optimizer.last_step.grad_norm == 0.0
    assert not optimizer.last_step.clipped


def test_constant_clip_is_clip_grad_norm_without_its_epsilon():
    ours, theirs = parameters(), parameters()
    got = run(ClippedSGD(ours, ConstantSchedule(0.1, 0.5)), ours, 10)
    sgd = torch.optim.SGD(theirs, lr=0.1)
    for k in range(10):
        set_gradients(theirs, k)
        torch.nn.utils.clip_grad_norm_(theirs, 0.5)
        sgd.step()
    for a, b in zip(got, theirs, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=0, atol=1e-6 * 10 * 0.1)  # 1e-6/||g|| of each step's length
        assert not torch.equal(a, b)


@pytest.mark.parametrize("magnitude", [1e-30, 1e-3, 1.0, 1e18, 1e30, 3e38])
@pytest.mark.parametrize("foreach", [True, False])
def test_oracle_10_a_step_is_never_longer_than_gamma_lambda_in_float32(magnitude, foreach):
    schedule = PowerSchedule(lr=0.5, clip=min(1e-3, magnitude))
    params = [torch.nn.Parameter(torch.zeros(shape)) for shape in SHAPES]
    optimizer = ClippedSGD(groups(params), schedule, foreach=foreach)
    for p in params:
        p.grad = torch.full_like(p, magnitude)
    optimizer.step()
    length = math.sqrt(sum((p.detach().double() ** 2).sum().item() for p in params))
    limit = schedule.step_size(0) * schedule.clip_level(0)
    assert length <= limit * (1 + 1e-6)
    assert length == pytest.approx(limit, rel=1e-5)  # the gradient was above the level, so the step is full
    assert optimizer.last_step.grad_norm == pytest.approx(magnitude * math.sqrt(35), rel=1e-6)


@pytest.mark.parametrize("magnitude", [1e-300, 1e-170, 1e-30, 1.0, 1e160, 1e300])
def test_norm_neither_overflows_nor_underflows_in_float64(magnitude):
    gradients = [torch.full(shape, magnitude, dtype=torch.float64) for shape in SHAPES]
    assert global_norm(gradients) == pytest.approx(magnitude * math.sqrt(35), rel=1e-14)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_norm_of_half_precision_gradients_accumulates_in_float32(dtype):
    gradients = [torch.full((100_000,), 200.0, dtype=dtype)]  # the squares overflow float16
    assert global_norm(gradients) == pytest.approx(200 * math.sqrt(100_000), rel=1e-5)


def test_norm_of_mixed_dtypes_and_empty_tensors():
    gradients = [torch.full((4,), 2.0), torch.full((9,), 1.0, dtype=torch.float64), torch.zeros(0)]
    assert global_norm(gradients) == pytest.approx(5.0, rel=1e-12)


RESUME = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from test_optimizer import continue_from
continue_from(sys.argv[2], sys.argv[3])
"""


def fresh(params):
    schedule = AnytimeSchedule(1.5, 1.0, 1.0, 1.0, step_scale=300.0, clip_scale=10.0)
    return ClippedSGD(groups(params), schedule)


def continue_from(saved, target):
    state = torch.load(saved, weights_only=True)
    params = parameters(seed=99)
    optimizer = fresh(params)
    for p, value in zip(params, state["params"], strict=True):
        p.data.copy_(value)
    optimizer.load_state_dict(state["optimizer"])
    torch.save(run(optimizer, params, 63, start=37), target)


def test_oracle_11_a_fresh_process_resumes_bitwise(tmp_path):
    params = parameters()
    optimizer = fresh(params)
    values = run(optimizer, params, 37)
    torch.save({"params": values, "optimizer": optimizer.state_dict()}, tmp_path / "saved.pt")
    expected = run(optimizer, params, 63, start=37)
    folder = str(Path(__file__).parent)
    command = [sys.executable, "-c", RESUME, folder, str(tmp_path / "saved.pt"), str(tmp_path / "resumed.pt")]
    subprocess.run(command, check=True, timeout=120)
    resumed = torch.load(tmp_path / "resumed.pt", weights_only=True)
    assert all(torch.equal(a, b) for a, b in zip(resumed, expected, strict=True))
    assert optimizer.param_groups[0]["k"] == 100


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-5), (torch.bfloat16, 0.05)]
)
def test_oracle_15_foreach_and_dtypes_agree_to_dtype_tolerance(dtype, tolerance):
    reference = parameters()
    expected = run(ClippedSGD(reference, PowerSchedule(0.1, 2.0)), reference, 30)
    for foreach in (True, False):
        params = parameters(dtype=dtype)
        got = run(ClippedSGD(params, PowerSchedule(0.1, 2.0), foreach=foreach), params, 30)
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a.double(), b, rtol=tolerance, atol=tolerance)


def test_foreach_and_loop_agree_bitwise():
    loop, foreach = parameters(), parameters()
    a = run(ClippedSGD(loop, PowerSchedule(0.1, 2.0), foreach=False), loop, 10)
    b = run(ClippedSGD(foreach, PowerSchedule(0.1, 2.0), foreach=True), foreach, 10)
    assert all(torch.equal(u, v) for u, v in zip(a, b, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-5)])
def test_oracle_15_cuda_agrees_with_the_cpu(dtype, tolerance):
    require_gpu()
    reference, params = parameters(dtype=dtype), parameters(dtype=dtype, device="cuda")
    expected = run(ClippedSGD(reference, PowerSchedule(0.1, 2.0)), reference, 30)
    optimizer = ClippedSGD(params, PowerSchedule(0.1, 2.0))
    got = run(optimizer, params, 30)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=tolerance, atol=tolerance)
    assert isinstance(optimizer.last_step.grad_norm, torch.Tensor)
    assert isinstance(optimizer.sync().grad_norm, float)


@pytest.mark.gpu
def test_cuda_step_does_not_synchronise():
    require_gpu()
    params = parameters(dtype=torch.float32, device="cuda")
    optimizer = ClippedSGD(params, PowerSchedule(0.1, 2.0))
    run(optimizer, params, 3)
    set_gradients(params, 3)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_gradients_are_not_modified():
    params = parameters()
    set_gradients(params, 0, scale=100.0)
    before = [p.grad.clone() for p in params]
    ClippedSGD(params, ConstantSchedule(0.1, 0.5)).step()
    assert all(torch.equal(p.grad, b) for p, b in zip(params, before, strict=True))


def test_parameters_without_gradients_stay_and_do_not_count():
    params = parameters()
    set_gradients(params, 0)
    params[1].grad = None
    before = params[1].detach().clone()
    optimizer = ClippedSGD(params, ConstantSchedule(0.1, 0.5))
    optimizer.step()
    assert torch.equal(params[1], before)
    expected = math.sqrt(sum((params[i].grad ** 2).sum().item() for i in (0, 2)))
    assert optimizer.last_step.grad_norm == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nonfinite_gradients_raise_before_any_parameter_is_touched(bad):
    params = parameters()
    optimizer = ClippedSGD(groups(params), ConstantSchedule(0.1, 0.5))
    set_gradients(params, 0)
    params[2].grad[0, 0, 0] = bad
    before = [p.detach().clone() for p in params]
    with pytest.raises(FloatingPointError, match="step 0"):
        optimizer.step()
    assert all(torch.equal(p, b) for p, b in zip(params, before, strict=True))
    assert optimizer.param_groups[0]["k"] == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nonfinite_gradients_are_skipped_and_counted_on_request(bad):
    clean, params = parameters(), parameters()
    expected = run(ClippedSGD(clean, PowerSchedule(0.1, 0.5)), clean, 4)
    optimizer = ClippedSGD(groups(params), PowerSchedule(0.1, 0.5), nonfinite="skip")
    run(optimizer, params, 2)
    set_gradients(params, 77)
    params[0].grad[1] = bad
    optimizer.step()
    assert (optimizer.skipped, optimizer.param_groups[0]["k"]) == (1, 2)
    got = run(optimizer, params, 2, start=2)  # the schedule goes on as if the step had not been asked for
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))
    assert optimizer.state_dict()["param_groups"][0]["skipped"] == 1


def test_step_without_gradients_is_an_error():
    with pytest.raises(RuntimeError, match=r"step\(\) without gradients"):
        ClippedSGD(parameters(), ConstantSchedule(0.1, 0.5)).step()


def test_sparse_and_complex_are_refused():
    embedding = torch.nn.Embedding(5, 2, sparse=True)
    optimizer = ClippedSGD(embedding.parameters(), ConstantSchedule(0.1, 0.5))
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(TypeError, match=r"dense and real \(got torch.sparse_coo"):
        optimizer.step()
    with pytest.raises(TypeError, match=r"real floating point \(got torch.complex64\)"):
        ClippedSGD([torch.nn.Parameter(torch.zeros(2, dtype=torch.complex64))], ConstantSchedule(0.1, 0.5))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lr": -0.1}, r"lr must be >= 0.*got -0.1"),
        ({"lr": math.nan}, "lr.*nan"),
        ({"weight_decay": -1.0}, r"weight_decay.*-1.0"),
        ({"nonfinite": "ignore"}, "nonfinite.*'ignore'"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        ClippedSGD(parameters(), ConstantSchedule(0.1, 0.5), **options)


@pytest.mark.parametrize("empty", [[], [{"params": []}]])
def test_empty_parameter_list_is_refused(empty):
    with pytest.raises(ValueError, match="empty parameter list"):
        ClippedSGD(empty, ConstantSchedule(0.1, 0.5))


def test_schedule_must_be_a_schedule():
    with pytest.raises(TypeError, match=r"ClipSchedule \(got float\)"):
        ClippedSGD(parameters(), 0.1)


def test_weight_decay_is_decoupled_and_refused_under_a_guarantee():
    with pytest.raises(ValueError, match=r"weight_decay must be 0 with a guaranteed schedule \(got 0.1\)"):
        ClippedSGD(parameters(), AnytimeSchedule(2.0, 1.0, 1.0, 1.0), weight_decay=0.1)
    optimizer = ClippedSGD(parameters(), AnytimeSchedule(2.0, 1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="weight_decay"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))], "weight_decay": 0.1})
    assert len(optimizer.param_groups) == 1
    params = parameters()
    before = [p.detach().clone() for p in params]
    set_gradients(params, 0)
    optimizer = ClippedSGD(params, ConstantSchedule(0.1, math.inf), weight_decay=0.5)
    optimizer.step()
    for p, b in zip(params, before, strict=True):
        torch.testing.assert_close(p.detach(), b * (1 - 0.1 * 0.5) - 0.1 * p.grad, rtol=0, atol=1e-15)


def test_lr_multiplies_the_step_per_group_and_obeys_lr_schedulers():
    params = parameters()
    before = [p.detach().clone() for p in params]
    optimizer = ClippedSGD([{"params": params[:1], "lr": 0.5}, {"params": params[1:]}], ConstantSchedule(0.1, math.inf))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
    for factor in (1.0, 0.1):
        set_gradients(params, 0)
        optimizer.step()
        scheduler.step()
        before = [b - 0.1 * factor * lr * p.grad for b, lr, p in zip(before, (0.5, 1.0, 1.0), params, strict=True)]
    for p, b in zip(params, before, strict=True):
        torch.testing.assert_close(p.detach(), b, rtol=0, atol=1e-15)


def test_closure_is_called_with_gradients_enabled():
    x = torch.nn.Parameter(torch.ones(3))
    optimizer = ClippedSGD([x], ConstantSchedule(0.1, math.inf))

    def closure():
        optimizer.zero_grad()
        loss = x.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 3.0
    torch.testing.assert_close(x.detach(), torch.full((3,), 0.8))


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))], ids=["deepcopy", "pickle"])
def test_copies_continue_like_the_original(clone):
    params = parameters()
    optimizer = ClippedSGD(groups(params), PowerSchedule(0.1, 2.0), foreach=False, nonfinite="skip")
    run(optimizer, params, 5)
    twin = clone(optimizer)
    assert (twin.foreach, twin.nonfinite, twin.last_step) == (False, "skip", optimizer.last_step)
    twin_params = [p for group in twin.param_groups for p in group["params"]]
    expected, got = run(optimizer, params, 5, start=5), run(twin, twin_params, 5, start=5)
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))
    assert twin.param_groups[0]["k"] == 10


def test_state_of_another_schedule_is_refused_by_field():
    saved = ClippedSGD(parameters(), AnytimeSchedule(1.5, 1.0, 1.0, 1.0)).state_dict()
    with pytest.raises(ValueError, match=r"schedule.sigma must be 1.0 as in the state dict \(got 2.0\)"):
        ClippedSGD(parameters(), AnytimeSchedule(1.5, 2.0, 1.0, 1.0)).load_state_dict(saved)
    with pytest.raises(ValueError, match=r"schedule.kind must be 'AnytimeSchedule'.*got 'PowerSchedule'"):
        ClippedSGD(parameters(), PowerSchedule(0.1, 1.0)).load_state_dict(saved)
    with pytest.raises(ValueError, match="must hold 'schedule'"):
        ClippedSGD(parameters(), PowerSchedule(0.1, 1.0)).load_state_dict(
            torch.optim.SGD(parameters(), lr=0.1).state_dict()
        )


def test_grad_scaler_skips_steps_and_k_does_not_advance():
    x = torch.nn.Parameter(torch.ones(3))
    optimizer = ClippedSGD([x], ConstantSchedule(0.1, 1.0))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for gradient, k, clipped_length in ((2.0, 1, 0.1), (math.inf, 1, 0.0), (2.0, 2, 0.1)):
        before = x.detach().clone()
        optimizer.zero_grad()
        scaler.scale((gradient * x).sum()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        assert optimizer.param_groups[0]["k"] == k
        assert torch.linalg.vector_norm(x.detach() - before).item() == pytest.approx(clipped_length, rel=1e-5)


def test_last_step_reports_the_step_in_python_floats():
    params = parameters()
    schedule = PowerSchedule(0.1, 2.0)
    optimizer = ClippedSGD(params, schedule)
    assert optimizer.last_step is None
    run(optimizer, params, 3)
    info = optimizer.last_step.sync()
    assert (info.k, info.step_size, info.clip_level) == (2, schedule.step_size(2), schedule.clip_level(2))
    assert type(info.grad_norm) is float
    assert type(info.clipped) is bool
    assert optimizer.sync() == info


def test_default_digits_run_reaches_ninety_percent():
    """Logistic regression on scikit-learn's digits, as in the README."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    torch.manual_seed(0)
    X, y = load_digits(return_X_y=True)
    split = train_test_split(torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y), random_state=0)
    train_x, test_x, train_y, test_y = split
    model = torch.nn.Linear(64, 10)
    optimizer = ClippedSGD(model.parameters(), PowerSchedule(lr=2.0, clip=1.0))
    for _ in range(600):
        rows = torch.randint(len(train_x), (64,))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(train_x[rows]), train_y[rows]).backward()
        optimizer.step()
    assert (model(test_x).argmax(1) == test_y).float().mean().item() >= 0.90
