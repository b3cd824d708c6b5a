"""The benchmarks' contract accepts a benchmark and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from iclr26_core.testing import BenchmarkContract
from verdict import failing, names_of

CAPITALS = {"france": "Paris", "japan": "Tokyo", "kenya": "Nairobi", "peru": "Lima"}


class Capitals:
    """Asks for capitals, and scores answers by exact match."""

    gold: ClassVar[Mapping[str, str]] = CAPITALS

    def examples(self, split: str) -> Sequence[Any]:
        if split != "test":
            raise ValueError(f"split must be 'test' (got {split!r})")
        return [{"id": key, "question": f"capital of {key}?", "answer": city} for key, city in self.gold.items()]

    def evaluate(self, predictions: Mapping[str, Any]) -> Mapping[str, float]:
        unknown = predictions.keys() - self.gold.keys()
        if unknown:
            raise ValueError(f"predictions must be for ids of the benchmark (got {sorted(unknown)})")
        wrong_type = {key: answer for key, answer in predictions.items() if not isinstance(answer, str)}
        if wrong_type:
            raise ValueError(f"predictions must be strings (got {wrong_type})")
        right = sum(predictions.get(key) == city for key, city in self.gold.items())
        return {"score": right / len(self.gold), "coverage": len(predictions) / len(self.gold)}


class TestCapitals(BenchmarkContract):
    method = "capitals"

    def make(self) -> Any:
        return Capitals()

    def example(self) -> Mapping[str, Any]:
        return CAPITALS

    def wrong(self) -> Any:
        return "Atlantis"


class ShufflesEveryCall(Capitals):
    def examples(self, split: str) -> Any:
        examples = super().examples(split)
        return random.sample([*examples], len(examples))


class ShufflesOnce(Capitals):
    def __init__(self) -> None:
        self.order = random.sample(range(4), 4)

    def examples(self, split: str) -> Any:
        examples = super().examples(split)
        return [examples[i] for i in self.order]


class RepeatsAnId(Capitals):
    def examples(self, split: str) -> Any:
        return [*super().examples(split), super().examples(split)[0]]


class NumbersItsExamples(Capitals):
    def examples(self, split: str) -> Any:
        return [{**example, "id": i} for i, example in enumerate(super().examples(split))]


class GivesItsOwnList(Capitals):
    def __init__(self) -> None:
        self.held = super().examples("test")

    def examples(self, split: str) -> Any:
        return self.held if split == "test" else super().examples(split)


class TakesAnySplit(Capitals):
    def examples(self, split: str) -> Any:
        return super().examples("test")


class NamesNoSplits(Capitals):
    def examples(self, split: str) -> Any:
        if split != "test":
            raise ValueError("no such split")
        return super().examples(split)


class CountsInsteadOfScoring(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        metrics = super().evaluate(predictions)
        return {**metrics, "right": sum(CAPITALS[key] == city for key, city in predictions.items())}


class ForgetsCoverage(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        return {"score": super().evaluate(predictions)["score"]}


class ScoresNaN(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        return {**super().evaluate(predictions), "score": math.nan}


class ScoresInPercent(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        metrics = super().evaluate(predictions)
        return {**metrics, "score": 100 * metrics["score"]}


class ScoresErrors(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        metrics = super().evaluate(predictions)
        return {**metrics, "score": 1 - metrics["score"]}


class LeavesOutTheMissing(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        metrics = super().evaluate(predictions)
        return {**metrics, "score": metrics["score"] / (metrics["coverage"] or 1.0)}


class CoversAlways(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        return {**super().evaluate(predictions), "coverage": 1.0}


class ReadsPredictionsByPlace(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        metrics = super().evaluate(predictions)
        if len(predictions) < len(CAPITALS):
            return metrics
        right = sum(city == answer for city, answer in zip(CAPITALS.values(), predictions.values(), strict=True))
        return {**metrics, "score": right / len(CAPITALS)}


class AddsUpCalls(Capitals):
    calls = 0

    def evaluate(self, predictions: Any) -> Any:
        self.calls += 1
        return {**super().evaluate(predictions), "calls": float(self.calls)}


class IgnoresUnknownIds(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        return super().evaluate({key: answer for key, answer in predictions.items() if key in CAPITALS})


class DoesNotNameUnknownIds(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        if predictions.keys() - CAPITALS.keys():
            raise ValueError("some ids are unknown")
        return super().evaluate(predictions)


class TakesNaN(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        return super().evaluate({key: str(answer) for key, answer in predictions.items()})


class PopsPredictions(Capitals):
    def evaluate(self, predictions: Any) -> Any:
        metrics = super().evaluate(predictions)
        if predictions:
            predictions.pop("peru", None)
        return metrics


BROKEN: dict[type[Capitals], set[str]] = {
    ShufflesEveryCall: {"test_order_of_examples_is_fixed", "test_examples_belong_to_the_benchmark"},
    ShufflesOnce: {"test_order_of_examples_is_fixed"},
    RepeatsAnId: {"test_ids_are_unique_strings"},
    NumbersItsExamples: {"test_ids_are_unique_strings"},
    GivesItsOwnList: {"test_examples_belong_to_the_benchmark"},
    TakesAnySplit: {"test_unknown_split_is_refused_by_the_names_there_are"},
    NamesNoSplits: {"test_unknown_split_is_refused_by_the_names_there_are"},
    CountsInsteadOfScoring: {"test_metrics_are_floats"},
    ForgetsCoverage: {"test_metrics_are_floats", "test_coverage_is_the_share_that_was_predicted"},
    ScoresNaN: {
        "test_metrics_are_floats",
        "test_perfect_predictions_get_the_best_score",
        "test_missing_predictions_count_as_wrong",
        "test_order_of_predictions_does_not_matter",
    },
    ScoresInPercent: {"test_perfect_predictions_get_the_best_score"},
    ScoresErrors: {"test_perfect_predictions_get_the_best_score"},
    LeavesOutTheMissing: {"test_missing_predictions_count_as_wrong"},
    CoversAlways: {"test_coverage_is_the_share_that_was_predicted"},
    ReadsPredictionsByPlace: {"test_order_of_predictions_does_not_matter"},
    AddsUpCalls: {"test_evaluating_again_gives_the_same_metrics"},
    IgnoresUnknownIds: {"test_unknown_ids_are_refused_by_name"},
    DoesNotNameUnknownIds: {"test_unknown_ids_are_refused_by_name"},
    TakesNaN: {"test_nan_predictions_are_refused"},
    PopsPredictions: {"test_predictions_are_not_changed"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_benchmark_fails_where_it_is_broken(broken: type[Capitals], tmp_path: Path) -> None:
    random.seed(0)

    class Broken(TestCapitals):
        def make(self) -> Any:
            return broken()

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(BenchmarkContract)
