"""The estimators' contract accepts an estimator and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from iclr26_core.testing import EstimatorContract
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from verdict import failing, names_of


class NearestMean(ClassifierMixin, BaseEstimator):
    """Predicts the class whose mean is nearest.

    Args:
        jitter: standard deviation of noise on the means
        random_state: seed of that noise
    """

    def __init__(self, jitter: float = 0.0, random_state: int | None = None) -> None:
        self.jitter = jitter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        means = np.stack([X[index == label].mean(axis=0) for label in range(len(self.classes_))])
        noise = np.random.default_rng(self.random_state).normal(size=means.shape)
        self.means_ = means + self.jitter * noise
        return self

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self.classes_[np.linalg.norm(X[:, None] - self.means_, axis=2).argmin(axis=1)]


class TestNearestMean(EstimatorContract):
    method = "nearest-mean"

    def make(self) -> Any:
        return NearestMean(jitter=0.01, random_state=0)


class NearestMeanOfMaps(NearestMean):
    """Takes a mapping of arrays, too, which no estimator of scikit-learn does."""

    def fit(self, X: Any, y: Any) -> Self:
        return super().fit(X["points"] if type(X) is dict else X, y)

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(X["points"] if type(X) is dict else X)


class TestNearestMeanOfMaps(EstimatorContract):
    method = "nearest-mean-of-maps"

    def make(self) -> Any:
        return NearestMeanOfMaps()

    def example(self) -> Any:
        X, y = super().example()
        return {"points": X}, y


class FitReturnsACopy(NearestMean):
    def fit(self, X: Any, y: Any) -> Self:
        return copy.copy(super().fit(X, y))


class PredictsTooMuch(NearestMean):
    def predict(self, X: Any) -> np.ndarray:
        return np.append(super().predict(X), self.classes_[0])


class IgnoresRandomState(NearestMean):
    def fit(self, X: Any, y: Any) -> Self:
        super().fit(X, y)
        self.shift_ = np.random.random()  # noqa: NPY002
        return self

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(X) + self.shift_


class CentresTheBatch(NearestMean):
    def predict(self, X: Any) -> np.ndarray:
        return super().predict(X - np.mean(X, axis=0))


class ChangesX(NearestMean):
    def fit(self, X: Any, y: Any) -> Self:
        super().fit(X, y)
        np.round(X, 3, out=X)
        return self


class RoundsWhenSaved(NearestMean):
    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "means_" in state:
            state["means_"] = np.zeros_like(state["means_"])
        return state


class ChangesItsParameters(NearestMean):
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        parameters = super().get_params(deep)
        return {**parameters, "jitter": parameters["jitter"] * (2 if hasattr(self, "means_") else 1)}


class TakesAnyParameter(NearestMean):
    def set_params(self, **params: Any) -> Self:
        known = {name: value for name, value in params.items() if name in self.get_params()}
        return super().set_params(**known)


class PredictsUnfitted(NearestMean):
    """Fails one check of scikit-learn, too."""

    def predict(self, X: Any) -> np.ndarray:
        return super().predict(X) if hasattr(self, "means_") else np.zeros(len(X))


class TakesNaN(NearestMean):
    def fit(self, X: Any, y: Any) -> Self:
        return super().fit(np.nan_to_num(X), y)


BROKEN: dict[type[NearestMean], set[str]] = {
    FitReturnsACopy: {"test_fit_returns_self"},
    PredictsTooMuch: {
        "test_output_is_one_finite_row_per_example",
        "test_order_and_batch_do_not_matter",
    },
    IgnoresRandomState: {"test_same_random_state_gives_the_same_output"},
    CentresTheBatch: {"test_order_and_batch_do_not_matter"},
    ChangesX: {"test_inputs_are_not_changed"},
    RoundsWhenSaved: {"test_saved_estimator_gives_the_same_output"},
    ChangesItsParameters: {"test_clone_has_the_same_parameters"},
    TakesAnyParameter: {"test_unknown_parameter_is_refused"},
    PredictsUnfitted: {"test_use_before_fit_is_refused"},
    TakesNaN: {"test_damaged_data_is_refused"},
}


def contract_of(made: type[NearestMean], **attributes: Any) -> type[EstimatorContract]:
    """Return the contract of an implementation."""
    return type("Broken", (TestNearestMean,), {"make": lambda self: made(random_state=0), **attributes})


def failed_checks(contract: type[EstimatorContract]) -> set[str]:
    """Return the names of scikit-learn's checks that fail, those left out that are expected to."""
    failed = set()
    for case in contract().scikit_learn_checks().args[1]:
        marks = getattr(case, "marks", ())
        estimator, check = getattr(case, "values", case)
        try:
            contract().test_scikit_learn_check(estimator, check)
        except pytest.skip.Exception:
            continue
        except Exception as error:
            if type(error).__name__ != "SkipTest" and not marks:
                failed.add(check.func.__name__)
    return failed


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_estimator_fails_where_it_is_broken(broken: type[NearestMean], tmp_path: Path) -> None:
    assert failing(contract_of(broken), tmp_path).keys() == BROKEN[broken]


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (FitReturnsACopy, "check_estimators_fit_returns_self"),
        (ChangesX, "check_readonly_memmap_input"),
        (RoundsWhenSaved, "check_estimators_pickle"),
        (TakesNaN, "check_estimators_nan_inf"),
        (PredictsUnfitted, "check_estimators_unfitted"),
    ],
)
def test_broken_estimator_fails_the_checks_of_scikit_learn(broken: type[NearestMean], check: str) -> None:
    assert check in failed_checks(contract_of(broken))


def test_good_estimator_passes_the_checks_of_scikit_learn() -> None:
    assert not failed_checks(TestNearestMean)


def test_every_test_of_the_contract_rejects_something() -> None:
    of_scikit_learn = {"test_scikit_learn_check", "test_expected_failed_checks_exist_and_have_reasons"}
    assert set().union(*BROKEN.values()) == names_of(EstimatorContract) - of_scikit_learn


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"check_no_such_thing": "a reason"}, "names 'check_no_such_thing', which is no check"),
        ({"check_estimators_unfitted": " "}, "gives no reason for 'check_estimators_unfitted'"),
    ],
)
def test_expected_failures_need_a_name_and_a_reason(expected: Any, message: str, tmp_path: Path) -> None:
    failed = failing(contract_of(PredictsUnfitted, expected_failed_checks=expected), tmp_path)
    assert message in failed["test_expected_failed_checks_exist_and_have_reasons"]


EXPECTED = """
from test_estimator_contract import {made}, TestNearestMean as Contract

class TestExpected(Contract):
    expected_failed_checks = {{"check_estimators_unfitted": "predicts zeros until it is fitted"}}

    def make(self):
        return {made}(random_state=0)

del Contract
"""


def test_expected_failure_is_an_xfail(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(EXPECTED.format(made="PredictsUnfitted"))
    result = pytester.runpytest_inprocess("-k", "test_scikit_learn_check")
    outcomes = result.parseoutcomes()
    assert outcomes["xfailed"] == 1
    assert "failed" not in outcomes


def test_expected_failure_that_passes_is_a_failure(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(EXPECTED.format(made="NearestMean"))
    result = pytester.runpytest_inprocess("-k", "test_scikit_learn_check")
    result.stdout.fnmatch_lines(["*XPASS(strict)*"])
    assert result.parseoutcomes()["failed"] == 1
