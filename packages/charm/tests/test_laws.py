import numpy as np
import pytest
from iclr26_charm import CharmDetector
from iclr26_charm.config import DetectConfig
from iclr26_charm.job import answers_of_a_classifier


def test_the_order_of_the_classes_does_not_matter() -> None:
    answers, wrong = answers_of_a_classifier(100, seed=0)
    detector = CharmDetector().fit(list(answers), wrong.tolist())
    shuffled = np.random.default_rng(0).permuted(answers, axis=1)
    np.testing.assert_array_equal(detector.score(list(answers)), detector.score(list(shuffled)))


@pytest.mark.parametrize("wrong", [{"strength": 0.0}, {"alternatives": 0}, {"train_size": 10}])
def test_options_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DetectConfig(**wrong)  # type: ignore[arg-type]
