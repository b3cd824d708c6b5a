# mypy: disable-error-code="import-untyped, func-returns-value"
"""The contract of estimators: scikit-learn's own checks, and ours on the author's data. Needs scikit-learn >= 1.8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from iclr26_core.testing.contract import Contract
from iclr26_core.testing.damage import rows, with_nan
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb
from iclr26_core.testing.restore import through_pickle
from iclr26_core.testing.unchanged import fingerprint


class EstimatorContract(Contract, sealed=True):
    """Checks a scikit-learn estimator, with every check that scikit-learn has for its kind as a test of its own.

    Override ``make``; ``example`` where two clouds of three features do not fit; ``damaged`` for more to refuse.

    Attributes:
        expected_failed_checks: names of scikit-learn's checks that must fail, each with the reason; one that passes
            is a failure
        tolerance: how far an output may move, absolutely, when the same row comes in another batch
        gpu_tolerance: how far it may move, absolutely, when the estimator is made on the GPU
    """

    expected_failed_checks: ClassVar[Mapping[str, str]] = {}
    tolerance: ClassVar[float] = 1e-6
    gpu_tolerance: ClassVar[float] = 1e-3

    def make(self) -> Any:
        """Return a new estimator, not fitted, with a fixed ``random_state``. GPU: ``make(self, device="cpu")``."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def example(self) -> tuple[Any, Any]:
        """Return X with N >= 4 rows (an array, or a mapping of arrays) and (N,) y or None; the same at every call."""
        y = np.repeat([0, 1], 20)
        return np.random.default_rng(0).normal(size=(40, 3)) + 4 * y[:, None], y

    def damaged(self) -> Mapping[str, tuple[Any, Any]]:
        """Return data to be refused by ``fit``, by what is wrong with it: without rows, and with a NaN."""
        X, y = self.example()
        return {"data without rows": (rows(X, []), None if y is None else y[:0]), "data with NaN": (with_nan(X), y)}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make scikit-learn's checks the cases of ``test_scikit_learn_check``."""
        if metafunc.function.__name__ == "test_scikit_learn_check":
            mark = self.scikit_learn_checks().mark
            metafunc.parametrize(*mark.args, **mark.kwargs)

    def scikit_learn_checks(self) -> pytest.MarkDecorator:
        """Return scikit-learn's checks of this estimator as it hands them to pytest."""
        expected = dict(self.expected_failed_checks)
        checks: pytest.MarkDecorator = parametrize_with_checks(
            [self.make()], expected_failed_checks=lambda _: expected, xfail_strict=True
        )
        return checks

    def test_scikit_learn_check(self, estimator: Any, check: Callable[[Any], None]) -> None:
        self.check(check(estimator) is None, "a check of scikit-learn returns nothing")

    def test_expected_failed_checks_exist_and_have_reasons(self) -> None:
        known = {check.func.__name__ for _, check in estimator_checks_generator(self.make())}
        for name, reason in self.expected_failed_checks.items():
            self.check(name in known, f"expected_failed_checks names {name!r}, which is no check for this estimator")
            self.check(reason.strip(), f"expected_failed_checks gives no reason for {name!r}")

    def test_fit_returns_self(self) -> None:
        estimator = self.make()
        self.check(estimator.fit(*self.example()) is estimator, "fit must return self")

    def test_output_is_one_finite_row_per_example(self) -> None:
        X, size = self.example()[0], self._size()
        output = self._output(self._fitted(), X)
        self.check(len(output) == size, f"{size} rows must give {size} outputs (got {len(output)})")
        self.check(output.dtype.kind not in "fc" or np.isfinite(output).all(), "outputs must be finite")

    def test_same_random_state_gives_the_same_output(self) -> None:
        X, y = self.example()
        disturb(1)
        first = self._output(self.make().fit(X, y), X)
        disturb(2)
        second = self._output(self.make().fit(X, y), X)
        self.check(np.array_equal(first, second), "two fits of one random_state differ")

    def test_order_and_batch_do_not_matter(self) -> None:
        X, size, estimator = self.example()[0], self._size(), self._fitted()
        expected = self._output(estimator, X)
        backward = self._output(estimator, rows(X, range(size)[::-1]))[::-1]
        alone = np.concatenate([self._output(estimator, rows(X, [i])) for i in range(size)])
        self._check_close(backward, expected, self.tolerance, "rows in another order")
        self._check_close(alone, expected, self.tolerance, "rows one at a time")

    def test_inputs_are_not_changed(self) -> None:
        data = self.example()
        before = fingerprint(data)
        self._output(self.make().fit(*data), data[0])
        self.check(fingerprint(data) == before, "fit, predict or transform changed X or y")

    def test_saved_estimator_gives_the_same_output(self, tmp_path: Path) -> None:
        X, estimator = self.example()[0], self._fitted()
        loaded = through_pickle(estimator, tmp_path)
        self._check_close(self._output(loaded, X), self._output(estimator, X), 0.0, "a restored estimator")

    def test_clone_has_the_same_parameters(self) -> None:
        estimator = self._fitted()
        here, there = estimator.get_params(), clone(estimator).get_params()
        self.check(fingerprint(here) == fingerprint(there), f"a clone of the fitted estimator has {there}, not {here}")

    def test_unknown_parameter_is_refused(self) -> None:
        self.check_refused(lambda: self.make().set_params(no_such_parameter=1), ValueError, "an unknown parameter")

    def test_use_before_fit_is_refused(self) -> None:
        self.check_refused(lambda: self._output(self.make(), self.example()[0]), NotFittedError, "use before fit")

    def test_damaged_data_is_refused(self) -> None:
        for what, (X, y) in self.damaged().items():
            self.check_refused(partial(self.make().fit, X, y), ValueError, what)

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        X = self.example()[0]
        there = self.make(device=require_gpu(self.make)).fit(*self.example())  # type: ignore[call-arg]
        self._check_close(self._output(there, X), self._output(self._fitted(), X), self.gpu_tolerance, "the GPU")

    def _fitted(self) -> Any:
        return self.make().fit(*self.example())

    def _size(self) -> int:
        X = self.example()[0]
        return len(next(iter(X.values())) if isinstance(X, Mapping) else X)

    def _output(self, estimator: Any, X: Any) -> np.ndarray:
        return np.asarray(estimator.transform(X) if hasattr(estimator, "transform") else estimator.predict(X))

    def _check_close(self, here: np.ndarray, there: np.ndarray, tolerance: float, what: str) -> None:
        same = np.array_equal(here, there) or bool(np.abs(here - there).max() <= tolerance)
        self.check(same, f"{what}: the output differs by more than {tolerance}")
