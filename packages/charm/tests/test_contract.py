from collections.abc import Sequence
from typing import Any

from iclr26_charm import CharmDetector
from iclr26_charm.job import answers_of_a_classifier
from iclr26_core.testing import DetectorContract


class TestDetector(DetectorContract):
    method = "charm"

    def make(self) -> CharmDetector:
        return CharmDetector()

    def example(self) -> tuple[Sequence[Any], Sequence[int]]:
        answers, wrong = answers_of_a_classifier(100, seed=0)
        return list(answers[:200]), wrong[:200].tolist()
