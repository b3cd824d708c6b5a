"""The L2 norm of all gradients together, as one vector, without overflow or underflow."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import get_total_norm

SHIFT = 2.0**600  # moves the whole float32 range, and either end of float64's, to where squares fit


def global_norm(gradients: Sequence[Tensor]) -> float:
    """L2 norm of all gradients as one vector, as a Python float; NaN or inf only if an entry, or the norm itself, is.

    One pass over the gradients, accumulated in their own precision, at least float32.  Only when that over- or
    underflows (entries near 1e30 in float32), a second pass accumulates shifted values in float64.

    Args:
        gradients: dense real tensors of any shapes, dtypes and devices; DTensors count with all their shards.
    """
    norm = float(total_norm(gradients))
    if math.isfinite(norm) and norm > _smallest_safe(gradients):
        return norm
    shift = SHIFT if math.isfinite(norm) else 1.0 / SHIFT
    return math.hypot(*(float(_whole(torch.linalg.vector_norm(g.double() * shift))) for g in gradients)) / shift


def total_norm(gradients: Sequence[Tensor]) -> Tensor:
    """L2 norm of all gradients as one vector: a 0-dim float64 tensor on the first device, without a host sync.

    On accelerators the accumulation is in float64, so that float32 gradients cannot overflow.
    """
    device = gradients[0].device
    kinds = sharded_types()
    sharded = [g for g in gradients if isinstance(g, kinds)]
    plain = [g for g in gradients if not isinstance(g, kinds)]
    norms = [norm for group in _by_precision(plain) for norm in torch._foreach_norm(group, 2, dtype=_precision(group))]
    if sharded:
        norms.append(_whole(get_total_norm([g if g.element_size() > 2 else g.float() for g in sharded])))
    total: Tensor = torch.linalg.vector_norm(_stack(norms, device), dtype=torch.float64)
    return total


def _stack(norms: Sequence[Tensor], device: torch.device) -> Tensor:
    if all(norm.dtype == norms[0].dtype and norm.device == device for norm in norms):
        return torch.stack(list(norms))
    return torch.stack([norm.to(device, torch.float64) for norm in norms])


def _by_precision(gradients: Sequence[Tensor]) -> list[list[Tensor]]:
    groups: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for g in gradients:
        groups.setdefault((g.device, g.dtype), []).append(g)
    return list(groups.values())


def _precision(group: Sequence[Tensor]) -> torch.dtype:
    if group[0].device.type not in ("cpu", "mps"):
        return torch.float64
    return torch.promote_types(group[0].dtype, torch.float32)


def _smallest_safe(gradients: Sequence[Tensor]) -> float:
    coarse = any(g.dtype != torch.float64 for g in gradients)
    return 1e4 * math.sqrt(
        torch.finfo(torch.float32 if coarse else torch.float64).tiny
    )  # lost squares are < 1e-8 of it


def sharded_types() -> tuple[Any, ...]:
    """``(DTensor,)``, or nothing while no DTensor can exist: importing its module costs 2 s of CPU time."""
    module: Any = sys.modules.get("torch.distributed.tensor")
    return () if module is None else (module.DTensor,)


def _whole(value: Any) -> Tensor:
    whole: Tensor = value.full_tensor() if isinstance(value, sharded_types()) else value
    return whole
