"""How many masked positions each pass commits, and which may be committed.

The arithmetic is three pure functions. A ``Schedule`` is what the decoding loop asks; it sees the state of the canvas
and no model. B sequences, G canvas positions, N masked at the start, T passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch

if TYPE_CHECKING:
    from iclr26_lm.decoding import DecodingState

DREAM_EPS = 1e-3


def even_counts(masked: int, steps: int) -> list[int]:
    """Return the tokens to commit in each of ``steps`` passes: the even split, remainder first (LLaDA).

    >>> even_counts(10, 4)
    [3, 3, 2, 2]
    """
    _check_positive(masked=masked + 1, steps=steps)
    return [masked // steps + (step < masked % steps) for step in range(steps)]


def block_counts(canvas: int, steps: int, block: int) -> list[list[int]]:
    """Return one even split per block of ``block`` positions; the passes are shared out equally.

    >>> block_counts(12, 6, 4)
    [[2, 2], [2, 2], [2, 2]]

    Raises:
        ValueError: ``block`` does not divide the canvas, or the blocks do not divide the steps
    """
    _check_positive(canvas=canvas, steps=steps, block=block)
    if canvas % block:
        raise ValueError(f"block must divide the canvas of {canvas} (got {block})")
    blocks = canvas // block
    if steps % blocks:
        raise ValueError(f"steps must be a multiple of the {blocks} blocks (got {steps})")
    return [even_counts(block, steps // blocks) for _ in range(blocks)]


def dream_counts(masked: int, steps: int, *, eps: float = DREAM_EPS) -> list[int]:
    """Return Dream's counts: int(m * (1 - tau[t+1] / tau[t])) of the m masks left, all in the last pass.

    >>> dream_counts(12, 4)
    [2, 3, 3, 4]
    """
    _check_positive(masked=masked + 1, steps=steps)
    time = torch.linspace(1, eps, steps + 1)
    counts, left = [], masked
    for step in range(steps):
        share = float(1 - time[step + 1] / time[step])
        count = int(left * share) if step < steps - 1 else left
        counts.append(count)
        left -= count
    return counts


def _check_positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} must be >= 1 (got {value})")


@runtime_checkable
class Schedule(Protocol):
    """Decides which masked positions may be committed in a pass, and how many; one object serves one decoding."""

    def begin(self, masked: torch.Tensor, known: torch.Tensor, steps: int) -> None:
        """Start a decoding: (B, G) bool masked positions, (B, P) bool prompt tokens that are no padding, T passes."""

    def candidates(self, state: DecodingState) -> torch.Tensor:
        """Return (B, G) bool: positions that may be committed in this pass, a subset of ``state.masked``."""

    def count(self, state: DecodingState) -> torch.Tensor:
        """Return (B,) int64: how many to commit in this pass; at most the candidates, of which there may be fewer."""

    def update(self, state: DecodingState) -> None:
        """See the state after committing; ``state.remask(…)`` masks positions again."""

    def settings(self) -> dict[str, Any]:
        """Return the name and the settings, for the trace."""


class _Counted:
    """Counts that are fixed at the start: (T, B) int64."""

    counts: torch.Tensor

    def count(self, state: DecodingState) -> torch.Tensor:
        """Return this pass's row."""
        return self.counts[state.step]

    def candidates(self, state: DecodingState) -> torch.Tensor:
        """Return every masked position."""
        return state.masked

    def update(self, state: DecodingState) -> None:
        """Nothing to keep."""


@dataclass
class EvenSchedule(_Counted):
    """Any masked position, an even number in each pass (LLaDA with one block)."""

    def begin(self, masked: torch.Tensor, known: torch.Tensor, steps: int) -> None:
        """Split each sequence's masked positions evenly."""
        rows = [even_counts(int(count), steps) for count in masked.sum(-1)]
        self.counts = torch.tensor(rows, device=masked.device).T

    def settings(self) -> dict[str, Any]:
        """Return the name."""
        return {"schedule": "even"}


@dataclass
class DreamSchedule(_Counted):
    """Any masked position, Dream's counts.

    Args:
        eps: time at which Dream's clock ends
    """

    eps: float = DREAM_EPS

    def begin(self, masked: torch.Tensor, known: torch.Tensor, steps: int) -> None:
        """Compute each sequence's counts."""
        rows = [dream_counts(int(count), steps, eps=self.eps) for count in masked.sum(-1)]
        self.counts = torch.tensor(rows, device=masked.device).T

    def settings(self) -> dict[str, Any]:
        """Return the name and eps."""
        return {"schedule": "dream", "eps": self.eps}


@dataclass
class BlockSchedule(_Counted):
    """Blocks from left to right; within one, any masked position, an even number in each pass (LLaDA).

    Args:
        block: positions of a block; divides the canvas, and the number of blocks divides the passes
    """

    block: int

    def begin(self, masked: torch.Tensor, known: torch.Tensor, steps: int) -> None:
        """Split every block's masked positions evenly over its share of the passes."""
        canvas = masked.shape[1]
        self.passes = len(block_counts(canvas, steps, self.block)[0])
        in_block = masked.view(len(masked), -1, self.block).sum(-1)
        rows = [[n for count in row for n in even_counts(int(count), self.passes)] for row in in_block]
        self.counts = torch.tensor(rows, device=masked.device).T

    def candidates(self, state: DecodingState) -> torch.Tensor:
        """Return the masked positions of this pass's block."""
        start = (state.step // self.passes) * self.block
        place = torch.arange(state.masked.shape[1], device=state.masked.device)
        return state.masked & (place >= start) & (place < start + self.block)

    def settings(self) -> dict[str, Any]:
        """Return the name and the block's length."""
        return {"schedule": "block", "block": self.block}


@dataclass
class ThresholdSchedule(_Counted):
    """Blocks from left to right; a pass commits whatever is surer than ``threshold``, and the even count at least.

    This is the rule of LLaDA2's and diffusers' block refinement. Fewer passes are used than allowed.

    Args:
        block: positions of a block; divides the canvas
        threshold: probability from which a position is committed at once
    """

    block: int
    threshold: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 < self.threshold <= 1.0:
            raise ValueError(f"threshold must be in (0, 1] (got {self.threshold})")

    def begin(self, masked: torch.Tensor, known: torch.Tensor, steps: int) -> None:
        """Compute the least number of tokens of every pass."""
        self.passes = len(block_counts(masked.shape[1], steps, self.block)[0])
        self.least = -(-self.block // self.passes)

    def candidates(self, state: DecodingState) -> torch.Tensor:
        """Return the masked positions of each sequence's first block that is not done."""
        blocks = state.masked.view(len(state.masked), -1, self.block)
        open_block = blocks.any(-1)
        first = open_block & (open_block.cumsum(-1) == 1)
        return (blocks & first[..., None]).flatten(1)

    def count(self, state: DecodingState) -> torch.Tensor:
        """Return how many candidates are sure enough, and at least the scheduled number."""
        sure = (state.candidates & (state.statistics.conf >= self.threshold)).sum(-1)
        return sure.clamp(min=self.least)

    def settings(self) -> dict[str, Any]:
        """Return the name, the block's length and the threshold."""
        return {"schedule": "threshold", "block": self.block, "threshold": self.threshold}
