from collections.abc import Mapping
from typing import Any

from iclr26_core.testing import BenchmarkContract
from iclr26_human_mme import HumanMmeBenchmark


class TestBenchmark(BenchmarkContract):
    method = "human-mme"
    splits = ("validation", "test")

    def make(self) -> HumanMmeBenchmark:
        return HumanMmeBenchmark(size=5)

    def example(self) -> Mapping[str, Any]:
        return {question.id: question.answer for split in self.splits for question in self.make().examples(split)}

    def wrong(self) -> int:
        return -1
