"""The contract of benchmarks: a fixed set of examples, and honest scores of predictions. Needs nothing further."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from iclr26_core.interfaces import Benchmark
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.unchanged import fingerprint


class BenchmarkContract(Contract, sealed=True):
    """Checks a benchmark by predictions that are all right, all wrong, missing and impossible.

    Override ``make``, ``example`` and ``wrong``; ``identify`` where an example keeps its id elsewhere. The kind's
    metrics are ``score``, higher is better, and ``coverage``, the share of examples that were predicted.

    Attributes:
        splits: every split that ``evaluate`` counts
        best: the score of perfect predictions
    """

    splits: ClassVar[tuple[str, ...]] = ("test",)
    best: ClassVar[float] = 1.0

    def make(self) -> Benchmark:
        """Return a new benchmark with few examples, at least 3."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def example(self) -> Mapping[str, Any]:
        """Return the perfect prediction for every example of ``splits``, by id."""
        raise NotImplementedError(f"{type(self).__name__} must define example(self)")

    def wrong(self) -> Any:
        """Return a prediction that is as wrong as can be for every example."""
        raise NotImplementedError(f"{type(self).__name__} must define wrong(self)")

    def identify(self, example: Any) -> str:
        """Return the id of an example: its ``["id"]`` or its ``.id``."""
        identity: str = example["id"] if isinstance(example, Mapping) else example.id
        return identity

    def test_order_of_examples_is_fixed(self) -> None:
        benchmark = self.make()
        first, again, new = self._ids(benchmark), self._ids(benchmark), self._ids(self.make())
        self.check(first == again, "a second call gives the examples in another order")
        self.check(first == new, "a second benchmark gives the examples in another order")

    def test_ids_are_unique_strings(self) -> None:
        ids = self._ids(self.make())
        self.check(all(isinstance(identity, str) for identity in ids), f"ids must be strings (got {ids[:3]}…)")
        self.check(len(set(ids)) == len(ids) > 0, f"ids must be unique, and at least one ({len(ids)}, {len(set(ids))})")

    def test_examples_belong_to_the_benchmark(self) -> None:
        benchmark = self.make()
        before = self._ids(benchmark)
        for split in self.splits:
            examples = benchmark.examples(split)
            if hasattr(examples, "clear"):
                examples.clear()
        self.check(
            self._ids(benchmark) == before, "emptying the list from examples() empties the benchmark: return a copy"
        )

    def test_unknown_split_is_refused_by_the_names_there_are(self) -> None:
        benchmark = self.make()
        self.check_refused(lambda: benchmark.examples("no-such-split"), ValueError, "an unknown split")
        try:
            benchmark.examples("no-such-split")
        except ValueError as error:
            unnamed = [split for split in self.splits if split not in str(error)]
            self.check(not unnamed, f"the error about an unknown split must name {unnamed} (got {error})")

    def test_metrics_are_floats(self) -> None:
        metrics = self.make().evaluate(self._perfect())
        self.check({"score", "coverage"} <= metrics.keys(), f"metrics must have score and coverage (got {[*metrics]})")
        for name, value in metrics.items():
            self.check(isinstance(value, float), f"{name} must be a float (got {type(value).__name__} {value!r})")
        self.check(math.isfinite(metrics["score"]), f"score must be finite (got {metrics['score']})")

    def test_perfect_predictions_get_the_best_score(self) -> None:
        score, worst = self._score(self._perfect()), self._score(self._all_wrong())
        self.check(math.isclose(score, self.best), f"perfect predictions score {score}, not {self.best}")
        self.check(worst < score, f"wrong predictions score {worst}, perfect ones {score}")

    def test_missing_predictions_count_as_wrong(self) -> None:
        perfect, wrong = self._perfect(), self._all_wrong()
        self._check_same_score({}, wrong, "no predictions at all")
        for identity in list(perfect)[:3]:
            missing = {other: value for other, value in perfect.items() if other != identity}
            self._check_same_score(missing, {**perfect, identity: wrong[identity]}, f"no prediction for {identity!r}")

    def test_coverage_is_the_share_that_was_predicted(self) -> None:
        half = dict(list(self._all_wrong().items())[::2])
        for predictions in (self._perfect(), half, {}):
            expected = len(predictions) / len(self._perfect())
            coverage = self.make().evaluate(predictions)["coverage"]
            self.check(math.isclose(coverage, expected), f"coverage must be {expected} (got {coverage})")

    def test_order_of_predictions_does_not_matter(self) -> None:
        mixed = {**self._perfect(), **dict(list(self._all_wrong().items())[::2])}
        backward = dict(reversed(mixed.items()))
        self._check_same_score(backward, mixed, "predictions in another order")

    def test_evaluating_again_gives_the_same_metrics(self) -> None:
        benchmark = self.make()
        first = fingerprint(dict(benchmark.evaluate(self._perfect())))
        benchmark.evaluate(self._all_wrong())
        again = fingerprint(dict(benchmark.evaluate(self._perfect())))
        self.check(first == again, "the metrics of the same predictions differ after others were evaluated")

    def test_unknown_ids_are_refused_by_name(self) -> None:
        predictions = {**self._perfect(), "no-such-id": self.wrong()}
        self.check_refused(lambda: self.make().evaluate(predictions), ValueError, "a prediction for an unknown id")
        try:
            self.make().evaluate(predictions)
        except ValueError as error:
            self.check("no-such-id" in str(error), f"the error about an unknown id must name it (got {error})")

    def test_nan_predictions_are_refused(self) -> None:
        predictions = {**self._perfect(), next(iter(self._perfect())): math.nan}
        self.check_refused(lambda: self.make().evaluate(predictions), ValueError, "a NaN as prediction")

    def test_predictions_are_not_changed(self) -> None:
        predictions = self._perfect()
        before = fingerprint(predictions)
        self.make().evaluate(predictions)
        self.check(fingerprint(predictions) == before, "evaluate changed the predictions")

    def _ids(self, benchmark: Benchmark) -> list[str]:
        return [self.identify(example) for split in self.splits for example in benchmark.examples(split)]

    def _perfect(self) -> dict[str, Any]:
        return dict(self.example())

    def _all_wrong(self) -> dict[str, Any]:
        return {identity: self.wrong() for identity in self._perfect()}

    def _score(self, predictions: Mapping[str, Any]) -> float:
        return self.make().evaluate(predictions)["score"]

    def _check_same_score(self, here: Mapping[str, Any], there: Mapping[str, Any], what: str) -> None:
        a, b = self._score(here), self._score(there)
        self.check(math.isclose(a, b, abs_tol=1e-12), f"with {what} the score is {a}, and {b} was expected")
