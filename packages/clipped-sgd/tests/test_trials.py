"""Oracle 14, the exactness of blocks, and the batched methods against PyTorch's optimizers run by run."""

import math

import numpy as np
import pytest
import torch
from iclr26_clipped_sgd import (
    AdamTrial,
    AnytimeSchedule,
    ClippedSGD,
    ClippedTrial,
    ConstantSchedule,
    ExpectedLogistic,
    Gaussian,
    HorizonSchedule,
    NormalisedSGD,
    NormalisedTrial,
    Pareto,
    PowerSchedule,
    Quadratic,
    SGDTrial,
    StudentT,
    TrialResult,
    breast_cancer_logistic,
    merge_trials,
    run_trials,
    select_method,
    sigma_for,
)
from iclr26_clipped_sgd.simulation.trials import _draws

SCHEDULE = PowerSchedule(lr=0.3, clip=2.0, smoothness=1.0)
METHODS = [
    ClippedTrial(SCHEDULE),
    SGDTrial(SCHEDULE),
    SGDTrial(SCHEDULE, clip=1.5, name="clip-const"),
    NormalisedTrial(0.5),
    AdamTrial(0.05, decay=0.5),
]


@pytest.mark.parametrize("kind", ["anytime", "horizon"])
@pytest.mark.parametrize("sigma", [1.0, sigma_for(StudentT(2.1), 2.0, 5)], ids=["sigma=1", "unit noise"])
def test_oracle_14_the_bound_is_never_violated(kind, sigma):
    """The noise is scaled to have this sigma; at unit scale it is 10.2, ten times the gradient at the start."""
    n, K, noise = 5, 500, StudentT(2.1)
    setting = {"alpha": 2.0, "sigma": sigma, "smoothness": 1.0, "radius": 1.0}
    schedule = AnytimeSchedule(**setting) if kind == "anytime" else HorizonSchedule(**setting, horizon=K)
    scale = sigma / sigma_for(noise, 2.0, n)
    every = range(1, K + 1)
    result = run_trials(Quadratic(n), ClippedTrial(schedule), noise, K, 400, 0, every, noise_scale=scale)
    assert result.f_gap.shape == (400, K, 3)
    assert result.failure_rate(schedule.bound).max() == 0.0
    # the trivial bound L R0^2/2 is where the runs start: all end below it, at unit noise 95 % of them
    assert result.quantile(1.0 if sigma == 1.0 else 0.95)[-1].max() < 0.5


def one_run(make, repetition, problem, noise, K, scale, seed):
    """x_0..x_K of one repetition through a PyTorch optimizer on a vector."""
    x = torch.nn.Parameter(torch.from_numpy(problem.start()))
    optimizer, per_step = make(x)
    draws = _draws(problem, noise, scale, seed, range(repetition, repetition + 1))
    path = [x.detach().clone()]
    for k in range(K):
        data, noise_1N = next(draws)
        gradient = problem.gradient(x.detach()[None], data)[0]
        x.grad = gradient + noise_1N[0] if noise_1N is not None else gradient
        per_step(k)
        optimizer.step()
        path.append(x.detach().clone())
    return torch.stack(path)


def torch_form(method, x):
    """The PyTorch optimizer that a trial method stands for, and what is done before each step."""
    if isinstance(method, ClippedTrial):
        return ClippedSGD([x], method.schedule), lambda k: None
    if isinstance(method, NormalisedTrial):
        return NormalisedSGD([x], lr=method.lr), lambda k: None
    if isinstance(method, SGDTrial):
        optimizer, size = torch.optim.SGD([x], lr=1.0), method.schedule.step_size
    else:
        optimizer, size = torch.optim.Adam([x], lr=1.0), lambda k: method.lr / (k + 1) ** method.decay

    def before(k):
        optimizer.param_groups[0]["lr"] = size(k)
        if getattr(method, "clip", math.inf) < math.inf:
            x.grad *= min(1.0, method.clip / torch.linalg.vector_norm(x.grad).item())

    return optimizer, before


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize("problem", [Quadratic(7), breast_cancer_logistic(batch_size=3)], ids=["quadratic", "logistic"])
def test_the_batched_update_equals_the_torch_optimizer_on_each_repetition(method, problem):
    K, noise = 40, Pareto(2.001)
    result = run_trials(problem, method, noise, K, 4, 3, [0, 1, 17, 40], noise_scale=0.1)
    for repetition in range(4):
        path = one_run(lambda x: torch_form(method, x), repetition, problem, noise, K, 0.1, 3)
        last = problem.gap(path[[0, 1, 17, 40]])
        np.testing.assert_allclose(result.f_gap[repetition, :, 0], last, rtol=1e-9, atol=1e-13)
        uniform = problem.gap(torch.stack([path[:k].mean(dim=0) for k in (1, 17, 40)]))
        np.testing.assert_allclose(result.f_gap[repetition, 1:, 2], uniform, rtol=1e-9, atol=1e-13)


