"""TraceDet: Hallucination Detection from the Decoding Trace of Diffusion Large Language Models, as networks.

Chang, Yu, Wang, Chen, Yu, Torr, Gu; ICLR 2026, https://arxiv.org/abs/2510.01274; code: chang-sx/TraceDet.

A diffusion language model answers by T denoising passes. The trace A holds the entropy of every pass's prediction at
every canvas position. An extractor gives each pass a probability p_t of being kept, and a classifier decides from what
is kept whether the answer is hallucinated (an information bottleneck over passes).

    paper   A_t          tau_t              emb_t      p_t    M_t    A_sub       g          f
    here    values[:,t]  TimeEncoding(T)[t] embedded   keep   mask   pooled      extractor  head

Paper and code differ, and ``variant`` chooses: ``"paper"`` samples a hard mask over the raw trace and pulls p to a
prior by a KL term; ``"reference"`` (the code) pools encoder embeddings with the soft p and shrinks p by its L2 norm.
The latter is invariant to the scale of p, so p shrinks without end and only ratios mean anything; see the README.
Departures: KL is averaged over passes; scores use the expected mask, never a sample; traces may be ragged.

B traces, T passes, W channels (W = D canvas positions when the only feature is entropy), q time channels, E = W + q.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .losses import bernoulli_kl, mask_norm, mask_tv, poly1_cross_entropy, straight_through_mask

Variant = Literal["reference", "paper"]
Pool = Literal["mean", "selected"]
EXTRACTOR_WIDTH, EXTRACTOR_LAYERS, EXTRACTOR_DROPOUT = 32, 2, 0.1  # (code)
FULL_TRACE_WEIGHT = 0.2  # weight of the loss on the whole trace (code)
POOL_EPSILON = 1e-8  # (code)


class TraceOutput(NamedTuple):
    """What a network says about a batch.

    logits: (B, 2), class 1 = hallucinated; full_logits: the same of the whole trace, or None;
    keep: (B, T) probabilities, 0 at padded passes; embedded: (B, T, E) encoder output.
    """

    logits: Tensor
    full_logits: Tensor | None
    keep: Tensor
    embedded: Tensor


class TimeEncoding(nn.Module):
    """Sine and cosine of the pass number tau = 1, 2, … over periods from 1 to T, spaced geometrically.

    >>> TimeEncoding(4, 4)(1).shape
    torch.Size([1, 4])

    Args:
        steps: T
        dim: q, even and >= 4
    """

    def __init__(self, steps: int, dim: int) -> None:
        super().__init__()
        if dim < 4 or dim % 2:
            raise ValueError(f"time_dim must be even and >= 4 (got {dim})")
        self.register_buffer("periods", float(steps) ** torch.linspace(0.0, 1.0, dim // 2))

    def forward(self, count: int) -> Tensor:
        """Return (count, q), the encodings of the first ``count`` passes."""
        periods = self.get_buffer("periods")
        tau = torch.arange(1, count + 1, device=periods.device, dtype=periods.dtype)
        angle = tau[:, None] / periods
        return torch.cat([angle.sin(), angle.cos()], -1)


class ResidualFreeLayer(nn.Module):
    """A post-norm transformer layer with one head and no residual around its attention (code).

    The authors left the residual out so that masked input cannot leak.

    Args:
        width: E
        ff: width of the feed-forward part
        dropout: probability
    """

    def __init__(self, width: int, *, ff: int, dropout: float) -> None:
        super().__init__()
        self.self_attn = nn.MultiheadAttention(width, 1, dropout=dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(width, ff), nn.Linear(ff, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, src: Tensor, src_key_padding_mask: Tensor | None = None) -> Tensor:
        """Return (B, T, E); the mask is (B, T) bool, True at padded passes, or None."""
        attended, _ = self.self_attn(src, src, src, key_padding_mask=src_key_padding_mask, need_weights=False)
        hidden: Tensor = self.norm1(self.dropout(attended))
        widened = self.dropout(functional.relu(self.linear1(hidden)))
        output: Tensor = self.norm2(hidden + self.dropout(self.linear2(widened)))
        return output


class TraceEncoder(nn.Module):
    """Embeds every pass of a trace in the light of the others.

    Args:
        width: W
        steps: T of the time encoding
        time_dim: q
        layers: number of transformer layers
        ff: feed-forward width
        dropout: probability
        residual: standard layers, with the residual that the authors left out
    """

    def __init__(
        self, width: int, *, steps: int, time_dim: int, layers: int, ff: int, dropout: float, residual: bool = False
    ) -> None:
        super().__init__()
        self.width = width + time_dim
        self.project = nn.Linear(width, width)
        self.time = TimeEncoding(steps, time_dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(self.width, 1, ff, dropout, batch_first=True)
            if residual
            else ResidualFreeLayer(self.width, ff=ff, dropout=dropout)
            for _ in range(layers)
        )

    def forward(self, values: Tensor, padding: Tensor | None = None) -> Tensor:
        """Return (B, T, E) of (B, T, W) values; padding is (B, T) bool, True at padded passes."""
        time = self.time(values.shape[1]).expand(len(values), -1, -1)
        hidden = torch.cat([time, self.project(values)], -1)
        for layer in self.layers:
            hidden = layer(hidden, src_key_padding_mask=padding)
        return hidden


class StepExtractor(nn.Module):
    """Decides for each pass whether to keep it: a decoder over the raw trace that attends to the embeddings.

    Args:
        width: W
        steps: T of the time encoding
        time_dim: q
    """

    def __init__(self, width: int, *, steps: int, time_dim: int) -> None:
        super().__init__()
        full = width + time_dim
        self.time = TimeEncoding(steps, time_dim)
        self.norm = nn.LayerNorm(full)
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(full, 1, EXTRACTOR_WIDTH, EXTRACTOR_DROPOUT, batch_first=True)
            for _ in range(EXTRACTOR_LAYERS)
        )
        self.classify = nn.Linear(full, 2)
        nn.init.xavier_uniform_(self.classify.weight)
        nn.init.constant_(self.classify.bias, 0.01)

    def forward(self, values: Tensor, embedded: Tensor, padding: Tensor | None = None) -> Tensor:
        """Return (B, T) keep probabilities, 0 at padded passes, of (B, T, W) values and (B, T, E) embeddings."""
        time = self.time(values.shape[1]).expand(len(values), -1, -1)
        hidden = self.norm(torch.cat([values, time], -1))
        for layer in self.layers:
            hidden = layer(hidden, embedded, tgt_key_padding_mask=padding, memory_key_padding_mask=padding)
        keep: Tensor = self.classify(hidden).softmax(-1)[..., 1]
        return keep if padding is None else keep.masked_fill(padding, 0.0)


class ClassifierHead(nn.Module):
    """Linear, ReLU, LayerNorm, Linear to two classes.

    Args:
        width: input width
        normalise: a LayerNorm without parameters in front (code)
    """

    def __init__(self, width: int, *, normalise: bool) -> None:
        super().__init__()
        self.normalise = normalise
        self.layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.LayerNorm(width), nn.Linear(width, 2))

    def forward(self, pooled: Tensor) -> Tensor:
        """Return (B, 2) logits of (B, width)."""
        logits: Tensor = self.layers(functional.layer_norm(pooled, pooled.shape[-1:]) if self.normalise else pooled)
        return logits


class TraceClassifier(nn.Module):
    """The whole network: encoder, extractor, pooling and head, in either variant.

    Args:
        width: W
        steps: T of the time encoding
        canvas: D, by which the reference variant divides the sum over the whole trace
        variant: ``"reference"`` or ``"paper"``
        layers, ff, time_dim, dropout, encoder_residual: of the encoder
        pool: of the paper variant: ``"mean"`` divides by T, ``"selected"`` by the sum of the mask
        beta, tau, temperature: of the paper variant: weight of the KL, prior keep rate, Gumbel temperature
        lam, gamma: of the reference variant: weight of the L2 norm of p and of its variation
    """

    def __init__(
        self,
        width: int,
        *,
        steps: int,
        canvas: int,
        variant: Variant = "reference",
        layers: int = 3,
        ff: int = 8,
        time_dim: int = 8,
        dropout: float = 0.2,
        encoder_residual: bool = False,
        pool: Pool = "mean",
        beta: float = 1.0,
        tau: float = 0.25,
        temperature: float = 1.0,
        lam: float = 0.1,
        gamma: float = 0.0,
    ) -> None:
        super().__init__()
        self.variant, self.canvas, self.pool = variant, canvas, pool
        self.beta, self.tau, self.temperature, self.lam, self.gamma = beta, tau, temperature, lam, gamma
        self.encoder = TraceEncoder(
            width, steps=steps, time_dim=time_dim, layers=layers, ff=ff, dropout=dropout, residual=encoder_residual
        )
        self.extractor = StepExtractor(width, steps=steps, time_dim=time_dim)
        pooled_width = width if variant == "paper" else self.encoder.width
        self.head = ClassifierHead(pooled_width, normalise=variant == "reference")

    def forward(self, values: Tensor, lengths: Tensor) -> TraceOutput:
        """Return the output for (B, T, W) values of which trace b has ``lengths[b]`` valid passes."""
        padding = padding_mask(lengths, values.shape[1])
        embedded = self.encoder(values, padding)
        keep = self.extractor(values, embedded, padding)
        if self.variant == "paper":
            mask = straight_through_mask(keep, self.temperature) if self.training else keep
            if padding is not None:
                mask = mask.masked_fill(padding, 0.0)
            return TraceOutput(self.head(pool_trace(values, mask, lengths, self.pool)), None, keep, embedded)
        kept = pool_embeddings(embedded, keep)
        valid = embedded if padding is None else embedded.masked_fill(padding[..., None], 0.0)
        return TraceOutput(self.head(kept), self.head(valid.sum(1) / self.canvas), keep, embedded)

    def loss(self, output: TraceOutput, target: Tensor, lengths: Tensor) -> Tensor:
        """Return the variant's training loss; target is (B, 2), the probabilities of faithful and hallucinated."""
        padding = padding_mask(lengths, output.keep.shape[1])
        valid = None if padding is None else ~padding
        if self.variant == "paper":
            return functional.cross_entropy(output.logits, target) + self.beta * bernoulli_kl(
                output.keep, self.tau, valid
            )
        assert output.full_logits is not None
        loss = poly1_cross_entropy(output.logits, target)
        loss = loss + FULL_TRACE_WEIGHT * poly1_cross_entropy(output.full_logits, target)
        loss = loss + self.lam * mask_norm(output.keep, valid)
        return loss + self.gamma * mask_tv(output.keep, valid) if self.gamma else loss


