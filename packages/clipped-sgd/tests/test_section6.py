"""The spec's six rows (section 6): quadratic, n = 50, x0 = e1, K = 2000, scaled schedules with L = R0 = sigma = 1."""

from functools import cache

import numpy as np
import pytest
from iclr26_clipped_sgd import AnytimeSchedule, ClippedTrial, Pareto, Quadratic, SGDTrial, SymmetricStable, run_trials

ROWS = [  # noise, alpha, step_scale, clip_scale, q95 clipped last, clipped average, SGD last
    (Pareto(2.001), 2.0, 320, 20, 9.4e-4, 1.40e-3, 4.9e-3),
    (Pareto(2.001), 2.0, 320, 80, 1.7e-3, 6.0e-4, 2.9e-3),
    (Pareto(2.001), 2.0, 1500, 400, 5.8e-3, 3.9e-4, 2.8e-2),
    (SymmetricStable(1.501), 1.5, 320, 20, 4.0e-4, 1.32e-2, 3.4e-3),
    (SymmetricStable(1.501), 1.5, 320, 80, 1.9e-3, 8.2e-3, 4.3e-3),
    (SymmetricStable(1.501), 1.5, 1500, 80, 1.04e-3, 3.4e-3, 3.6e-2),
]
NAMES = [f"row{number}" for number in range(1, 7)]


def measured(row, reps, seed):
    noise, alpha, step_scale, clip_scale = ROWS[row][:4]
    schedule = AnytimeSchedule(alpha, 1.0, 1.0, 1.0, step_scale=step_scale, clip_scale=clip_scale)
    options = {"K": 2000, "reps": reps, "seed": seed, "checkpoints": [2000], "noise_scale": 0.3 / 50 ** (1 / alpha)}
    clipped = run_trials(Quadratic(50), ClippedTrial(schedule), noise, **options)
    return *clipped.quantile(0.95)[0, :2], sgd_quantile(noise, alpha, step_scale, reps, seed), clipped


@cache
def sgd_quantile(noise, alpha, step_scale, reps, seed):
    schedule = AnytimeSchedule(alpha, 1.0, 1.0, 1.0, step_scale=step_scale)
    scale = 0.3 / 50 ** (1 / alpha)
    sgd = run_trials(Quadratic(50), SGDTrial(schedule), noise, 2000, reps, seed, [2000], noise_scale=scale)
    return sgd.quantile(0.95)[0, 0]


def exact_sgd_gaps(row, count):
    """Draws of SGD's final gap: on a quadratic each coordinate is a sum of stable noise, so it is stable itself."""
    noise, alpha, step_scale, _ = ROWS[row][:4]
    gamma = AnytimeSchedule(alpha, 1.0, 1.0, 1.0, step_scale=step_scale).table(2000)["gamma"]
    later = np.append(np.cumprod((1 - gamma)[::-1])[::-1][1:], 1.0)  # what is left of step k's noise at the end
    scale = 0.3 / 50 ** (1 / alpha) * ((gamma * later) ** noise.tail).sum() ** (1 / noise.tail)
    x = scale * noise.sample((count, 50), np.random.default_rng(0))
    x[:, 0] += np.prod(1 - gamma)
    return 0.5 * (x**2).sum(axis=1)


def check(row, reps, seed):
    last, average, sgd, _ = measured(row, reps, seed)
    assert last == pytest.approx(ROWS[row][4], rel=0.4)
    assert average == pytest.approx(ROWS[row][5], rel=0.4)
    if row in (0, 3, 5):
        assert last <= 0.5 * sgd
    if row in (0, 3):
        assert last < average
    if row in (1, 2):
        assert average < last
    return sgd


@pytest.mark.parametrize("row", [0, 1, 2], ids=NAMES[:3])
def test_pareto_row_is_reproduced(row):
    assert ROWS[row][6] / 3 <= check(row, 300, 0) <= ROWS[row][6] * 3


@pytest.mark.parametrize("row", [3, 4, 5], ids=NAMES[3:])
def test_stable_row_is_reproduced_and_sgd_follows_its_exact_law(row):
    """SGD's gap has tail index 0.75 here: the quantile of 60 repetitions spans a factor 20 (1 % to 99 %).

    So the spec's draw of 60 is compared with the exact law, and ours of 180 with the quantiles of 180 under it."""
    gaps = exact_sgd_gaps(row, 118_800)
    assert ROWS[row][6] / 3 <= np.quantile(gaps, 0.95) <= ROWS[row][6] * 3
    of_sixty = np.quantile(gaps.reshape(-1, 60), [0.95], axis=1)
    assert np.quantile(of_sixty, 0.005) <= ROWS[row][6] <= np.quantile(of_sixty, 0.995)
    of_ours = np.quantile(gaps.reshape(-1, 180), 0.95, axis=1)
    assert of_ours.min() <= check(row, 180, 0) <= of_ours.max()


@pytest.mark.slow
@pytest.mark.parametrize("row", range(6), ids=NAMES)
def test_row_is_reproduced_with_many_repetitions(row):
    assert ROWS[row][6] / 3 <= check(row, 1920, 1) <= ROWS[row][6] * 3


@pytest.mark.slow
@pytest.mark.parametrize("row", [3, 4, 5], ids=NAMES[3:])
def test_sgd_with_many_repetitions_agrees_with_its_exact_law(row):
    exact = np.quantile(exact_sgd_gaps(row, 400_000), 0.95)
    # 96 of 1920 runs lie above the quantile, +-10 %; with tail index 0.75 the quantile moves by 13 %: three of them
    assert measured(row, 1920, 1)[2] == pytest.approx(exact, rel=0.4)


@pytest.mark.slow
@pytest.mark.parametrize("row", range(6), ids=NAMES)
def test_sixty_repetitions_scatter_as_stated(row):
    """The clipped columns of 60 repetitions, 32 times: at least 28 within 40 % of the spec's single draw."""
    _, _, _, clipped = measured(row, 1920, 1)
    for column in (0, 1):
        quantiles = np.quantile(clipped.f_gap[:, 0, column].reshape(32, 60), 0.95, axis=1)
        assert np.sum(np.abs(quantiles / ROWS[row][4 + column] - 1) < 0.4) >= 28
