"""The detectors' contract accepts a detector and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from iclr26_core.testing import DetectorContract
from verdict import failing, names_of


class MeanDistance:
    """Scores an example by how much farther it is from the mean faithful example than from the hallucinated one."""

    def fit(self, examples: Sequence[np.ndarray], labels: Sequence[int]) -> Self:
        features, labels = self._features(examples), np.asarray(labels)
        if labels.shape != (len(features),) or not np.isin(labels, (0, 1)).all():
            raise ValueError(f"labels must be {len(features)} numbers, each 0 or 1 (got {labels})")
        self.means = [features[labels == label].mean(axis=0) for label in (0, 1)]
        return self

    def score(self, examples: Sequence[np.ndarray]) -> np.ndarray:
        if not hasattr(self, "means"):
            raise RuntimeError("score needs a fitted detector: call fit first")
        features = self._features(examples)
        faithful, hallucinated = (np.linalg.norm(features - mean, axis=1) for mean in self.means)
        return faithful - hallucinated

    def _features(self, examples: Sequence[np.ndarray]) -> np.ndarray:
        if len(examples) == 0:
            raise ValueError("examples must be at least one (got none)")
        features = np.stack([np.asarray(example, dtype=float).reshape(-1) for example in examples])
        if any(np.ndim(example) != 1 for example in examples) or not np.isfinite(features).all():
            raise ValueError("an example must be a vector of finite numbers")
        return features


class TestMeanDistance(DetectorContract):
    method = "mean-distance"

    def make(self) -> Any:
        return MeanDistance()

    def example(self) -> tuple[np.ndarray, list[int]]:
        labels = [0, 1, 1, 0, 1, 0, 0, 1]
        return np.random.default_rng(0).normal(size=(8, 3)) + 3 * np.array(labels)[:, None], labels


class FitReturnsACopy(MeanDistance):
    def fit(self, examples: Any, labels: Any) -> Self:
        return copy.copy(super().fit(examples, labels))


class ScoresAList(MeanDistance):
    def score(self, examples: Any) -> Any:
        return super().score(examples).tolist()


class ScoresAColumn(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        return super().score(examples)[:, None]


class ScoresIntegers(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        return (100 * super().score(examples)).astype(int)


class Inverted(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        return -super().score(examples)


class Constant(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        return 0 * super().score(examples)


class FitsAtRandom(MeanDistance):
    def fit(self, examples: Any, labels: Any) -> Self:
        super().fit(examples, labels)
        self.means[0] = self.means[0] + 1e-3 * np.random.random()  # noqa: NPY002
        return self


class ScoresAtRandom(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        return super().score(examples) + 1e-9 * np.random.random()  # noqa: NPY002


class CentresTheBatch(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        scores = super().score(examples)
        return scores - scores.mean()


class ScoresByPosition(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        scores = super().score(examples)
        return scores + 1e-3 * np.arange(len(scores))


class ScoresUnfitted(MeanDistance):
    means = (np.zeros(3), np.ones(3))


class RefusesUnfittedByAnotherError(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        if not hasattr(self, "means"):
            raise AttributeError("means")
        return super().score(examples)


class TakesNoExamples(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        return super().score(examples) if len(examples) else np.zeros(0)


class RefusesWithoutAMessage(MeanDistance):
    def score(self, examples: Any) -> np.ndarray:
        if len(examples) == 0:
            raise ValueError
        return super().score(examples)


class TakesAnyLabels(MeanDistance):
    def fit(self, examples: Any, labels: Any) -> Self:
        labels = [*labels, *[0] * len(examples)][: len(examples)]
        return super().fit(examples, np.minimum(labels, 1))


class TakesNaN(MeanDistance):
    def _features(self, examples: Any) -> np.ndarray:
        if len(examples) == 0:
            raise ValueError("no examples")
        return np.stack([np.nan_to_num(example).reshape(-1) for example in examples])


class RoundsInPlace(MeanDistance):
    def _features(self, examples: Any) -> np.ndarray:
        for example in examples:
            np.round(example, 3, out=example)
        return super()._features(examples)


class ForgetsDigitsWhenSaved(MeanDistance):
    def __getstate__(self) -> dict[str, Any]:
        return {"means": [mean.astype(np.float32) for mean in self.means]}


SCORING = {"test_scoring_again_gives_the_same_scores", "test_order_and_batch_do_not_matter"}
BROKEN: dict[type[MeanDistance], set[str]] = {
    FitReturnsACopy: {"test_fit_returns_self"},
    ScoresAList: {"test_scores_are_one_finite_float_per_example"},
    ScoresAColumn: {"test_scores_are_one_finite_float_per_example"},
    ScoresIntegers: {"test_scores_are_one_finite_float_per_example"},
    Inverted: {"test_hallucinated_examples_score_higher"},
    Constant: {"test_hallucinated_examples_score_higher"},
    FitsAtRandom: {"test_same_seed_gives_the_same_scores"},
    ScoresAtRandom: {
        "test_same_seed_gives_the_same_scores",
        "test_scoring_again_gives_the_same_scores",
        "test_saved_detector_scores_the_same",
    },
    CentresTheBatch: {"test_order_and_batch_do_not_matter"},
    ScoresByPosition: {"test_order_and_batch_do_not_matter"},
    ScoresUnfitted: {"test_score_before_fit_is_refused"},
    RefusesUnfittedByAnotherError: {"test_score_before_fit_is_refused"},
    TakesNoExamples: {"test_no_examples_are_refused"},
    RefusesWithoutAMessage: {"test_no_examples_are_refused"},
    TakesAnyLabels: {"test_wrong_labels_are_refused"},
    TakesNaN: {"test_damaged_examples_are_refused"},
    RoundsInPlace: {"test_inputs_are_not_changed"},
    ForgetsDigitsWhenSaved: {"test_saved_detector_scores_the_same"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_detector_fails_where_it_is_broken(broken: type[MeanDistance], tmp_path: Path) -> None:
    class Broken(TestMeanDistance):
        def make(self) -> Any:
            return broken()

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(DetectorContract)


def test_author_without_hooks_is_told_which_to_write(tmp_path: Path) -> None:
    class Broken(DetectorContract):
        method = "hookless"

    for message in failing(Broken, tmp_path).values():
        assert "NotImplementedError: Broken must define" in message


def test_examples_that_are_no_arrays_need_a_damaged_one(tmp_path: Path) -> None:
    class Broken(TestMeanDistance):
        def example(self) -> Any:
            return [row.tolist() for row in super().example()[0]], super().example()[1]

    message = failing(Broken, tmp_path, only={"test_damaged_examples_are_refused"})
    assert "must define damaged(self)" in str(message)
