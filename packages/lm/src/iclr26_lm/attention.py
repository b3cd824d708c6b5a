"""Reads attention probabilities out of a forward pass that runs on SDPA, without ``output_attentions``.

Since transformers 5, ``output_attentions=True`` needs eager attention and keeps every layer's (B, H, n, n) tensor.
Here a registered attention function computes the layer's output with SDPA and, beside it, the probabilities of the
wanted rows in float32, a few queries at a time; only what is kept leaves the function, as CPU tensors.

B batch, H query heads, K key heads, n queries, m keys, D head width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "iclr26_capture"
PROBABILITY_BYTES = 32 * 2**20
LONGEST_CHUNK = 256


@dataclass(frozen=True, kw_only=True)
class LayerAttention:
    """What one layer's attention left behind, on the CPU.

    Args:
        diagonal: (B, n, H) float16, attention of every token to itself
        batch, row, column, head: (nnz,) int32, where each kept entry is; never on the diagonal
        value: (nnz,) float16, its probability
    """

    diagonal: torch.Tensor
    batch: torch.Tensor
    row: torch.Tensor
    column: torch.Tensor
    head: torch.Tensor
    value: torch.Tensor


@dataclass(kw_only=True)
class AttentionCapture:
    """Collects ``LayerAttention`` by layer while a model runs; made by ``attention_capture``.

    Args:
        tau: entries below are dropped
        first_row: rows before it keep only their diagonal
        probability_bytes: most memory that one layer's probabilities take at a time
    """

    tau: float
    first_row: int
    probability_bytes: int = PROBABILITY_BYTES
    layers: dict[int, LayerAttention] = field(default_factory=dict)


_active: ContextVar[AttentionCapture | None] = ContextVar("iclr26_lm_attention_capture", default=None)


@contextmanager
def attention_capture(
    model: Any, *, tau: float = 0.05, first_row: int = 0, probability_bytes: int = PROBABILITY_BYTES
) -> Iterator[AttentionCapture]:
    """Give a capture that fills while the model runs inside the ``with`` block; the model's own attention comes back.

        with attention_capture(model) as capture:
            model(input_ids=ids, use_cache=False)
        capture.layers[0].value

    Args:
        model: a transformers model whose attention goes through the attention interface; causal or bidirectional
        tau: entries below are dropped, in [0, 1)
        first_row: rows before it keep only their diagonal
        probability_bytes: most memory that one layer's probabilities take at a time

    Raises:
        ValueError: tau out of range, or a model whose attention cannot be read this way
    """
    if not 0.0 <= tau < 1.0:
        raise ValueError(f"tau must be in [0, 1) (got {tau})")
    AttentionInterface.register(NAME, _capturing_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    before = getattr(model.config, "_attn_implementation", None)
    capture = AttentionCapture(tau=tau, first_row=first_row, probability_bytes=probability_bytes)
    token = _active.set(capture)
    try:
        _use_attention(model, NAME)
        yield capture
    finally:
        _active.reset(token)
        if before is not None:
            model.set_attn_implementation(before)


def _use_attention(model: Any, name: str) -> None:
    """Set the model's attention function; refuse a model that only logs a warning and goes on with its own."""
    accepts = getattr(model, "_can_set_attn_implementation", None)
    if accepts is None or not accepts():
        raise ValueError(
            f"the attention of {type(model).__name__} cannot be read: it does not use transformers' attention "
            "interface (remote code or an old port); a model class of transformers >= 5 does"
        )
    model.set_attn_implementation(name)


def _capturing_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    softcap: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    capture = _active.get()
    if capture is None:
        raise RuntimeError(f"the attention {NAME!r} works inside attention_capture() only: set the model's own again")
    _refuse_other_softmax(module, options)
    if dropout:
        raise ValueError(f"attention dropout must be 0 while capturing (got {dropout}): call model.eval()")
    layer = _layer_index(module)
    if layer in capture.layers:
        raise ValueError(f"layer {layer} ran twice in one capture: run one forward pass, without cross-attention")
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    rows = _Rows(query, key, attention_mask, scale=scale, softcap=softcap, causal=bool(causal))
    output = torch.empty_like(query[..., : value.shape[-1]]) if softcap else None
    capture.layers[layer] = _keep(capture, rows, value, output)
    if output is not None:
        return output.transpose(1, 2).contiguous(), None
    return sdpa_attention_forward(
        module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, is_causal=is_causal, **options
    )


def _refuse_other_softmax(module: torch.nn.Module, options: dict[str, Any]) -> None:
    for name in ("s_aux", "sinks", "position_bias", "head_mask"):
        if options.get(name) is not None:
            raise ValueError(
                f"the attention of {type(module).__name__} cannot be read: it adds {name!r} to the softmax, "
                "so its rows are no plain probabilities of the keys"
            )


def _layer_index(module: torch.nn.Module) -> int:
    index = getattr(module, "layer_idx", None)
    if not isinstance(index, int):
        raise ValueError(f"the attention of {type(module).__name__} cannot be read: it has no layer_idx (got {index})")
    return index


