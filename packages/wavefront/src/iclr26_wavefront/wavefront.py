"""Greedy decoding: at every step the most likely token.

Start of ``iclr26 new``; after Holtzman, Buys, Du, Forbes and Choi, https://arxiv.org/abs/1904.09751: sampling from the
whole distribution draws from an unreliable tail, maximisation repeats itself. Here is the maximisation.

Shapes: B sequences, P tokens of the prompts, S tokens of the sequences, V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Decoded:
    """What a decoder returns: ``sequences`` (B, S) with the prompts in front, and the ``passes`` of the model."""

    sequences: torch.Tensor
    passes: int


class WavefrontDecoder:
    """Decodes the most likely token at every step; it draws nothing at random.

    Args:
        max_new_tokens: how many tokens to add to the prompts, fewer if every sequence has ended
        end_token_id: a sequence that has this token gets nothing but this token behind it

    Raises:
        ValueError: ``max_new_tokens`` is below 1

    Example:
        >>> import torch
        >>> from iclr26_wavefront import Bigram, WavefrontDecoder
        >>> model = Bigram.of([[0, 1, 2, 0, 1, 2]], vocabulary=3)
        >>> WavefrontDecoder(max_new_tokens=4).generate(model, torch.tensor([[0]])).sequences.tolist()
        [[0, 1, 2, 0, 1]]
    """

    def __init__(self, *, max_new_tokens: int = 16, end_token_id: int | None = None) -> None:
        if max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be >= 1 (got {max_new_tokens})")
        self.max_new_tokens, self.end_token_id = max_new_tokens, end_token_id

    def generate(self, model: Any, inputs: torch.Tensor, *, generator: torch.Generator | None = None) -> Decoded:
        """Return the sequences; prompts must have one length, since padding is taken for tokens like others.

        Args:
            model: called with (B, S) token ids it returns logits (B, S, V), or an object that has them as ``logits``
            inputs: (B, P) integer token ids
            generator: not used by this decoder

        Raises:
            ValueError: the prompts are no such ids
        """
        sequences = checked_prompts(inputs).clone()
        passes = 0
        while passes < self.max_new_tokens:
            passes += 1
            following = self.choose(last_logits(model, sequences), generator)
            if self.end_token_id is not None:
                ended = (sequences[:, inputs.shape[1] :] == self.end_token_id).any(dim=1)
                following = torch.where(ended, self.end_token_id, following)
            sequences = torch.cat([sequences, following[:, None]], dim=1)
            if self.end_token_id is not None and bool((following == self.end_token_id).all()):
                break
        return Decoded(sequences, passes)

    def choose(self, logits: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
        """Return (B,) the next tokens for (B, V) logits; of equal ones the first."""
        return logits.argmax(dim=-1)


@torch.no_grad()
def last_logits(model: Any, sequences: torch.Tensor) -> torch.Tensor:
    """Return (B, V) the model's logits for what follows the sequences."""
    output = model(sequences)
    logits: torch.Tensor = getattr(output, "logits", output)
    return logits[:, -1]


def checked_prompts(inputs: torch.Tensor) -> torch.Tensor:
    """Return the prompts; ValueError if they are no (B, P) integer ids >= 0."""
    if inputs.dim() != 2 or 0 in inputs.shape:
        raise ValueError(f"inputs must have shape (B, P), B and P >= 1 (got {tuple(inputs.shape)})")
    if inputs.is_floating_point() or inputs.is_complex() or inputs.dtype == torch.bool:
        raise ValueError(f"inputs must be integer token ids (got {inputs.dtype})")
    if int(inputs.min()) < 0:
        raise ValueError(f"inputs must be token ids >= 0 (got {int(inputs.min())})")
    return inputs
