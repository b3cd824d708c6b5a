"""One pass over the vocabulary in Triton: logsumexp, entropy, confidence, margin and argmax of every position together.

The authors' code makes three softmaxes per pass and keeps probabilities and log-probabilities; here the logits are read
once (V * 2 bytes a position in bfloat16) and five numbers are written. Each program handles one position and folds
blocks of the vocabulary into a running maximum, sum of weights, weighted sum and two largest logits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from iclr26_core.errors import MissingExtra
from torch import Tensor

BLOCK = 4096


class FusedStatistics(NamedTuple):
    """Per position, in the logits' shape without the vocabulary: float32, ``best`` int64.

    entropy in nats; conf and margin are the largest probability and its lead over the second; best is the argmax, the
    lowest of equal ones.
    """

    logsumexp: Tensor
    entropy: Tensor
    conf: Tensor
    margin: Tensor
    best: Tensor


def fused_statistics(logits: Tensor) -> FusedStatistics:
    """Return the statistics of (…, V) logits, V >= 2, of which some may be -inf.

    Needs a CUDA device, or ``TRITON_INTERPRET=1`` set before triton is imported, which runs it on the CPU for tests.

    Raises:
        MissingExtra: triton is not installed
        ValueError: V < 2
    """
    vocabulary = logits.shape[-1]
    if vocabulary < 2:
        raise ValueError(f"logits must have a vocabulary of at least 2 (got {vocabulary})")
    flat = logits.reshape(-1, vocabulary).contiguous()
    floats = torch.empty(4, len(flat), dtype=torch.float32, device=flat.device)
    best = torch.empty(len(flat), dtype=torch.int64, device=flat.device)
    _kernel()[(len(flat),)](flat, floats, best, vocabulary, len(flat), BLOCK=BLOCK)
    shape = logits.shape[:-1]
    lse, entropy, conf, margin = (row.view(shape) for row in floats)
    return FusedStatistics(lse, entropy, conf, margin, best.view(shape))


_COMPILED: dict[str, Any] = {}


def _kernel() -> Any:
    """Return the kernel; triton is imported here, because it is optional and slow to import."""
    if not _COMPILED:
        try:
            from . import triton_statistics
        except ImportError as error:
            raise MissingExtra("triton", package="iclr26-tracedet", extra="kernel") from error
        _COMPILED["statistics"] = triton_statistics.statistics
    return _COMPILED["statistics"]
