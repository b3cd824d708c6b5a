"""The contract of generators: fit data, then draw samples that look like it, by a seed. Needs numpy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from iclr26_core.interfaces import Generator
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.damage import rows, with_nan
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb
from iclr26_core.testing.restore import through_pickle
from iclr26_core.testing.unchanged import fingerprint


class GeneratorContract(Contract, sealed=True):
    """Checks a generator on the author's data; it is fitted about ten times, so keep the data and the fit short.

    Override ``make`` and ``example``; ``as_array`` where the data is no array; ``damaged`` for more that must be
    refused; ``restored`` where the generator has its own way to be saved.

    Attributes:
        samples: how many to draw; few are enough, unless the data varies much
    """

    samples: ClassVar[int] = 32

    def make(self) -> Generator:
        """Return a new generator, not fitted, with a fixed seed. With a GPU path: ``make(self, device="cpu")``."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def example(self) -> Any:
        """Return data of N >= 8 rows that differ much in their sums; the same data at every call."""
        raise NotImplementedError(f"{type(self).__name__} must define example(self)")

    def as_array(self, data: Any) -> np.ndarray:
        """Return data or samples, one row each, as a numpy array (n, …)."""
        return np.asarray(data)

    def damaged(self) -> Mapping[str, Any]:
        """Return data to be refused, by what is wrong with it: without rows, and with a NaN if it has floats."""
        data = self.example()
        nan = with_nan(data)
        return {"data without rows": rows(data, []), **({} if nan is None else {"data with NaN": nan})}

    def restored(self, generator: Generator, folder: Path) -> Generator:
        """Return the fitted generator, saved into the empty folder and loaded again; here through pickle."""
        return through_pickle(generator, folder)

    def test_fit_returns_self(self) -> None:
        generator = self.make()
        self.check(generator.fit(self.example()) is generator, "fit must return self")

    def test_samples_have_the_form_of_the_data(self) -> None:
        data, generator = self.example(), self._fitted()
        for n in (1, self.samples):
            samples = generator.sample(n, seed=0)
            same = type(samples) is type(data)
            self.check(same, f"samples must be {type(data).__name__}, as the data is (got {type(samples).__name__})")
            here, there = self.as_array(samples), self.as_array(data)
            shape = (n, *there.shape[1:])
            self.check(here.shape == shape, f"{n} samples must have shape {shape} (got {here.shape})")
            self.check(here.dtype == there.dtype, f"samples must be {there.dtype}, as the data is (got {here.dtype})")
            self.check(here.dtype.kind not in "fc" or np.isfinite(here).all(), "samples must be finite")

    def test_same_seed_gives_the_same_samples(self) -> None:
        generator = self._fitted()
        disturb(1)
        first = self._drawn(generator)
        disturb(2)
        self.check(np.array_equal(first, self._drawn(generator)), "one seed gives two sets of samples")

    def test_another_seed_gives_other_samples(self) -> None:
        generator = self._fitted()
        first, second = self._drawn(generator), self._drawn(generator, seed=1)
        self.check(not np.array_equal(first, second), "seeds 0 and 1 give the same samples")

    def test_two_fits_of_one_seed_are_the_same(self) -> None:
        data = self.example()
        disturb(1)
        first = self._drawn(self.make().fit(data))
        disturb(2)
        second = self._drawn(self.make().fit(data))
        self.check(np.array_equal(first, second), "two generators of one seed differ after fit")

    def test_samples_follow_the_data(self) -> None:
        data = self.example()
        array = self.as_array(data)
        order = array.reshape(len(array), -1).sum(axis=1).argsort().tolist()
        half = len(order) // 2
        low, high = (self._drawn(self.make().fit(rows(data, part))) for part in (order[:half], order[half:]))
        means = f"{low.mean()} and {high.mean()}"
        self.check(
            low.mean() < high.mean(), f"fitted on the low and on the high half of the data, samples have means {means}"
        )

    def test_sample_before_fit_is_refused(self) -> None:
        self.check_refused(lambda: self.make().sample(1, seed=0), RuntimeError, "sample before fit")

    def test_impossible_numbers_of_samples_are_refused(self) -> None:
        generator = self._fitted()
        for n in (0, -1):
            self.check_refused(partial(generator.sample, n, seed=0), ValueError, f"sample({n})")

    def test_damaged_data_is_refused(self) -> None:
        self.check(self.damaged(), "damaged() must name at least one kind of data to refuse")
        for what, data in self.damaged().items():
            self.check_refused(partial(self.make().fit, data), ValueError, what)

    def test_fit_does_not_change_data(self) -> None:
        data = self.example()
        before = fingerprint(data)
        generator = self.make().fit(data)
        self._drawn(generator)
        self.check(fingerprint(data) == before, "fit or sample changed the data")

    def test_saved_generator_draws_the_same(self, tmp_path: Path) -> None:
        generator = self._fitted()
        loaded = self.restored(generator, tmp_path)
        self.check(np.array_equal(self._drawn(generator), self._drawn(loaded)), "a restored generator differs")

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        generator = self.make(device=require_gpu(self.make)).fit(self.example())  # type: ignore[call-arg]
        there, here = self._drawn(generator).astype(float), self._drawn(self._fitted()).astype(float)
        self.check(np.array_equal(there, self._drawn(generator)), "one seed gives two sets of samples on the GPU")
        error = 5 * np.sqrt((here.var(axis=0) + there.var(axis=0)) / len(here)) + 1e-6
        near = np.abs(here.mean(axis=0) - there.mean(axis=0)) <= error
        self.check(near.all(), "the means of samples from GPU and CPU are more than five standard errors apart")

    def _fitted(self) -> Generator:
        return self.make().fit(self.example())

    def _drawn(self, generator: Generator, *, seed: int = 0) -> np.ndarray:
        return self.as_array(generator.sample(self.samples, seed=seed))
