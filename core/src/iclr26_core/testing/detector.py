"""The contract of detectors: fit on labelled examples, score others, higher for the hallucinated. Needs numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from iclr26_core.interfaces import Detector
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.damage import with_nan
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb
from iclr26_core.testing.restore import through_pickle
from iclr26_core.testing.unchanged import fingerprint


class DetectorContract(Contract, sealed=True):
    """Checks a detector on the author's examples; it is fitted about ten times, so keep them few.

    Override ``make`` and ``example``; ``damaged`` where an example is not one array; ``restored`` where the detector
    has its own way to be saved.

    Attributes:
        tolerance: how far a score may move, absolutely, when the same example is scored in another batch
        gpu_tolerance: how far it may move, absolutely, when the detector is made on the GPU
    """

    tolerance: ClassVar[float] = 1e-5
    gpu_tolerance: ClassVar[float] = 1e-3

    def make(self) -> Detector:
        """Return a new detector, not fitted, with a fixed seed. With a GPU path: ``make(self, device="cpu")``."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def example(self) -> tuple[Sequence[Any], Sequence[int]]:
        """Return N >= 4 examples and their N labels (1 hallucinated, 0 faithful), the same at every call.

        They must differ enough that a detector fitted on them ranks them better than chance.
        """
        raise NotImplementedError(f"{type(self).__name__} must define example(self)")

    def damaged(self) -> Mapping[str, Any]:
        """Return examples to be refused, by what is wrong with them; made here where an example is a float array."""
        first = self.example()[0][0]
        nan = with_nan(first)
        if nan is None or isinstance(first, Mapping):
            raise NotImplementedError(f"{type(self).__name__} must define damaged(self): an example is no float array")
        return {"an example with NaN": nan, "an example with an axis too many": first[None]}

    def restored(self, detector: Detector, folder: Path) -> Detector:
        """Return the fitted detector, saved into the empty folder and loaded again; here through pickle."""
        return through_pickle(detector, folder)

    def test_fit_returns_self(self) -> None:
        detector = self.make()
        self.check(detector.fit(*self.example()) is detector, "fit must return self")

    def test_scores_are_one_finite_float_per_example(self) -> None:
        examples, scores = self.example()[0], self._scores()
        self.check(isinstance(scores, np.ndarray), f"score must return a numpy array (got {type(scores).__name__})")
        self.check(scores.shape == (len(examples),), f"scores must have shape ({len(examples)},) (got {scores.shape})")
        self.check(scores.dtype.kind == "f", f"scores must be floats (got {scores.dtype})")
        self.check(np.isfinite(scores).all(), f"scores must be finite (got {scores})")

    def test_hallucinated_examples_score_higher(self) -> None:
        labels, scores = np.asarray(self.example()[1]), np.asarray(self._scores()).reshape(-1)
        margin = scores[labels == 1][:, None] - scores[labels == 0]
        auroc = ((margin > 0) + (margin == 0) / 2).mean()
        self.check(auroc > 0.5, f"higher must mean hallucinated: AUROC on the examples it was fitted on is {auroc:.3f}")

    def test_same_seed_gives_the_same_scores(self) -> None:
        first = self._scores(disturbed=1)
        self.check(np.array_equal(first, self._scores(disturbed=2)), "two detectors of one seed score differently")

    def test_scoring_again_gives_the_same_scores(self) -> None:
        examples, detector = self.example()[0], self._fitted()
        first = np.array(detector.score(examples))
        self.check(np.array_equal(first, detector.score(examples)), "the same examples score differently a second time")

    def test_order_and_batch_do_not_matter(self) -> None:
        examples, detector = self.example()[0], self._fitted()
        scores = np.array(detector.score(examples))
        backward = detector.score([*examples][::-1])[::-1]
        alone = np.concatenate([detector.score([example]) for example in examples])
        for what, other in {"in another order": backward, "one at a time": alone}.items():
            moved = np.abs(scores - other).max()
            self.check(moved <= self.tolerance, f"scores of examples {what} differ by {moved}")

    def test_score_before_fit_is_refused(self) -> None:
        self.check_refused(lambda: self.make().score(self.example()[0]), RuntimeError, "score before fit")

    def test_no_examples_are_refused(self) -> None:
        detector = self._fitted()
        self.check_refused(lambda: detector.score([]), ValueError, "scoring no examples")
        self.check_refused(lambda: self.make().fit([], []), ValueError, "fitting no examples")

    def test_wrong_labels_are_refused(self) -> None:
        examples, labels = self.example()
        wrong = {"a label too few": list(labels)[:-1], "a label 2": [2, *list(labels)[1:]]}
        for what, others in wrong.items():
            self.check_refused(partial(self.make().fit, examples, others), ValueError, what)

    def test_damaged_examples_are_refused(self) -> None:
        (examples, labels), detector = self.example(), self._fitted()
        self.check(self.damaged(), "damaged() must name at least one example to refuse")
        for what, example in self.damaged().items():
            mixed = [example, *list(examples)[1:]]
            self.check_refused(partial(detector.score, mixed), ValueError, f"{what}, in score,")
            self.check_refused(partial(self.make().fit, mixed, labels), ValueError, f"{what}, in fit,")

    def test_inputs_are_not_changed(self) -> None:
        data = self.example()
        before = fingerprint(data)
        self.make().fit(*data).score(data[0])
        self.check(fingerprint(data) == before, "fit or score changed the examples or the labels")

    def test_saved_detector_scores_the_same(self, tmp_path: Path) -> None:
        examples, detector = self.example()[0], self._fitted()
        loaded = self.restored(detector, tmp_path)
        self.check(np.array_equal(detector.score(examples), loaded.score(examples)), "a restored detector differs")

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        detector = self.make(device=require_gpu(self.make))  # type: ignore[call-arg]
        scores = detector.fit(*self.example()).score(self.example()[0])
        moved = np.abs(scores - self._scores()).max()
        self.check(moved <= self.gpu_tolerance, f"scores on the GPU differ from those on the CPU by {moved}")

    def _fitted(self) -> Detector:
        return self.make().fit(*self.example())

    def _scores(self, *, disturbed: int = 0) -> np.ndarray:
        examples, labels = self.example()
        disturb(disturbed)
        return self.make().fit(examples, labels).score(examples)
