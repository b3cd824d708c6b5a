"""What the method is compared with; it has nothing to tune."""

from __future__ import annotations

import torch

from .wavefront import WavefrontDecoder


class Sampling(WavefrontDecoder):
    """Draws every token from the model's whole distribution."""

    def choose(self, logits: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
        """Return (B,) tokens drawn for (B, V) logits."""
        return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]
