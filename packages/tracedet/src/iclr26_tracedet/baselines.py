"""What TraceDet is compared with: single numbers, logistic regression, the network without a mask, and an LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from iclr26_lm import DenoisingTrace
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .inputs import Layout, TraceInputs, Traces, check_labels
from .network_detector import NetworkDetector
from .scalars import SCALARS
from .tracedet import TraceEncoder, padding_mask

LSTM_LAYERS, LSTM_HIDDEN = 3, 64
STRENGTHS = tuple(float(c) for c in np.logspace(-3, 2, 6))  # inverse penalties that flat logistic regression tries


class Logits(NamedTuple):
    """Output of a baseline's network: logits (B, 2), class 1 = hallucinated."""

    logits: Tensor


class NoMaskClassifier(nn.Module):
    """The encoder, its mean over time (the sum over T + 1, as in the code), and four linear layers with PReLU."""

    def __init__(self, width: int, *, steps: int, time_dim: int, layers: int, ff: int, dropout: float) -> None:
        super().__init__()
        self.encoder = TraceEncoder(width, steps=steps, time_dim=time_dim, layers=layers, ff=ff, dropout=dropout)
        full = self.encoder.width
        hidden = [part for _ in range(3) for part in (nn.Linear(full, full), nn.PReLU())]
        self.head: nn.Module = nn.Sequential(*hidden, nn.Linear(full, 2))

    def forward(self, values: Tensor, lengths: Tensor) -> Logits:
        """Return the logits of (B, T, W) values."""
        padding = padding_mask(lengths, values.shape[1])
        embedded = self.encoder(values, padding)
        valid = embedded if padding is None else embedded.masked_fill(padding[..., None], 0.0)
        pooled = valid.sum(1) / (lengths[:, None] + 1)
        return Logits(self.head(functional.layer_norm(pooled, pooled.shape[-1:])))

    def loss(self, output: Logits, target: Tensor, lengths: Tensor) -> Tensor:
        """Return the cross-entropy."""
        return functional.cross_entropy(output.logits, target)


class LSTMClassifier(nn.Module):
    """Three bidirectional LSTM layers, their mean over time, LayerNorm, and a perceptron."""

    def __init__(self, width: int, *, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, LSTM_HIDDEN, LSTM_LAYERS, batch_first=True, bidirectional=True, dropout=dropout)
        both = 2 * LSTM_HIDDEN
        self.head = nn.Sequential(
            nn.LayerNorm(both), nn.Linear(both, LSTM_HIDDEN), nn.ReLU(), nn.Dropout(dropout), nn.Linear(LSTM_HIDDEN, 2)
        )

    def forward(self, values: Tensor, lengths: Tensor) -> Logits:
        """Return the logits of (B, T, W) values."""
        packed = pack_padded_sequence(values, lengths.cpu(), batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=values.shape[1])
        return Logits(self.head(hidden.sum(1) / lengths[:, None]))

    def loss(self, output: Logits, target: Tensor, lengths: Tensor) -> Tensor:
        """Return the cross-entropy."""
        return functional.cross_entropy(output.logits, target)


class NoMaskDetector(NetworkDetector):
    """TraceDet's ablation without a mask: encoder and mean; trained as TraceDet is."""

    def build_network(self, layout: Layout) -> NoMaskClassifier:
        """Return the untrained network."""
        size = 16 if layout.canvas > 64 else 8
        return NoMaskClassifier(layout.width, steps=layout.steps, time_dim=size, layers=3, ff=size, dropout=0.2)


class LSTMDetector(NetworkDetector):
    """A bidirectional LSTM over the trace; trained as TraceDet is."""

    def build_network(self, layout: Layout) -> LSTMClassifier:
        """Return the untrained network."""
        return LSTMClassifier(layout.width, dropout=0.2)


