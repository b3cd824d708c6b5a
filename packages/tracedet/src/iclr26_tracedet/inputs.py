"""Traces as padded batches, read one batch at a time, so that a store larger than memory can be trained on.

N traces of T_i passes over D_i canvas positions. A batch is (B, T, W): the features side by side, D channels
each, then, only where canvases differ in length, D channels that are 1 at positions beyond a trace's own canvas.
What fits into CACHE_BYTES stays in memory; the rest is read again whenever a batch asks for it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from iclr26_lm import DenoisingTrace, TraceStore, answer_label
from numpy.typing import NDArray
from torch import Tensor

FEATURES = ("entropy", "conf", "margin", "changed", "committed")
CACHE_BYTES = 64 * 2**20
ENTROPY_SLACK = 1e-3  # nats by which an entropy may exceed log(vocabulary): float32 sums over a large vocabulary

Traces: TypeAlias = TraceStore | Sequence[DenoisingTrace] | Sequence[Any] | NDArray[np.floating[Any]] | Tensor


@dataclass(frozen=True)
class Layout:
    """How traces become channels, fixed when a detector is fitted.

    Args:
        canvas: D
        steps: the longest T of the training set
        indicator: whether canvases differ in length, and channels say where each ends
        features: how many features
    """

    canvas: int
    steps: int
    indicator: bool
    features: int

    @property
    def width(self) -> int:
        """W, channels per pass."""
        return self.canvas * (self.features + self.indicator)


class TraceInputs:
    """N traces behind one reader; nothing is loaded but what a batch asks for.

    >>> inputs = TraceInputs(np.ones((2, 3, 4)))
    >>> len(inputs), inputs.lengths.tolist(), sorted(inputs.canvases)
    (2, [3, 3], [4])

    Args:
        traces: a ``TraceStore``, a list of ``DenoisingTrace``, an (N, T, D) array, or a list of (T, D) arrays, of
            entropies in nats
        features: of ``FEATURES``; arrays hold entropies only
        vocabulary: V, to refuse entropies above log V; a trace's own ``meta["vocab_size"]`` is used where it is there

    Raises:
        ValueError: no traces, fewer than 2 passes, NaN, negative or impossible entropies, features that are not there
    """

    def __init__(
        self, traces: Traces, *, features: Sequence[str] = ("entropy",), vocabulary: int | None = None
    ) -> None:
        self.traces: Any = _as_sequence(traces)
        self.features = tuple(features)
        if not len(self.traces):
            raise ValueError("there must be at least one trace (got 0)")
        shapes = [self._checked_shape(index, vocabulary) for index in range(len(self.traces))]
        self.lengths = np.array([steps for steps, _ in shapes])
        self.canvases = {canvas for _, canvas in shapes}
        size = 4 * len(self.features) * sum(steps * canvas for steps, canvas in shapes)
        self._cache: dict[int, Tensor] | None = {} if size <= CACHE_BYTES else None

    def __len__(self) -> int:
        return len(self.traces)

    def labels(self) -> NDArray[np.int64]:
        """Return (N,) the traces' own labels: 1 hallucinated, 0 faithful, -1 unknown.

        Raises:
            ValueError: the traces are arrays, which carry none
        """
        if isinstance(self.traces, TraceStore):
            return np.array(list(self.traces.labels.values()))
        if not all(isinstance(trace, DenoisingTrace) for trace in self.traces):
            raise ValueError("labels must be given with arrays (got None): arrays carry no labels of their own")
        return np.array([answer_label(trace.labels) for trace in self.traces])

    def values(self, index: int) -> Tensor:
        """Return (T, F, D) float32, the features of one trace."""
        if self._cache is None:
            return self._read(index)
        if index not in self._cache:
            self._cache[index] = self._read(index)
        return self._cache[index]

    def _read(self, index: int) -> Tensor:
        trace = self.traces[index]
        if not isinstance(trace, DenoisingTrace):
            return torch.as_tensor(np.asarray(trace), dtype=torch.float32)[:, None]
        return torch.stack([_feature(trace, name) for name in self.features], 1)

    def batch(self, indices: Sequence[int], layout: Layout) -> tuple[Tensor, Tensor]:
        """Return (B, T, W) values, padded to the longest of the batch with 0, and (B,) lengths."""
        read = [self.values(index) for index in indices]
        lengths = torch.tensor([len(values) for values in read])
        full = len(self.features) + layout.indicator
        padded = torch.zeros(len(read), int(lengths.max()), full, layout.canvas)
        for row, values in zip(padded, read, strict=True):
            steps, count, canvas = values.shape
            row[:steps, :count, :canvas] = values
            if layout.indicator:
                row[:steps, -1, canvas:] = 1.0
        return padded.flatten(2), lengths

    def _checked_shape(self, index: int, vocabulary: int | None) -> tuple[int, int]:
        trace = self.traces[index]
        if isinstance(trace, DenoisingTrace):
            entropy = trace.entropy
            vocabulary = trace.meta.get("vocab_size", vocabulary)
        else:
            if self.features != ("entropy",):
                raise ValueError(f"features must be ('entropy',) for arrays (got {self.features}): pass DenoisingTrace")
            entropy = torch.as_tensor(np.asarray(trace))
        if entropy.ndim != 2 or entropy.shape[0] < 2 or entropy.shape[1] < 1:
            raise ValueError(f"trace {index} must be (T >= 2, D >= 1) (got {tuple(entropy.shape)})")
        low, high = float(entropy.min()), float(entropy.max())
        if not (low >= 0.0 and math.isfinite(high)):
            raise ValueError(f"trace {index} must hold finite entropies >= 0 (got {low} to {high})")
        if vocabulary is not None and high > math.log(vocabulary) + ENTROPY_SLACK:
            raise ValueError(f"trace {index} must hold entropies <= log({vocabulary}) = {math.log(vocabulary):.4f} "
                             f"nats (got {high})")  # fmt: skip
        return int(entropy.shape[0]), int(entropy.shape[1])


def check_features(features: Sequence[str]) -> tuple[str, ...]:
    """Return the features as a tuple; ValueError for an unknown, repeated or missing one."""
    names = tuple(features)
    if not names or len(set(names)) < len(names) or not set(names) <= set(FEATURES):
        raise ValueError(f"features must be different ones of {', '.join(FEATURES)} (got {names})")
    return names


def check_labels(labels: Any, count: int, *, soft: bool) -> NDArray[np.float64]:
    """Return (N,) labels as float64.

    Raises:
        ValueError: another number of labels, a value that is neither 0 nor 1 (or outside [0, 1] if soft), or one class
    """
    values = np.asarray(labels, dtype=np.float64)
    if values.shape != (count,):
        raise ValueError(f"labels must have shape ({count},), one per trace (got {values.shape})")
    allowed = (values >= 0.0) & (values <= 1.0) if soft else np.isin(values, (0.0, 1.0))
    if not allowed.all():
        right = "in [0, 1]" if soft else "1 (hallucinated) or 0 (faithful)"
        raise ValueError(f"labels must be {right} (got {values[~allowed][0]:g} at {int(np.flatnonzero(~allowed)[0])})")
    if (values > 0.5).all() or (values <= 0.5).all():
        raise ValueError(f"labels must hold both classes (got {count} times {int(values[0] > 0.5)})")
    return values


def warn_if_passes_differ(lengths: NDArray[np.int64]) -> None:
    """Warn where traces have different numbers of passes: the network then also sees how long decoding took."""
    found = sorted({int(length) for length in lengths})
    if len(found) > 1:
        warnings.warn(f"traces have different numbers of passes: {found}; shorter ones are padded", stacklevel=3)


def _as_sequence(traces: Any) -> Any:
    if isinstance(traces, TraceStore):
        return traces
    if isinstance(traces, Tensor):
        return traces.detach().cpu().numpy()
    if isinstance(traces, np.ndarray):
        if traces.ndim != 3:
            raise ValueError(f"an array of traces must have shape (N, T, D) (got {traces.shape})")
        return traces
    kept = list(traces)
    return [trace.detach().cpu().numpy() if isinstance(trace, Tensor) else trace for trace in kept]


def _feature(trace: DenoisingTrace, name: str) -> Tensor:
    """Return (T, D) float32."""
    if name == "changed":
        changed = torch.zeros(trace.x0.shape)
        changed[1:] = (trace.x0[1:] != trace.x0[:-1]).float()
        return changed
    if name == "committed":
        steps = torch.arange(trace.passes)[:, None]
        committed: Tensor = (trace.commit_step[None] <= steps).float()
        return committed
    values: Tensor = getattr(trace, name).float()
    return values