def test_the_average_is_weighted_by_the_step_sizes():
    problem, K = Quadratic(7), 30
    result = run_trials(problem, ClippedTrial(SCHEDULE), Gaussian(), K, 2, 5, [K], noise_scale=0.1)
    gamma = torch.from_numpy(SCHEDULE.table(K)["gamma"])
    for repetition in range(2):
        path = one_run(lambda x: torch_form(METHODS[0], x), repetition, problem, Gaussian(), K, 0.1, 5)
        average = (gamma[:, None] * path[:K]).sum(dim=0) / gamma.sum()
        assert result.f_gap[repetition, 0, 1] == pytest.approx(problem.gap(average[None])[0], rel=1e-9)


def test_clipped_fraction_counts_clipped_steps():
    problem, level = Quadratic(4), 1.0
    result = run_trials(problem, ClippedTrial(ConstantSchedule(0.1, level)), StudentT(2.1), 200, 3, 0, [200])
    for repetition in range(3):
        x, count = torch.from_numpy(problem.start()).clone(), 0
        draws = _draws(problem, StudentT(2.1), 1.0, 0, range(repetition, repetition + 1))
        for _ in range(200):
            g = x + next(draws)[1][0]
            count += bool(torch.linalg.vector_norm(g) > level)
            x -= 0.1 * min(1.0, level / torch.linalg.vector_norm(g).item()) * g
        assert result.clipped_fraction[repetition] == count / 200


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize(
    "problem",
    [Quadratic(50), breast_cancer_logistic(batch_size=2), ExpectedLogistic(4, held_out=500)],
    ids=["quadratic", "finite-sum", "expected"],
)
def test_results_do_not_depend_on_the_blocks(method, problem):
    options = {"K": 70, "seed": 1, "checkpoints": [3, 64, 70], "noise_scale": 0.3}
    whole = run_trials(problem, method, StudentT(2.1), reps=9, **options)
    for block in (1, 4):
        split = run_trials(problem, method, StudentT(2.1), reps=9, block=block, **options)
        np.testing.assert_array_equal(split.f_gap, whole.f_gap)
        np.testing.assert_array_equal(split.clipped_fraction, whole.clipped_fraction)
    parts = [
        run_trials(problem, method, StudentT(2.1), reps=r, first=f, **options) for f, r in ((5, 4), (0, 2), (2, 3))
    ]
    np.testing.assert_array_equal(merge_trials(parts).f_gap, whole.f_gap)


def test_runs_of_different_length_share_their_beginning():
    long = run_trials(Quadratic(5), METHODS[0], StudentT(2.1), 150, 3, 0, [20, 150])
    short = run_trials(Quadratic(5), METHODS[0], StudentT(2.1), 20, 3, 0, [20])
    np.testing.assert_array_equal(long.f_gap[:, :1], short.f_gap)


def test_another_seed_gives_another_result():
    a, b = (run_trials(Quadratic(5), METHODS[0], StudentT(2.1), 20, 3, seed, [20]).f_gap for seed in (0, 1))
    assert not np.any(a == b)


class Stopped(Exception):
    pass


def test_an_interrupted_run_continues_to_the_same_result(tmp_path):
    options = {"K": 30, "reps": 10, "seed": 2, "checkpoints": [10, 30]}
    whole = run_trials(Quadratic(5), METHODS[0], StudentT(2.1), **options)
    finished = []

    def stop_after_two(count):
        finished.append(count)
        if len(finished) == 2:
            raise Stopped

    with pytest.raises(Stopped):
        run_trials(
            Quadratic(5), METHODS[0], StudentT(2.1), **options, block=3, folder=tmp_path, on_block=stop_after_two
        )
    assert finished == [3, 3]
    (tmp_path / "block-00000006-00000009.999.tmp").write_bytes(b"half a block")
    again = []
    resumed = run_trials(
        Quadratic(5), METHODS[0], StudentT(2.1), **options, block=4, folder=tmp_path, on_block=again.append
    )
    assert again == [4]
    np.testing.assert_array_equal(resumed.f_gap, whole.f_gap)
    np.testing.assert_array_equal(resumed.clipped_fraction, whole.clipped_fraction)
    none = []
    run_trials(Quadratic(5), METHODS[0], StudentT(2.1), **options, folder=tmp_path, on_block=none.append)
    assert none == []


