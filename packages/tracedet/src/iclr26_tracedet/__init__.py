"""TraceDet: hallucination detection for diffusion language models from the denoising trace (ICLR 2026).

Labels have one polarity everywhere: 1 = hallucinated, 0 = faithful. Names are loaded on first use, so importing the
package loads neither torch nor numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .baselines import FlatLogisticRegression, LSTMDetector, NoMaskDetector, ScalarDetector
    from .detector import TraceDetDetector
    from .explain import draw_weights
    from .inputs import FEATURES, TraceInputs
    from .kernel import fused_statistics
    from .likelihood import monte_carlo_perplexity
    from .losses import bernoulli_kl, mask_norm, mask_tv, poly1_cross_entropy, straight_through_mask
    from .metrics import auroc, auroc_interval, detection_metrics
    from .questions import Question, matches, read_labels, read_questions
    from .recording import EntropyRecorder, logits_to_entropy
    from .scalars import SCALARS
    from .splits import Split, grouped_split
    from .tracedet import ClassifierHead, StepExtractor, TimeEncoding, TraceClassifier, TraceEncoder

_HOMES = {
    "ClassifierHead": "tracedet",
    "EntropyRecorder": "recording",
    "FEATURES": "inputs",
    "FlatLogisticRegression": "baselines",
    "LSTMDetector": "baselines",
    "NoMaskDetector": "baselines",
    "Question": "questions",
    "SCALARS": "scalars",
    "ScalarDetector": "baselines",
    "Split": "splits",
    "StepExtractor": "tracedet",
    "TimeEncoding": "tracedet",
    "TraceClassifier": "tracedet",
    "TraceDetDetector": "detector",
    "TraceEncoder": "tracedet",
    "TraceInputs": "inputs",
    "auroc": "metrics",
    "auroc_interval": "metrics",
    "bernoulli_kl": "losses",
    "detection_metrics": "metrics",
    "draw_weights": "explain",
    "fused_statistics": "kernel",
    "grouped_split": "splits",
    "logits_to_entropy": "recording",
    "mask_norm": "losses",
    "mask_tv": "losses",
    "matches": "questions",
    "monte_carlo_perplexity": "likelihood",
    "poly1_cross_entropy": "losses",
    "read_labels": "questions",
    "read_questions": "questions",
    "straight_through_mask": "losses",
}

__all__ = [
    "ClassifierHead",
    "EntropyRecorder",
    "FEATURES",
    "FlatLogisticRegression",
    "LSTMDetector",
    "NoMaskDetector",
    "Question",
    "SCALARS",
    "ScalarDetector",
    "Split",
    "StepExtractor",
    "TimeEncoding",
    "TraceClassifier",
    "TraceDetDetector",
    "TraceEncoder",
    "TraceInputs",
    "auroc",
    "auroc_interval",
    "bernoulli_kl",
    "detection_metrics",
    "draw_weights",
    "fused_statistics",
    "grouped_split",
    "logits_to_entropy",
    "mask_norm",
    "mask_tv",
    "matches",
    "monte_carlo_perplexity",
    "poly1_cross_entropy",
    "read_labels",
    "read_questions",
    "straight_through_mask",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
