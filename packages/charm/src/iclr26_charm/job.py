"""The job ``detect``: a small classifier of real handwritten digits errs, and detectors look for its errors."""

from __future__ import annotations

import time

import numpy as np
from iclr26_core import Run
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.metrics import average_precision_score, roc_auc_score  # type: ignore[import-untyped]
from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]

from .baselines import MaximumProbability
from .charm import CharmDetector
from .config import DetectConfig

METHOD = "charm"
Figures = dict[str, dict[str, float]]


def detect(config: DetectConfig, run: Run) -> None:
    """Compare the detector with its baseline on one split of the digits."""
    run.input("digits", load_digits().data.tobytes())
    run.say(f"training a classifier on {config.train_size} digits and looking for its errors among the others")
    for system, figures in measure(config, run.seed).items():
        of = None if system == run.method.name else system
        run.metric("auroc", figures["auroc"], of=of, higher_is_better=True)
        run.metric("auprc", figures["auprc"], of=of, higher_is_better=True)
        seconds = figures["seconds_per_example"]
        run.metric("seconds_per_example", seconds, of=of, unit="s", higher_is_better=False)


def measure(config: DetectConfig, seed: int) -> Figures:
    """Return the metrics of the detector and of its baseline, by system, on the split of this seed."""
    answers, wrong = answers_of_a_classifier(config.train_size, seed)
    halves = train_test_split(answers, wrong, test_size=0.5, stratify=wrong, random_state=seed)
    own = CharmDetector(strength=config.strength, alternatives=config.alternatives)
    systems: dict[str, CharmDetector | MaximumProbability] = {
        METHOD: own,
        "maximum-probability": MaximumProbability(),
    }
    return {name: _figures(detector, *halves) for name, detector in systems.items()}


def answers_of_a_classifier(train_size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, 10) log-probabilities of answers about unseen digits, and (N,) whether they are wrong."""
    images, digits = load_digits(return_X_y=True)
    seen, unseen, seen_digits, unseen_digits = train_test_split(
        images, digits, train_size=train_size, stratify=digits, random_state=seed
    )
    classifier = LogisticRegression(max_iter=2000).fit(seen / 16, seen_digits)
    answers: np.ndarray = classifier.predict_log_proba(unseen / 16)
    wrong: np.ndarray = (classifier.predict(unseen / 16) != unseen_digits).astype(int)
    return answers, wrong


def _figures(
    detector: CharmDetector | MaximumProbability,
    fit_examples: np.ndarray,
    test_examples: np.ndarray,
    fit_labels: np.ndarray,
    test_labels: np.ndarray,
) -> dict[str, float]:
    detector.fit(list(fit_examples), fit_labels.tolist())
    started = time.perf_counter()
    scores = detector.score(list(test_examples))
    seconds = time.perf_counter() - started
    return {
        "auroc": float(roc_auc_score(test_labels, scores)),
        "auprc": float(average_precision_score(test_labels, scores)),
        "seconds_per_example": seconds / len(scores),
    }