class _Rows:
    """Softmax rows of one layer, in float32, computed for any range of queries."""

    def __init__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        mask: torch.Tensor | None,
        *,
        scale: float,
        softcap: float | None,
        causal: bool,
    ) -> None:
        self.batch, self.heads, self.queries, self.width = query.shape
        self.keys, self.group = key.shape[2], self.heads // key.shape[1]
        self.query, self.key_T, self.mask = query, key.float().transpose(-1, -2), mask
        self.scale, self.softcap, self.causal = scale, softcap, causal

    def __call__(self, start: int, end: int) -> torch.Tensor:
        """Return (B, H, end - start, m) probabilities; the only large tensor made is the one returned."""
        query = self.query[:, :, start:end].float()
        grouped = query.reshape(self.batch, -1, self.group * (end - start), self.width)
        scores = (grouped @ self.key_T).view(self.batch, self.heads, end - start, self.keys)
        scores.mul_(self.scale)
        if self.softcap:
            scores.div_(self.softcap).tanh_().mul_(self.softcap)
        self._mask_(scores, start, end)
        scores.sub_(scores.amax(-1, keepdim=True)).exp_()
        return scores.div_(scores.sum(-1, keepdim=True))

    def _mask_(self, scores: torch.Tensor, start: int, end: int) -> None:
        """Hide keys in place; hidden ones keep the dtype's lowest value, as in eager, so that a row is never NaN."""
        lowest = torch.finfo(scores.dtype).min
        if self.mask is None:
            if self.causal and self.queries > 1:
                allowed = torch.ones(end - start, self.keys, dtype=torch.bool, device=scores.device)
                scores.masked_fill_(~allowed.tril(self.keys - self.queries + start), lowest)
            return
        mask = self.mask[..., start:end, : self.keys] if self.mask.shape[-2] > 1 else self.mask[..., : self.keys]
        if mask.dtype == torch.bool:
            scores.masked_fill_(~mask, lowest)
        else:
            scores.add_(mask).clamp_(min=lowest)


def _keep(capture: AttentionCapture, rows: _Rows, value: torch.Tensor, output: torch.Tensor | None) -> LayerAttention:
    """Return what a layer keeps; where ``output`` is given, fill it with probabilities @ value, chunk by chunk."""
    parts = [_keep_chunk(capture, rows, value, output, *ends) for ends in chunks(rows, capture.probability_bytes)]
    diagonals, *columns = zip(*parts, strict=True)
    batch, head, row, column, kept = (torch.cat(column) for column in columns)
    diagonal = torch.cat(diagonals, -1).transpose(1, 2).contiguous()
    return LayerAttention(diagonal=diagonal, batch=batch, head=head, row=row, column=column, value=kept)


def _keep_chunk(
    capture: AttentionCapture, rows: _Rows, value: torch.Tensor, output: torch.Tensor | None, start: int, end: int
) -> tuple[torch.Tensor, ...]:
    """Return the diagonal and the entries of some rows; their probabilities are freed on return."""
    probabilities = rows(start, end)
    if output is not None:
        output[:, :, start:end] = _weighted(probabilities, value, rows.group).to(output.dtype)
    diagonal = probabilities.diagonal(rows.keys - rows.queries + start, dim1=-2, dim2=-1)
    if not bool(torch.isfinite(diagonal).all()):
        raise ValueError(f"attention rows {start}..{end - 1} are not finite: the model's hidden states overflow")
    stored = diagonal.to(torch.float16).cpu()
    diagonal.zero_()
    return stored, *_entries(probabilities, start, capture)


def chunks(rows: _Rows, budget: int) -> Sequence[tuple[int, int]]:
    """Return (start, end) of query ranges whose probabilities, with one byte a value for the test, fit the budget."""
    row_bytes = rows.batch * rows.heads * rows.keys * (torch.float32.itemsize + torch.bool.itemsize)
    size = max(1, min(LONGEST_CHUNK, budget // row_bytes))
    return [(start, min(start + size, rows.queries)) for start in range(0, rows.queries, size)]


def _weighted(probabilities: torch.Tensor, value: torch.Tensor, group: int) -> torch.Tensor:
    batch, heads, queries, keys = probabilities.shape
    grouped = probabilities.view(batch, heads // group, group * queries, keys)
    return (grouped @ value.float()).view(batch, heads, queries, value.shape[-1])


def _entries(probabilities: torch.Tensor, start: int, capture: AttentionCapture) -> tuple[torch.Tensor, ...]:
    """Return batch, head, row, column (int32) and value (float16) of the entries to keep, on the CPU."""
    first = min(max(0, capture.first_row - start), probabilities.shape[2])
    wanted = probabilities[:, :, first:]
    kept = wanted >= capture.tau if capture.tau > 0 else wanted > 0
    batch, head, row, column = kept.nonzero(as_tuple=True)
    value = wanted[batch, head, row, column].to(torch.float16)
    places = [batch, head, row + (start + first), column]
    return (*(place.to(torch.int32).cpu() for place in places), value.cpu())


def entries_bound(rows: int, keys: int, channels: int, tau: float) -> int:
    """Return the most entries that can be kept: a row sums to 1, so floor(1 / tau) of it reach tau."""
    each = keys if tau <= 0 else min(keys, math.floor(1 / tau))
    return rows * channels * each
