"""A minute language model: the counts of which token follows which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Self

import torch


class Bigram(torch.nn.Module):
    """Returns for every token the logarithm of the share with which each token follows it.

    Args:
        logits: (V, V), row by the token before
    """

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.following = torch.nn.Embedding(logits.shape[0], logits.shape[1], _weight=logits)

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]], *, vocabulary: int, smoothing: float = 0.01) -> Self:
        """Return the model of the sequences' counts, each with ``smoothing`` more than was seen."""
        counts = torch.full((vocabulary, vocabulary), smoothing)
        for sequence in sequences:
            for before, after in pairwise(sequence):
                counts[before, after] += 1
        return cls((counts / counts.sum(dim=1, keepdim=True)).log())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (B, S, V) logits for (B, S) token ids."""
        logits: torch.Tensor = self.following(tokens)
        return logits
