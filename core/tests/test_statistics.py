"""Means, intervals and paired differences: closed forms, laws, and scipy as the reference where it is installed."""

from __future__ import annotations

import math
import random

import pytest
from iclr26_core.compare.statistics import mean_interval, paired_difference, t_quantile

VALUES = [0.3, 1.7, -0.4, 2.2, 0.9]


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.95, 0.999])
def test_quantile_with_one_degree_of_freedom_is_that_of_the_cauchy_distribution(level: float) -> None:
    assert t_quantile(1, level=level) == pytest.approx(math.tan(math.pi * level / 2), rel=1e-12)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.95, 0.999])
def test_quantile_with_two_degrees_of_freedom_is_the_algebraic_one(level: float) -> None:
    assert t_quantile(2, level=level) == pytest.approx(level * math.sqrt(2 / (1 - level**2)), rel=1e-12)


def test_quantiles_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for freedom in (*range(1, 40), 99, 100, 1001):
        for level in (0.5, 0.8, 0.95, 0.999):
            expected = stats.t.ppf((1 + level) / 2, freedom)
            assert t_quantile(freedom, level=level) == pytest.approx(expected, rel=1e-11)  # both are good to 1e-12


def test_interval_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    low, high = stats.ttest_1samp(VALUES, 0).confidence_interval(0.95)
    found = mean_interval(VALUES)
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-12), pytest.approx(high, rel=1e-12))


def test_paired_interval_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    other = [0.1, 1.9, -0.9, 1.2, 0.7]
    low, high = stats.ttest_rel(VALUES, other).confidence_interval(0.95)
    found = paired_difference(dict(enumerate(VALUES)), dict(enumerate(other)))
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-11), pytest.approx(high, rel=1e-11))


def test_interval_covers_the_mean_as_often_as_it_says() -> None:
    draw = random.Random(0)
    covered = 0
    for _ in range(4000):
        found = mean_interval([draw.gauss(3, 2) for _ in range(4)])
        covered += found.low <= 3 <= found.high
    assert abs(covered / 4000 - 0.95) < 0.0138  # four standard errors of a proportion


def test_interval_moves_and_stretches_with_the_values() -> None:
    found, moved = mean_interval(VALUES), mean_interval([10 - 2 * value for value in VALUES])
    assert (moved.low, moved.high) == (pytest.approx(10 - 2 * found.high), pytest.approx(10 - 2 * found.low))


def test_order_of_values_does_not_matter() -> None:
    found, turned = mean_interval(VALUES), mean_interval(VALUES[::-1])
    assert (found.mean, found.low, found.high) == pytest.approx((turned.mean, turned.low, turned.high), rel=1e-15)


def test_one_value_has_a_mean_and_no_interval() -> None:
    found = mean_interval([2.5])
    assert (found.mean, found.low, found.high, found.n) == (2.5, None, None, 1)
    assert str(found) == "2.5"


def test_equal_values_have_an_interval_of_width_zero() -> None:
    found = mean_interval([0.1, 0.1, 0.1])
    assert found.low == found.mean == found.high


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_value_that_is_not_finite_leaves_no_interval(bad: float) -> None:
    found = mean_interval([1.0, bad, 2.0])
    assert not math.isfinite(found.mean)
    assert found.low is found.high is None


def test_paired_difference_uses_the_seeds_that_both_have() -> None:
    found = paired_difference({0: 1.0, 1: 2.0, 7: 100.0}, {1: 1.0, 0: 0.5, 9: -100.0})
    assert found == mean_interval([0.5, 1.0])


def test_paired_difference_without_common_seeds_is_none() -> None:
    assert paired_difference({0: 1.0}, {1: 1.0}) is None


def test_pairing_removes_what_the_seeds_share() -> None:
    """The reason for pairing: a seed that is hard for both widens each mean and leaves their difference alone."""
    hard = {seed: 100.0 * seed for seed in range(5)}
    better = {seed: value - 1 + 0.01 * seed for seed, value in hard.items()}
    found = paired_difference(better, hard)
    assert found is not None
    assert found.high < -0.9
    assert mean_interval(list(hard.values())).high > mean_interval(list(better.values())).low


def test_no_value_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 value"):
        mean_interval([])


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95.0, math.nan])
def test_level_out_of_range_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level must be in"):
        mean_interval([1.0, 2.0], level=level)


def test_freedom_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="freedom must be >= 1"):
        t_quantile(0)
