"""Builds a ``DenoisingTrace`` per sequence while the decoding loop runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from iclr26_lm.decoding import DecodingState
from iclr26_lm.denoising_trace import DenoisingTrace
from iclr26_lm.labels import Span

_SCALARS = ("entropy", "conf", "margin")


class TraceRecorder:
    """A recorder for ``decode``; afterwards ``traces()`` gives one trace per sequence of the batch.

        recorder = TraceRecorder()
        decode(model, prompts, length=32, recorders=[recorder])
        traces = recorder.traces()

    Only scalars per position are kept; they are moved to the CPU as they come.

    Args:
        candidates: keep the positions that the schedule allowed
    """

    def __init__(self, *, candidates: bool = False) -> None:
        self._keep_candidates = candidates
        self._state: DecodingState | None = None
        self._passes: list[dict[str, torch.Tensor]] = []

    def __call__(self, step: int, state: DecodingState) -> None:
        """Keep this pass's scalars; a pass 0 begins a new batch."""
        if step == 0:
            self._passes = []
        self._state = state
        kept = {name: getattr(state.statistics, name).cpu() for name in _SCALARS}
        kept |= {
            "x0": state.guess.to(torch.int32).cpu(),
            "committed": state.committed.cpu(),
            "remasked": state.remasked.cpu(),
            "active": state.masked.any(-1).cpu(),
        }
        if self._keep_candidates:
            kept["candidates"] = state.candidates.cpu()
        self._passes.append(kept)

    def traces(
        self,
        *,
        labels: Sequence[int | Sequence[int] | None] | None = None,
        spans: Sequence[Sequence[Span]] | None = None,
        meta: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[DenoisingTrace]:
        """Return the batch's traces; each ends with the last pass in which its sequence had a mask.

        Args:
            labels, spans, meta: one entry per sequence

        Raises:
            RuntimeError: nothing was recorded
            ValueError: another number of entries than sequences
        """
        if self._state is None:
            raise RuntimeError("nothing was recorded: pass the recorder to decode(..., recorders=[recorder])")
        size = len(self._state.tokens)
        for what, values in (("labels", labels), ("spans", spans), ("meta", meta)):
            if values is not None and len(values) != size:
                raise ValueError(f"{what} must have one entry per sequence, {size} (got {len(values)})")
        stacked = {name: torch.stack([kept[name] for kept in self._passes], 1) for name in self._passes[0]}
        return [
            self._trace(
                {name: values[row] for name, values in stacked.items()},
                row,
                labels=None if labels is None else labels[row],
                spans=() if spans is None else spans[row],
                meta={} if meta is None else meta[row],
            )
            for row in range(size)
        ]

    def _trace(
        self, passes: dict[str, torch.Tensor], row: int, *, labels: Any, spans: Sequence[Span], meta: Mapping[str, Any]
    ) -> DenoisingTrace:
        state = self._state
        assert state is not None
        active = passes.pop("active")
        kept = {name: values[active] for name, values in passes.items()}
        real = state.attention_mask[row, : state.prompt_length].bool()
        remasking = bool(kept["remasked"].any())
        return DenoisingTrace(
            **{name: kept[name] for name in (*_SCALARS, "x0")},
            commit_step=commit_steps(kept["committed"], kept["remasked"]),
            committed=kept["committed"] if remasking else None,
            candidates=_packed(kept["candidates"]) if self._keep_candidates else None,
            prompt_ids=state.tokens[row, : state.prompt_length][real].to(torch.int32).cpu(),
            output_ids=state.canvas[row].to(torch.int32).cpu(),
            labels=labels,
            spans=tuple(spans),
            meta={**state.settings, "remasking": remasking, "filled_with_eos": int(state.filled[row].sum()), **meta},
        )


def commit_steps(committed: torch.Tensor, remasked: torch.Tensor) -> torch.Tensor:
    """Return (G,) int32, the last pass that committed each position and was not undone; -1 where there is none."""
    steps = torch.full(committed.shape[1:], -1, dtype=torch.int32)
    for number, (now, undone) in enumerate(zip(committed, remasked, strict=True)):
        steps[now] = number
        steps[undone] = -1
    return steps


def _packed(candidates: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.packbits(candidates.numpy(), axis=1))
