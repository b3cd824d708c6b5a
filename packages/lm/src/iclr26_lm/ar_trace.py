"""One prompt and its response, as an autoregressive language model saw them.

P prompt tokens and G generated tokens make n = P + G - 1 *nodes*: the last generated token is never fed back.
L layers of H heads make C = L * H channels, c = l * H + h. Row P - 1 + i is the state that *predicted* generated token
i, so the G response rows are r0 = P - 1 … n - 1. d is the width of the residual stream, E the number of edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from iclr26_lm.labels import Span, absent, as_labels, as_spans

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True, eq=False)
class ARTrace:
    """Attention, residual stream and token probabilities of one answer.

    Args:
        input_ids: (P + G,) int32, prompt then response
        prompt_len: P
        attn_diag: (n, C) float16, attention of every token to itself, not thresholded
        attn_row: (E,) int32, the attending token i of each edge
        attn_col: (E,) int32, the attended token j < i
        attn_indptr: (E + 1,) int64, where each edge's entries begin in the two arrays below
        attn_chan: (nnz,) uint16 (uint32 for more than 65,536 channels), channel of each entry >= tau
        attn_val: (nnz,) float16, its value; an edge exists iff it has an entry
        hidden: layer -> (n, d) float16 or bfloat16; 0 = embeddings, l = output of block l before any final norm
        token_logprob: (G,) float32, natural logarithm of each generated token's probability
        token_entropy: (G,) float32, nats, over the full vocabulary
        topk_ids: (G, k) int32, most probable first
        topk_logprob: (G, k) float32
        spans: (start, end, name), half-open, in generated tokens
        labels: (G,) or () int8; 1 = hallucinated, 0 = faithful, -1 = unknown
        meta: model, tau, layers, dtype, question id and whatever else is worth keeping; JSON values only
    """

    kind: ClassVar[str] = "ar"
    input_ids: torch.Tensor
    prompt_len: int
    attn_diag: torch.Tensor
    attn_row: torch.Tensor
    attn_col: torch.Tensor
    attn_indptr: torch.Tensor
    attn_chan: torch.Tensor
    attn_val: torch.Tensor
    token_logprob: torch.Tensor
    token_entropy: torch.Tensor
    topk_ids: torch.Tensor
    topk_logprob: torch.Tensor
    hidden: Mapping[int, torch.Tensor] = field(default_factory=dict)
    spans: tuple[Span, ...] = field(default_factory=tuple)
    labels: torch.Tensor | None = field(default_factory=absent)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.prompt_len < len(self.input_ids):
            raise ValueError(
                f"prompt_len must be in 1..{len(self.input_ids) - 1}, leaving a response (got {self.prompt_len})"
            )
        length = self.response_length
        object.__setattr__(self, "labels", as_labels(self.labels, length=length))
        object.__setattr__(self, "spans", as_spans(self.spans, length=length))
        _check_shape("attn_diag", self.attn_diag, (self.nodes, None))
        _check_shape("attn_col", self.attn_col, (len(self.attn_row),))
        _check_shape("attn_indptr", self.attn_indptr, (len(self.attn_row) + 1,))
        _check_shape("attn_val", self.attn_val, (len(self.attn_chan),))
        for name in ("token_logprob", "token_entropy"):
            _check_shape(name, getattr(self, name), (length,))
        for layer, states in self.hidden.items():
            _check_shape(f"hidden[{layer}]", states, (self.nodes, None))

    @property
    def nodes(self) -> int:
        """n = P + G - 1."""
        return len(self.input_ids) - 1

    @property
    def response_length(self) -> int:
        """G, the number of generated tokens."""
        return len(self.input_ids) - self.prompt_len

    @property
    def response_rows(self) -> range:
        """The rows P - 1 … n - 1; row P - 1 + i predicted generated token i."""
        return range(self.prompt_len - 1, self.nodes)

    def dense_attention(self) -> torch.Tensor:
        """Return (C, n, n) float32 attention: the kept entries, the diagonal, and zeros elsewhere."""
        import torch

        channels = self.attn_diag.shape[1]
        dense = torch.zeros(channels, self.nodes, self.nodes)
        edge = torch.repeat_interleave(torch.arange(len(self.attn_row)), self.attn_indptr.diff())
        row, column = self.attn_row[edge].long(), self.attn_col[edge].long()
        dense[self.attn_chan.long(), row, column] = self.attn_val.float()
        diagonal = torch.arange(self.nodes)
        dense[:, diagonal, diagonal] = self.attn_diag.float().T
        return dense


def _check_shape(name: str, tensor: torch.Tensor, shape: tuple[int | None, ...]) -> None:
    got = tuple(tensor.shape)
    if len(got) != len(shape) or any(want is not None and want != have for want, have in zip(shape, got, strict=True)):
        raise ValueError(f"{name} must have shape {shape} (got {got})")
