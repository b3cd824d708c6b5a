# mypy: disable-error-code="no-untyped-call"
"""A small bidirectional transformer with rotary positions and grouped key heads, shared by the stand-ins' code."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional


def rotated(states: Any, positions: Any, theta: Any) -> Any:
    """Return (B, heads, S, D) states turned by their (B, S) positions."""
    width = states.shape[-1]
    frequency = theta ** (-torch.arange(0, width, 2, device=states.device).float() / width)
    angle = positions[:, None, :, None].float() * frequency
    cosine, sine = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    first, second = states.chunk(2, -1)
    return (states.float() * cosine + torch.cat([-second, first], -1).float() * sine).to(states.dtype)


class Block(nn.Module):
    """Pre-norm attention and gated feed-forward."""

    def __init__(self, hidden: Any, heads: Any, key_heads: Any, inner: Any, theta: Any, attention_bias: Any) -> None:
        super().__init__()
        self.heads, self.key_heads, self.theta = heads, key_heads, theta
        width = hidden // heads
        self.attn_norm, self.ff_norm = nn.RMSNorm(hidden, eps=1e-5), nn.RMSNorm(hidden, eps=1e-5)
        self.q_proj = nn.Linear(hidden, heads * width, bias=attention_bias)
        self.k_proj = nn.Linear(hidden, key_heads * width, bias=attention_bias)
        self.v_proj = nn.Linear(hidden, key_heads * width, bias=attention_bias)
        self.attn_out = nn.Linear(hidden, hidden, bias=False)
        self.ff_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.ff_out = nn.Linear(inner, hidden, bias=False)

    def forward(self, states: Any, positions: Any, allowed: Any) -> Any:
        """Return the block's output; ``allowed`` is None or a bool mask that broadcasts to (B, heads, S, S)."""
        batch, length, hidden = states.shape
        normed = self.attn_norm(states)
        query = self.q_proj(normed).view(batch, length, self.heads, -1).transpose(1, 2)
        key = self.k_proj(normed).view(batch, length, self.key_heads, -1).transpose(1, 2)
        value = self.v_proj(normed).view(batch, length, self.key_heads, -1).transpose(1, 2)
        query, key = rotated(query, positions, self.theta), rotated(key, positions, self.theta)
        repeats = self.heads // self.key_heads
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
        states = states + self.attn_out(mixed.transpose(1, 2).reshape(batch, length, hidden))
        normed = self.ff_norm(states)
        return states + self.ff_out(functional.silu(self.ff_proj(normed)) * self.up_proj(normed))
