"""Small labelled traces for the tests."""

from __future__ import annotations

import numpy as np
import torch
from iclr26_lm import DenoisingTrace


def noisy(count=160, steps=6, canvas=4, *, seed=0, lift=1.0, where=None):
    """Return (count, T, D) entropies in [0, 1) and alternating labels; hallucinated ones are lifted (at ``where``)."""
    rng = np.random.default_rng(seed)
    traces, labels = rng.random((count, steps, canvas)).astype(np.float32), np.arange(count) % 2
    traces[labels == 1] += lift if where is None else lift * (np.arange(steps) == where)[:, None]
    return traces, labels


def denoising(entropy, *, label=None, conf=None, meta=None):
    """Return a trace with these entropies that commits one position per pass, from the left."""
    entropy = torch.as_tensor(entropy)
    steps, canvas = entropy.shape
    x0 = torch.arange(canvas, dtype=torch.int32).expand(steps, -1).contiguous()
    return DenoisingTrace(
        entropy=entropy,
        x0=x0,
        conf=torch.exp(-entropy) if conf is None else conf,
        margin=torch.exp(-entropy) / 2,
        commit_step=torch.arange(canvas, dtype=torch.int32) % steps,
        prompt_ids=torch.zeros(1, dtype=torch.int32),
        output_ids=x0[0],
        labels=None if label is None else torch.tensor(label),
        meta=meta or {},
    )
