"""The generators' contract accepts a generator and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from iclr26_core.testing import GeneratorContract
from verdict import failing, names_of


class Gaussian:
    """Samples from the normal distribution with the data's mean and covariance."""

    def fit(self, data: np.ndarray) -> Self:
        if len(data) == 0 or not np.isfinite(data).all():
            raise ValueError(f"data must have rows of finite numbers (got shape {np.shape(data)})")
        self.mean, self.root = data.mean(axis=0), np.linalg.cholesky(np.cov(data.T) + 1e-9 * np.eye(data.shape[1]))
        return self

    def sample(self, n: int, *, seed: int) -> np.ndarray:
        if not hasattr(self, "mean"):
            raise RuntimeError("sample needs a fitted generator: call fit first")
        if n < 1:
            raise ValueError(f"n must be >= 1 (got {n})")
        return self.mean + np.random.default_rng(seed).normal(size=(n, len(self.mean))) @ self.root.T


class TestGaussian(GeneratorContract):
    method = "gaussian"

    def make(self) -> Any:
        return Gaussian()

    def example(self) -> Any:
        return np.random.default_rng(0).normal(size=(40, 2)) @ np.array([[2.0, 1.0], [0.0, 1.0]]) + 3


class RoundedGaussian(Gaussian):
    def sample(self, n: int, *, seed: int) -> Any:
        return super().sample(n, seed=seed).round().astype(np.int64)


class FitReturnsACopy(Gaussian):
    def fit(self, data: Any) -> Self:
        return copy.copy(super().fit(data))


class SamplesAList(Gaussian):
    def sample(self, n: int, *, seed: int) -> Any:
        return super().sample(n, seed=seed).tolist()


class SamplesOneMore(Gaussian):
    def sample(self, n: int, *, seed: int) -> Any:
        samples = super().sample(n, seed=seed)
        return np.concatenate([samples, samples[:1]])


class SamplesInSinglePrecision(Gaussian):
    def sample(self, n: int, *, seed: int) -> Any:
        return super().sample(n, seed=seed).astype(np.float32)


class IgnoresItsSeed(Gaussian):
    def sample(self, n: int, *, seed: int) -> Any:
        return super().sample(n, seed=np.random.randint(1 << 30))  # noqa: NPY002


class SeedsItself(Gaussian):
    def sample(self, n: int, *, seed: int) -> Any:
        return super().sample(n, seed=0)


class RemembersLastSample(Gaussian):
    calls = 0

    def sample(self, n: int, *, seed: int) -> Any:
        self.calls += 1
        return super().sample(n, seed=seed + self.calls)


class FitsAtRandom(Gaussian):
    def fit(self, data: Any) -> Self:
        super().fit(data)
        self.mean = self.mean + 1e-6 * np.random.random()  # noqa: NPY002
        return self


class IgnoresTheData(Gaussian):
    def fit(self, data: Any) -> Self:
        super().fit(data)
        self.mean, self.root = np.zeros(data.shape[1]), np.eye(data.shape[1])
        return self


class SamplesUnfitted(Gaussian):
    mean, root = np.zeros(2), np.eye(2)


class SamplesNothing(Gaussian):
    def sample(self, n: int, *, seed: int) -> Any:
        return super().sample(n, seed=seed) if n > 0 else np.zeros((0, 2))


class TakesNaN(Gaussian):
    def fit(self, data: Any) -> Self:
        return super().fit(np.nan_to_num(data))


class SortsTheData(Gaussian):
    def fit(self, data: Any) -> Self:
        data.sort(axis=0)
        return super().fit(data)


class RoundsWhenSaved(Gaussian):
    def __getstate__(self) -> dict[str, Any]:
        return {"mean": self.mean.round(3), "root": self.root}


BROKEN: dict[type[Gaussian], set[str]] = {
    FitReturnsACopy: {"test_fit_returns_self"},
    SamplesAList: {"test_samples_have_the_form_of_the_data"},
    SamplesOneMore: {"test_samples_have_the_form_of_the_data"},
    SamplesInSinglePrecision: {"test_samples_have_the_form_of_the_data"},
    IgnoresItsSeed: {
        "test_same_seed_gives_the_same_samples",
        "test_two_fits_of_one_seed_are_the_same",
        "test_saved_generator_draws_the_same",
    },
    SeedsItself: {"test_another_seed_gives_other_samples"},
    RemembersLastSample: {"test_same_seed_gives_the_same_samples"},
    FitsAtRandom: {"test_two_fits_of_one_seed_are_the_same"},
    IgnoresTheData: {"test_samples_follow_the_data"},
    SamplesUnfitted: {"test_sample_before_fit_is_refused"},
    SamplesNothing: {"test_impossible_numbers_of_samples_are_refused"},
    TakesNaN: {"test_damaged_data_is_refused"},
    SortsTheData: {"test_fit_does_not_change_data"},
    RoundsWhenSaved: {"test_saved_generator_draws_the_same"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_generator_fails_where_it_is_broken(broken: type[Gaussian], tmp_path: Path) -> None:
    class Broken(TestGaussian):
        def make(self) -> Any:
            return broken()

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


class TestRoundedGaussian(TestGaussian):
    """Data may be counts."""

    method = "rounded-gaussian"

    def make(self) -> Any:
        return RoundedGaussian()

    def example(self) -> Any:
        return np.random.default_rng(0).poisson(5, size=(40, 2))


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(GeneratorContract)
