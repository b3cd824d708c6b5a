"""Oracle 13, and the estimators' laws."""

import sys

import numpy as np
import pytest
from iclr26_clipped_sgd import (
    SymmetricStable,
    estimate_sigma,
    hill,
    hill_double_bootstrap,
    hill_path,
    minibatch_sigma,
    stable_index,
)
from iclr26_core.errors import MissingExtra


def pareto(tail, m, seed=0):
    return np.random.default_rng(seed).random(m) ** (-1 / tail)


def test_oracle_13_hill_on_exact_pareto():
    estimate = hill(pareto(1.5, 100_000), k=5000)
    assert estimate.alpha == pytest.approx(1.5, abs=0.07)
    assert estimate.stderr == pytest.approx(estimate.alpha / np.sqrt(5000))


def test_oracle_13_stable_index():
    estimates = [stable_index(SymmetricStable(1.4).sample(10_000, np.random.default_rng(seed))) for seed in range(50)]
    assert estimates[0] == pytest.approx(1.4, abs=0.2)
    assert np.mean(estimates) == pytest.approx(1.4, abs=0.03)
    assert np.std(estimates) < 0.1


def test_stable_index_of_gaussian_data_is_two_within_its_spread():
    estimates = [stable_index(np.random.default_rng(seed).standard_normal(10_000)) for seed in range(20)]
    assert max(estimates) <= 2.0
    assert np.mean(estimates) == pytest.approx(2.0, abs=0.1)


def test_hill_equals_the_formula_term_by_term():
    samples = pareto(1.2, 30)
    ordered = sorted(samples, reverse=True)
    path = hill_path(samples)
    for k in range(1, 30):
        xi = sum(np.log(ordered[i]) for i in range(k)) / k - np.log(ordered[k])
        assert path.alpha[k - 1] == pytest.approx(1 / xi, rel=1e-10)
        assert hill(samples, k).alpha == path.alpha[k - 1]
    assert hill(samples).k == 5  # floor(sqrt(30))


def test_hill_interval_covers_the_truth_at_its_level():
    hits = [np.subtract(hill(pareto(1.5, 2000, seed), k=200).interval(), 1.5) for seed in range(400)]
    covered = np.mean([low <= 0 <= high for low, high in hits])
    assert 0.91 <= covered <= 0.98  # 95 % +- 4 standard errors of 400 draws


def test_estimates_do_not_depend_on_scale():
    samples = SymmetricStable(1.5).sample(4000, np.random.default_rng(3))
    assert hill(1e9 * samples).alpha == pytest.approx(hill(samples).alpha, rel=1e-9)
    assert stable_index(1e9 * samples) == pytest.approx(stable_index(samples), rel=1e-9)
    assert stable_index(samples + 5.0) == pytest.approx(stable_index(samples), rel=1e-9)


@pytest.mark.parametrize("m", [997, 1000, 1009])
def test_stable_index_works_for_any_number_of_samples(m):
    assert 0.8 < stable_index(SymmetricStable(1.5).sample(m, np.random.default_rng(1))) <= 2.0


def test_sigma_is_the_moment_of_the_norms():
    vectors = np.random.default_rng(0).standard_normal((500, 3))
    norms = np.linalg.norm(vectors, axis=1)
    assert estimate_sigma(vectors, 1.5) == pytest.approx(np.mean(norms**1.5) ** (1 / 1.5), rel=1e-12)
    assert estimate_sigma(norms, 1.5) == pytest.approx(estimate_sigma(vectors, 1.5), rel=1e-12)
    assert estimate_sigma(1e200 * norms, 2.0) == pytest.approx(1e200 * estimate_sigma(norms, 2.0), rel=1e-12)
    assert estimate_sigma(np.zeros(5), 1.5) == 0.0


def test_sigma_warns_when_alpha_reaches_the_tail_index():
    with pytest.warns(UserWarning, match=r"alpha must be < tail index.*got 2.0"):
        estimate_sigma(pareto(1.3, 10_000), 2.0)


@pytest.mark.parametrize("alpha", [1.3, 1.6])
def test_minibatch_sigma_bounds_the_noise_of_means(alpha):
    noise, B = SymmetricStable(1.8), 16
    draws = noise.sample((100_000, B), np.random.default_rng(0))
    one = np.mean(np.abs(draws) ** alpha) ** (1 / alpha)
    mean = np.mean(np.abs(draws.mean(axis=1)) ** alpha) ** (1 / alpha)
    assert mean <= minibatch_sigma(one, alpha, B)
    assert minibatch_sigma(one, alpha, B) == pytest.approx(2 ** (1 / alpha) * B ** ((1 - alpha) / alpha) * one)
    assert minibatch_sigma(one, alpha, 1) == one


@pytest.mark.parametrize("bad", [[1.0, np.nan], [1.0, np.inf]])
def test_nonfinite_samples_are_refused(bad):
    for estimator in (hill, hill_path, stable_index, lambda s: estimate_sigma(s, 1.5)):
        with pytest.raises(ValueError, match="finite"):
            estimator(bad * 10)


def test_degenerate_samples_are_refused():
    with pytest.raises(ValueError, match=r"at least 2 non-zero values \(got 0\)"):
        hill(np.zeros(10))
    with pytest.raises(ValueError, match="100% equal to their median"):
        stable_index(np.ones(100))
    with pytest.raises(ValueError, match=r"k must be in \[1, m\)"):
        hill(pareto(1.5, 10), k=10)
    with pytest.raises(ValueError, match="alpha"):
        estimate_sigma(np.ones(3), 1.0)
    with pytest.raises(ValueError, match=r"batch_size must be >= 1 \(got 0\)"):
        minibatch_sigma(1.0, 2.0, 0)


def test_double_bootstrap_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tailestim", None)
    with pytest.raises(MissingExtra, match=r"pip install 'iclr26-clipped-sgd\[tail\]'"):
        hill_double_bootstrap(pareto(1.5, 100))


def test_double_bootstrap_agrees_with_hill_on_exact_pareto():
    pytest.importorskip("tailestim")
    estimate = hill_double_bootstrap(pareto(1.5, 3000))
    assert estimate.alpha == pytest.approx(1.5, abs=4 * estimate.stderr)
