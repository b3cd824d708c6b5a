"""Every method on the same traces and the same split: fitted on training, chosen on validation, scored on all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .baselines import FlatLogisticRegression, LSTMDetector, NoMaskDetector, ScalarDetector
from .config import DetectorConfig
from .detector import TraceDetDetector
from .material import Material
from .metrics import auroc, auroc_interval, detection_metrics
from .network_detector import NetworkDetector
from .scalars import SCALARS
from .splits import Split
from .training import Training

TRAINING = ("lr", "weight_decay", "batch_size", "epochs", "patience")
SHARED = ("normalize", "features")


@dataclass(frozen=True)
class Fitted:
    """A fitted method, its scores of all traces, and how long fitting and scoring one trace took, in seconds."""

    detector: Any
    scores: NDArray[np.float64]
    fit_seconds: float
    seconds_per_example: float


@dataclass(frozen=True)
class Area:
    """An AUROC with its 95 % bootstrap interval over groups, and the numbers of hallucinated and faithful answers."""

    value: float
    low: float
    high: float
    hallucinated: int
    faithful: int


def make_detector(name: str, settings: DetectorConfig, *, variant: str, canvas: int, seed: int, device: str) -> Any:
    """Return the method of a name, not fitted; ``tracedet`` is ``variant``, ``tracedet-<other>`` the other one."""
    if name in SCALARS:
        return ScalarDetector(name)
    if name == "flat-lr":
        return FlatLogisticRegression(seed=seed)
    options = {key: value for key, value in asdict(settings).items() if key != "canvas"}
    if name.startswith("tracedet"):
        chosen = variant if name == "tracedet" else {"reference": "paper", "paper": "reference"}[variant]
        return TraceDetDetector(**options, variant=chosen, canvas=canvas, seed=seed, device=device)  # type: ignore[arg-type]
    kinds: dict[str, type[NetworkDetector]] = {"nomask": NoMaskDetector, "lstm": LSTMDetector}
    training = Training(**{key: options[key] for key in TRAINING}, seed=seed)
    return kinds[name](**{key: options[key] for key in SHARED}, canvas=canvas, training=training, device=device)


def fit_and_score(
    name: str, detector: Any, material: Material, split: Split, *, checkpoint: Path | None = None
) -> Fitted:
    """Return the method after fitting it on the split's training part; networks keep the epoch best in validation."""
    train, val = material.part(split.train), material.part(split.val)
    labels, labels_val = material.labels[split.train], material.labels[split.val]
    options: dict[str, Any] = {} if name in SCALARS else {"val": (val, labels_val)}
    if isinstance(detector, NetworkDetector):
        options["checkpoint"] = checkpoint
    started = time.perf_counter()
    detector.fit(train, labels, **options)
    fitted = time.perf_counter()
    scores = detector.score(material.traces)
    return Fitted(detector, scores, fitted - started, (time.perf_counter() - fitted) / len(scores))


def summary(
    material: Material, places: NDArray[np.int64], scores: NDArray[np.float64], *, seed: int, probability: bool
) -> dict[str, Any]:
    """Return a method's figures on the test part: overall, and of each kind of question."""
    labels, groups, kinds = material.labels[places], material.groups[places], material.kinds[places]
    figures: dict[str, Any] = dict(detection_metrics(labels, scores[places]))
    if not probability:
        figures["f1"] = None
    figures["interval"] = auroc_interval(labels, scores[places], seed=seed, groups=groups)
    figures["kinds"] = {
        kind: asdict(found)
        for kind in dict.fromkeys(kinds.tolist())
        if kind and (found := area_of_kinds(labels, scores[places], groups, kinds, [kind], seed=seed))
    }
    return figures


def area_of_kinds(
    labels: NDArray[Any],
    scores: NDArray[np.float64],
    groups: NDArray[np.str_],
    kinds: NDArray[np.str_],
    chosen: Sequence[str],
    *,
    seed: int,
) -> Area | None:
    """Return the AUROC of these kinds' hallucinated answers against all faithful answers, of every kind.

    A kind alone often has one class only: every answer about an unseen fact is wrong. None if there is nothing to rank.
    """
    rows = (labels == 0) | np.isin(kinds, chosen)
    hallucinated = int(labels[rows].sum())
    faithful = int(rows.sum()) - hallucinated
    if not hallucinated or not faithful:
        return None
    low, high = auroc_interval(labels[rows], scores[rows], seed=seed, groups=groups[rows])
    return Area(auroc(labels[rows], scores[rows]), low, high, hallucinated, faithful)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread of torch: networks of this size are slower with two, and repeat bit for bit with one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