def padding_mask(lengths: Tensor, steps: int) -> Tensor | None:
    """Return (B, T) bool, True at padded passes, or None where there are none."""
    padding = torch.arange(steps, device=lengths.device) >= lengths[:, None]
    return padding if bool(padding.any()) else None


def pool_embeddings(embedded: Tensor, keep: Tensor) -> Tensor:
    """Return (B, E), the mean of the embeddings weighted by keep (B, T); the scale of keep does not matter (code)."""
    return (keep[..., None] * embedded).sum(1) / (keep.sum(1, keepdim=True) + POOL_EPSILON)


def pool_trace(values: Tensor, mask: Tensor, lengths: Tensor, pool: Pool) -> Tensor:
    """Return (B, W), the mean of the masked trace over its passes, or over the passes selected (paper, eq. 5)."""
    total = (mask[..., None] * values).sum(1)
    return total / (mask.sum(1, keepdim=True) + POOL_EPSILON if pool == "selected" else lengths[:, None])


def step_weights(output: TraceOutput, variant: Variant) -> Tensor:
    """Return (B, T): p of the paper variant; p over its sum of the reference variant, whose scale means nothing."""
    if variant == "paper":
        return output.keep
    return output.keep / output.keep.sum(1, keepdim=True).clamp(min=torch.finfo(output.keep.dtype).tiny)


def embedding_spread(embedded: Tensor, lengths: Tensor) -> float:
    """Return the standard deviation of embeddings across passes over their root mean square, mean over traces.

    Near 0 every pass has the same embedding, and weights over passes cannot matter.
    """
    spreads = []
    for rows, length in zip(embedded, lengths.tolist(), strict=True):
        valid = rows[:length].detach().double()
        spreads.append(float(valid.var(0, correction=0).mean().sqrt() / valid.square().mean().sqrt()))
    return sum(spreads) / len(spreads)
