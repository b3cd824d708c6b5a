"""Draws tokens from logits: exact Gumbel-max in float64, and the usual cuts of the distribution.

x0 = argmax(logits / temperature + g), g = -log(-log u), u uniform. LLaDA's ``exp(logits) / (-log u) ** temperature``
has the same argmax (take logarithms, divide by the temperature). In low precision the noise is coarse and the
distribution another one (arXiv 2409.02908), so the noise is drawn and added in float64, whatever the logits are.
"""

from __future__ import annotations

import torch

CHUNK_BYTES = 64 * 2**20


def gumbel_argmax(
    logits: torch.Tensor, temperature: float, *, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return (…) int64 tokens drawn from softmax(logits / temperature); the argmax at temperature 0.

    Args:
        logits: (…, V); -inf is never drawn
        temperature: >= 0
        generator: source of the noise, on the logits' device

    Raises:
        ValueError: a negative temperature
    """
    if temperature < 0:
        raise ValueError(f"temperature must be >= 0 (got {temperature})")
    if temperature == 0:
        return logits.argmax(-1)
    flat = logits.reshape(-1, logits.shape[-1])
    size = max(1, CHUNK_BYTES // (8 * logits.shape[-1]))
    drawn = [_draw(flat[start : start + size], temperature, generator) for start in range(0, len(flat), size)]
    return torch.cat(drawn).view(logits.shape[:-1])


def _draw(logits: torch.Tensor, temperature: float, generator: torch.Generator | None) -> torch.Tensor:
    uniform = torch.rand(logits.shape, dtype=torch.float64, device=logits.device, generator=generator)
    tiny = torch.finfo(torch.float64).tiny
    gumbel = -torch.log(-torch.log(uniform.clamp_(min=tiny)))
    return (logits.double() / temperature + gumbel).argmax(-1)


def cut_distribution(logits: torch.Tensor, *, top_k: int | None = None, top_p: float | None = None) -> torch.Tensor:
    """Return logits with -inf outside the ``top_k`` best and outside the smallest set that reaches ``top_p``.

    Raises:
        ValueError: ``top_k`` below 1 or ``top_p`` outside (0, 1]
    """
    if top_k is not None:
        if top_k < 1:
            raise ValueError(f"top_k must be >= 1 (got {top_k})")
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    if top_p is not None:
        if not 0.0 < top_p <= 1.0:
            raise ValueError(f"top_p must be in (0, 1] (got {top_p})")
        ordered = logits.float().sort(dim=-1, descending=True, stable=True)
        before = ordered.values.softmax(-1).cumsum(-1) - ordered.values.softmax(-1)
        outside = torch.zeros_like(before, dtype=torch.bool).scatter(-1, ordered.indices, before >= top_p)
        logits = logits.masked_fill(outside, -torch.inf)
    return logits


def guided_logits(conditional: torch.Tensor, unconditional: torch.Tensor, scale: float) -> torch.Tensor:
    """Return classifier-free guidance, l_u + (scale + 1)(l_c - l_u); scale 0 is the conditional logits."""
    return unconditional + (scale + 1.0) * (conditional - unconditional)