class ScalarDetector:
    """A single number of each trace as the score; nothing is trained.

    Args:
        name: one of ``SCALARS``
    """

    def __init__(self, name: str) -> None:
        if name not in SCALARS:
            raise ValueError(f"name must be one of {', '.join(SCALARS)} (got {name!r})")
        self.name, self._fitted = name, False

    def fit(self, traces: Traces, labels: ArrayLike | None = None) -> Self:
        """Return self; the traces and labels are only checked."""
        inputs = TraceInputs(traces)
        check_labels(inputs.labels() if labels is None else labels, len(inputs), soft=False)
        self._fitted = True
        return self

    def score(self, traces: Traces) -> NDArray[np.float64]:
        """Return (N,) the numbers, higher for the hallucinated.

        Raises:
            RuntimeError: not fitted
            ValueError: traces that cannot be used, or arrays
        """
        if not self._fitted:
            raise RuntimeError("ScalarDetector is not fitted: call fit first")
        inputs = TraceInputs(traces)
        return np.array([SCALARS[self.name](_as_trace(inputs.traces[i])) for i in range(len(inputs))])


class FlatLogisticRegression:
    """L2 logistic regression on the standardised, flattened trace; its penalty is chosen on validation traces.

    Args:
        seed: of the folds that choose the penalty where no validation traces are given
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self._model: Any = None
        self._shape: tuple[int, int] = (0, 0)

    def fit(
        self, traces: Traces, labels: ArrayLike | None = None, *, val: tuple[Traces, ArrayLike | None] | None = None
    ) -> Self:
        """Return self, fitted; with ``val`` the penalty with the best AUROC there, else by 3-fold AUROC."""
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
        from sklearn.model_selection import StratifiedKFold, cross_val_score  # type: ignore[import-untyped]
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
        from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

        from .metrics import auroc

        inputs = TraceInputs(traces)
        truth = check_labels(inputs.labels() if labels is None else labels, len(inputs), soft=False)
        self._shape = self._common_shape(inputs)
        flat = self._flat(inputs)
        models = [make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=2000)) for c in STRENGTHS]
        if val is None:
            smallest = int(min(truth.sum(), len(truth) - truth.sum()))
            folds = StratifiedKFold(min(3, smallest), shuffle=True, random_state=self.seed) if smallest > 1 else None
            quality = [0.0 if folds is None else cross_val_score(m, flat, truth, cv=folds, scoring="roc_auc").mean()
                       for m in models]  # fmt: skip
            self._model = models[int(np.argmax(quality))].fit(flat, truth)
            return self
        held = TraceInputs(val[0])
        truth_val = check_labels(held.labels() if val[1] is None else val[1], len(held), soft=False)
        fitted = [model.fit(flat, truth) for model in models]
        flat_val = self._flat(held)
        self._model = fitted[int(np.argmax([auroc(truth_val, m.decision_function(flat_val)) for m in fitted]))]
        return self

    def score(self, traces: Traces) -> NDArray[np.float64]:
        """Return (N,) probabilities of being hallucinated."""
        if self._model is None:
            raise RuntimeError("FlatLogisticRegression is not fitted: call fit first")
        probabilities: NDArray[np.float64] = self._model.predict_proba(self._flat(TraceInputs(traces)))[:, 1]
        return probabilities

    def _common_shape(self, inputs: TraceInputs) -> tuple[int, int]:
        steps = sorted({int(length) for length in inputs.lengths})
        if len(steps) > 1 or len(inputs.canvases) > 1:
            raise ValueError(f"flat regression needs traces of one shape (got T {steps}, D {sorted(inputs.canvases)})")
        return steps[0], next(iter(inputs.canvases))

    def _flat(self, inputs: TraceInputs) -> NDArray[np.float64]:
        if self._common_shape(inputs) != self._shape:
            raise ValueError(f"traces must have shape {self._shape}, as in fit (got {self._common_shape(inputs)})")
        return np.stack([inputs.values(i).double().numpy().ravel() for i in range(len(inputs))])


def _as_trace(trace: Any) -> DenoisingTrace:
    """Return a trace; an array of entropies becomes one without commits, for the entropies' own numbers."""
    if isinstance(trace, DenoisingTrace):
        return trace
    entropy = torch.as_tensor(np.asarray(trace), dtype=torch.float32)
    nothing = torch.zeros(entropy.shape[1], dtype=torch.int32)
    return DenoisingTrace(
        entropy=entropy,
        x0=torch.zeros(entropy.shape, dtype=torch.int32),
        conf=torch.full(entropy.shape, float("nan")),
        margin=torch.full(entropy.shape, float("nan")),
        commit_step=torch.full_like(nothing, -1),
        prompt_ids=nothing[:0],
        output_ids=nothing,
    )


__all__: Sequence[str] = ("FlatLogisticRegression", "LSTMDetector", "NoMaskDetector", "ScalarDetector")
