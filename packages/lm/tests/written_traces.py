"""Denoising traces made from a seed, without importing transformers: subprocesses of the tests use them too."""

import torch
from iclr26_lm.denoising_trace import DenoisingTrace
from iclr26_lm.store import trace_tensors


def denoising(seed=0, passes=6, canvas=10, **changes):
    draw = torch.Generator().manual_seed(seed)
    fields = {
        "entropy": torch.rand(passes, canvas, generator=draw),
        "x0": torch.randint(50, (passes, canvas), generator=draw).to(torch.int32),
        "conf": torch.rand(passes, canvas, generator=draw),
        "margin": torch.rand(passes, canvas, generator=draw),
        "commit_step": torch.randint(passes, (canvas,), generator=draw).to(torch.int32),
        "prompt_ids": torch.arange(4, dtype=torch.int32),
        "output_ids": torch.arange(canvas, dtype=torch.int32),
        "labels": torch.randint(-1, 2, (canvas,), generator=draw),
        "spans": ((1, 3, "value"),),
        "meta": {"schedule": "even", "kind": "rare", "seed": seed},
    }
    return DenoisingTrace(**{**fields, **changes})


def same(first, second):
    one, two = trace_tensors(first), trace_tensors(second)
    return (
        one.keys() == two.keys()
        and all(torch.equal(one[name], two[name]) and one[name].dtype == two[name].dtype for name in one)
        and (first.spans, dict(first.meta), first.kind) == (second.spans, dict(second.meta), second.kind)
    )
