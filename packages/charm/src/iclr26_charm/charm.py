"""A detector of wrong answers: logistic regression on the sorted log-probabilities of an answer's alternatives.

Start of ``iclr26 new``; after Hendrycks and Gimpel, https://arxiv.org/abs/1610.02136, who score an answer by its
largest probability alone and say that this can be surpassed. Here the classes' order is forgotten, so that the
detector learns how a model's doubt looks and not which class is hard.

Shapes: N answers, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline, make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

FLOOR = -30.0  # below this a probability says no more than that the class is out of the question


class CharmDetector:
    """Scores answers by how likely they are wrong.

    Args:
        strength: inverse of the regularisation, larger fits the examples more closely
        alternatives: how many of the most likely classes are looked at

    Raises:
        ValueError: an option is out of its range

    Example:
        >>> from iclr26_charm import CharmDetector
        >>> sure, unsure = [-0.01, -5.0, -6.0], [-0.7, -0.9, -2.4]
        >>> detector = CharmDetector().fit([sure, unsure], [0, 1])
        >>> bool(detector.score([unsure])[0] > detector.score([sure])[0])
        True
    """

    def __init__(self, *, strength: float = 1.0, alternatives: int = 3) -> None:
        if not strength > 0:
            raise ValueError(f"strength must be > 0 (got {strength})")
        if alternatives < 1:
            raise ValueError(f"alternatives must be >= 1 (got {alternatives})")
        self.strength, self.alternatives = strength, alternatives
        self._classes: int | None = None

    def fit(self, examples: Sequence[Any], labels: Sequence[int]) -> Self:
        """Return self, fitted.

        Args:
            examples: N arrays of (C,) log-probabilities
            labels: N labels, 1 for a wrong answer and 0 for a right one

        Raises:
            ValueError: no examples, other shapes, a figure that is no log-probability, or not both labels
        """
        log_probabilities = checked_examples(examples)
        wrong = checked_labels(labels, len(log_probabilities))
        model: Pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=self.strength, max_iter=1000))
        self._model = model.fit(self._features(log_probabilities), wrong)
        self._classes = log_probabilities.shape[1]
        return self

    def score(self, examples: Sequence[Any]) -> np.ndarray:
        """Return (N,) log-odds that the answers are wrong.

        Args:
            examples: N arrays of (C,) log-probabilities over as many classes as in ``fit``

        Raises:
            RuntimeError: ``fit`` was not called
            ValueError: no examples, or of another shape
        """
        if self._classes is None:
            raise RuntimeError("the detector is not fitted: call fit(examples, labels) first")
        log_probabilities = checked_examples(examples)
        if log_probabilities.shape[1] != self._classes:
            raise ValueError(f"examples must have {self._classes} classes as in fit (got {log_probabilities.shape[1]})")
        scores: np.ndarray = self._model.decision_function(self._features(log_probabilities))
        return scores

    def _features(self, log_probabilities: np.ndarray) -> np.ndarray:
        falling = -np.sort(-log_probabilities, axis=1)
        features: np.ndarray = np.maximum(falling[:, : self.alternatives], FLOOR)
        return features


def checked_examples(examples: Sequence[Any]) -> np.ndarray:
    """Return (N, C) log-probabilities; ValueError if the examples are no such thing."""
    if len(examples) == 0:
        raise ValueError("examples must hold at least one answer (got none)")
    shapes = {np.shape(example) for example in examples}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise ValueError(f"examples must be arrays of one shape (classes,) (got {sorted(shapes)})")
    log_probabilities = np.array(examples, dtype=np.float64)
    if not (log_probabilities <= 0).all():
        raise ValueError(f"examples must be log-probabilities, <= 0 (got {log_probabilities.max()})")
    return log_probabilities


def checked_labels(labels: Sequence[int], n: int) -> np.ndarray:
    """Return (n,) labels 0 and 1; ValueError if there are others, or another number of them, or one alone."""
    if len(labels) != n:
        raise ValueError(f"labels must be as many as examples, {n} (got {len(labels)})")
    if set(np.unique(labels).tolist()) != {0, 1}:
        raise ValueError(f"labels must be 0 (right) and 1 (wrong), both there (got {np.unique(labels).tolist()})")
    return np.asarray(labels)