@pytest.mark.parametrize("change", [{"seed": 3}, {"K": 31}, {"noise_scale": 2.0}])
def test_blocks_of_another_run_are_refused(tmp_path, change):
    options = {"K": 30, "reps": 4, "seed": 2, "checkpoints": [10], "folder": tmp_path}
    run_trials(Quadratic(5), METHODS[0], StudentT(2.1), **options)
    with pytest.raises(ValueError, match="got one of another configuration"):
        run_trials(Quadratic(5), METHODS[0], StudentT(2.1), **{**options, **change})


def test_a_damaged_block_is_named(tmp_path):
    (tmp_path / "block-00000000-00000004.npz").write_bytes(b"PK damaged")
    with pytest.raises(ValueError, match=r"block-00000000-00000004.npz must be a block.*delete it"):
        run_trials(Quadratic(5), METHODS[0], None, 5, 4, 0, folder=tmp_path)


def test_blocks_stay_below_the_memory_limit():
    from iclr26_clipped_sgd.simulation.trials import _largest_block

    assert _largest_block(Quadratic(50), METHODS[0], StudentT(2.1)) == 250
    wide = _largest_block(Quadratic(100_000), METHODS[0], StudentT(2.1))
    assert 1 <= wide < 10
    assert wide * 100_000 * 64 * 8 < 2**30


def test_diverging_runs_count_as_infinite():
    with np.errstate(over="ignore", invalid="ignore"):
        result = run_trials(Quadratic(3), SGDTrial(ConstantSchedule(1e6, math.inf)), None, 200, 3, 0, [1, 200])
    assert np.isfinite(result.quantile(0.95)[0]).all()
    assert result.quantile(0.95)[1, 0] == math.inf
    assert result.failure_rate(lambda k: 1e300)[1] == 1.0


def test_summary_statistics_equal_numpy():
    f_gap = np.random.default_rng(0).exponential(size=(101, 4, 3))
    k = np.array([1, 10, 100, 1000])
    result = TrialResult(f_gap, k, np.zeros(101), "x")
    np.testing.assert_allclose(result.quantile(0.95), np.quantile(f_gap, 0.95, axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.mean(), f_gap.mean(axis=0))
    np.testing.assert_allclose(result.std(), f_gap.std(axis=0, ddof=1))
    power = TrialResult(np.ones((5, 1, 3)) * k[:, None] ** -0.3, k, np.zeros(5), "x")
    np.testing.assert_allclose(power.slope(0.9), -0.3, rtol=1e-12)
    np.testing.assert_allclose(power.slope(0.9, since=1), -0.3, rtol=1e-12)
    with pytest.raises(ValueError, match="slope"):
        power.slope(since=1000)


def test_default_checkpoints_end_at_the_last_step():
    result = run_trials(Quadratic(3), METHODS[0], None, 1000, 1, 0)
    assert result.checkpoints[0] == 1
    assert result.checkpoints[-1] == 1000
    assert len(result.checkpoints) > 15


def test_selection_returns_the_candidate_with_the_smallest_quantile():
    candidates = [NormalisedTrial(lr) for lr in (1e-3, 0.2, 50.0)]
    chosen = select_method(candidates, Quadratic(3), Gaussian(), 100, 20, 9, noise_scale=0.1)
    assert chosen == candidates[1]
    with pytest.raises(ValueError, match="iterate"):
        select_method(candidates, Quadratic(3), Gaussian(), 10, 2, 9, iterate="best")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"K": 0}, r"K must be >= 1 \(got 0\)"),
        ({"reps": 0}, r"reps must be >= 1 \(got 0\)"),
        ({"checkpoints": [5, 3]}, "checkpoints must be increasing"),
        ({"checkpoints": [11]}, r"\[0, 10\] \(got \[11\]\)"),
        ({"block": 0}, r"block must be >= 1 \(got 0\)"),
    ],
)
def test_bad_arguments_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        run_trials(Quadratic(3), METHODS[0], None, **{"K": 10, "reps": 2, "seed": 0, **change})


def test_parts_that_do_not_fit_are_refused():
    parts = [run_trials(Quadratic(3), METHODS[0], None, 5, 2, 0, [5], first=first) for first in (0, 3)]
    with pytest.raises(ValueError, match=r"expected repetition 2 \(got 3\)"):
        merge_trials(parts)
    other = run_trials(Quadratic(3), METHODS[1], None, 5, 2, 0, [5], first=2)
    with pytest.raises(ValueError, match="one method"):
        merge_trials([parts[0], other])
