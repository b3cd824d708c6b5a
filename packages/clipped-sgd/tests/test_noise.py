"""Oracle 12: moments against formulae, quadrature and independent densities; samplers against scipy's laws."""

import math
from itertools import pairwise

import numpy as np
import pytest
from iclr26_clipped_sgd import Gaussian, Pareto, StudentT, SymmetricStable, sigma_for
from scipy import integrate, stats


def moment_by_quadrature(density, p, cuts):
    pieces = [integrate.quad(lambda x: abs(x) ** p * density(x), a, b, limit=500)[0] for a, b in pairwise(cuts)]
    return sum(pieces)


def test_oracle_12_student_t_moment():
    closed = 3**0.75 * math.gamma(1.25) * math.gamma(0.75) / (math.sqrt(math.pi) * math.gamma(1.5))
    assert StudentT(3.0).abs_moment(1.5) == pytest.approx(closed, rel=1e-12)
    integral = moment_by_quadrature(stats.t(3).pdf, 1.5, [-np.inf, -10, 0, 10, np.inf])
    assert StudentT(3.0).abs_moment(1.5) == pytest.approx(integral, rel=1e-6)


def test_oracle_12_stable_moments():
    assert SymmetricStable(1.5).abs_moment(1.0) == pytest.approx(2 * math.gamma(1 / 3) / math.pi, rel=1e-12)
    assert SymmetricStable(1.5).abs_moment(1.0) == pytest.approx(1.70546, abs=1e-5)
    assert SymmetricStable(2.0).abs_moment(2.0) == pytest.approx(2.0, rel=1e-12)


def test_stable_moments_are_continuous_at_the_normal_law():
    assert SymmetricStable(2.0 - 1e-9).abs_moment(1.3) == pytest.approx(SymmetricStable(2.0).abs_moment(1.3), rel=1e-7)


def test_stable_moment_equals_the_quadrature_of_scipys_density():
    law = stats.levy_stable(1.5, 0.0)
    body = 2 * moment_by_quadrature(law.pdf, 0.7, [0.0, 1.0, 10.0, 50.0])
    # beyond 50 the density is C x^-2.5 (1 + O(x^-1.5)): C = a Gamma(a) sin(pi a/2)/pi
    tail = 2 * 1.5 * math.gamma(1.5) * math.sin(0.75 * math.pi) / math.pi * 50.0**-0.8 / 0.8
    assert SymmetricStable(1.5).abs_moment(0.7) == pytest.approx(body + tail, rel=1e-4)


@pytest.mark.parametrize(("tail", "p"), [(2.001, 2.0), (2.001, 1.5), (1.6, 1.3), (3.0, 1.7), (5.0, 2.0)])
def test_pareto_moment_equals_quadrature_in_the_uniform(tail, p):
    """E|U^(-1/a) - m|^p with u = e^-t; right of the mean (e^(t/a) - m)^p e^-t = e^(-rate t) (1 - m e^(-t/a))^p."""
    mean = tail / (tail - 1)
    cut, rate = tail * math.log(mean), 1 - p / tail
    left = integrate.quad(lambda t: (mean - math.exp(t / tail)) ** p * math.exp(-t), 0, cut, epsrel=1e-12)[0]
    missing = lambda t: math.exp(-rate * t) * ((1 - mean * math.exp(-t / tail)) ** p - 1)  # noqa: E731
    right = math.exp(-rate * cut) / rate
    right += sum(integrate.quad(missing, a, b, epsrel=1e-12)[0] for a, b in ((cut, cut + 5), (cut + 5, cut + 100)))
    assert Pareto(tail).abs_moment(p) == pytest.approx(left + right, rel=1e-9)


def test_gaussian_moments():
    assert Gaussian().abs_moment(1.0) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-14)
    assert Gaussian().abs_moment(2.0) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(
    ("noise", "law"),
    [
        (Gaussian(), stats.norm()),
        (StudentT(2.1), stats.t(2.1)),
        (Pareto(2.001), stats.pareto(2.001, loc=-2.001 / 1.001)),
        (SymmetricStable(2.0), stats.norm(scale=math.sqrt(2))),
        (SymmetricStable(1.5), stats.levy_stable(1.5, 0.0)),
        (SymmetricStable(1.1), stats.levy_stable(1.1, 0.0)),
    ],
    ids=repr,
)
def test_samples_follow_the_law(noise, law):
    samples = noise.sample(2000, np.random.default_rng(1))
    assert samples.dtype == np.float64
    assert stats.kstest(samples, law.cdf).pvalue > 0.01


@pytest.mark.parametrize("noise", [Gaussian(), StudentT(2.1), Pareto(2.001), SymmetricStable(1.5)], ids=repr)
def test_samples_have_their_shape_and_repeat_under_a_seed(noise):
    draw = lambda: noise.sample((3, 4), np.random.default_rng(5))  # noqa: E731
    assert draw().shape == (3, 4)
    np.testing.assert_array_equal(draw(), draw())


@pytest.mark.parametrize("noise", [StudentT(1.9), Pareto(1.9), SymmetricStable(1.9)], ids=repr)
def test_moments_are_infinite_from_the_tail_index_on(noise):
    assert noise.tail_index == 1.9
    assert noise.abs_moment(1.9) == math.inf
    assert math.isfinite(noise.abs_moment(1.89))
    with pytest.raises(ValueError, match=r"alpha must be < tail index = 1.9.*got 2.0"):
        sigma_for(noise, 2.0, 10)


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.0])
def test_sigma_bounds_the_moment_of_the_norm(alpha):
    noise, n, scale = StudentT(6.0), 7, 0.3
    norms = np.linalg.norm(scale * noise.sample((200_000, n), np.random.default_rng(0)), axis=1)
    assert np.mean(norms**alpha) ** (1 / alpha) <= sigma_for(noise, alpha, n, scale) * 1.01
    if alpha == 2.0:
        assert np.mean(norms**2) ** 0.5 == pytest.approx(sigma_for(noise, 2.0, n, scale), rel=0.02)


@pytest.mark.parametrize("kind", [StudentT, Pareto, SymmetricStable])
@pytest.mark.parametrize("tail", [1.0, 0.5, math.nan, math.inf])
def test_bad_tails_are_refused(kind, tail):
    with pytest.raises(ValueError, match=rf"tail must be in .*got {tail}"):
        kind(tail)


def test_stable_index_above_two_is_refused():
    with pytest.raises(ValueError, match=r"\(1, 2\] \(got 2.5\)"):
        SymmetricStable(2.5)


def test_moment_orders_must_be_positive():
    with pytest.raises(ValueError, match="p must be > 0"):
        Gaussian().abs_moment(0.0)
