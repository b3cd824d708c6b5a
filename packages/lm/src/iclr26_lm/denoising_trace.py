"""One answer of a masked diffusion language model, pass by pass.

G canvas positions and T recorded forward passes; t = 0 is the first pass (all masked), t = T - 1 the last. Everything
is a scalar per position: full probabilities are never stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from iclr26_lm.labels import Span, absent, as_labels, as_spans

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, kw_only=True, eq=False)
class DenoisingTrace:
    """What the model predicted at every position in every pass, before committing.

    Args:
        entropy: (T, G) float32, nats over the full vocabulary, committed positions included
        x0: (T, G) int32, the pass's full clean guess: argmax or sample where masked, the committed token elsewhere
        conf: (T, G) float32, probability of ``x0``
        margin: (T, G) float32, top-1 minus top-2 probability
        commit_step: (G,) int32, pass at which the position was committed (the last one, if it was masked again);
            -1 = given
        prompt_ids: (P,) int32, without padding
        output_ids: (G,) int32, the canvas at the end
        committed: (T, G) bool, tokens committed in pass t; only where a decoder masks positions again
        candidates: (T, ceil(G / 8)) uint8, packed bits (``numpy.packbits``): positions the schedule allowed in pass t
        spans: (start, end, name), half-open, in canvas positions
        labels: (G,) or () int8; 1 = hallucinated, 0 = faithful, -1 = unknown
        meta: schedule and its settings, steps, guidance, temperature, mask and eos ids, …; JSON values only
    """

    kind: ClassVar[str] = "denoising"
    entropy: torch.Tensor
    x0: torch.Tensor
    conf: torch.Tensor
    margin: torch.Tensor
    commit_step: torch.Tensor
    prompt_ids: torch.Tensor
    output_ids: torch.Tensor
    committed: torch.Tensor | None = field(default_factory=absent)
    candidates: torch.Tensor | None = field(default_factory=absent)
    spans: tuple[Span, ...] = field(default_factory=tuple)
    labels: torch.Tensor | None = field(default_factory=absent)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = tuple(self.entropy.shape)
        if len(shape) != 2:
            raise ValueError(f"entropy must have shape (T, G) (got {shape})")
        for name in ("x0", "conf", "margin", "committed"):
            tensor = getattr(self, name)
            if tensor is not None and tuple(tensor.shape) != shape:
                raise ValueError(f"{name} must have the shape of entropy {shape} (got {tuple(tensor.shape)})")
        for name in ("commit_step", "output_ids"):
            if tuple(getattr(self, name).shape) != shape[1:]:
                raise ValueError(f"{name} must have shape {shape[1:]} (got {tuple(getattr(self, name).shape)})")
        if self.candidates is not None and tuple(self.candidates.shape) != (shape[0], -(-shape[1] // 8)):
            raise ValueError(f"candidates must have shape (T, ceil(G / 8)) (got {tuple(self.candidates.shape)})")
        object.__setattr__(self, "labels", as_labels(self.labels, length=shape[1]))
        object.__setattr__(self, "spans", as_spans(self.spans, length=shape[1]))

    @property
    def passes(self) -> int:
        """T, the number of recorded forward passes."""
        return self.entropy.shape[0]

    @property
    def canvas(self) -> int:
        """G, the number of canvas positions."""
        return self.entropy.shape[1]

    def candidate_mask(self) -> torch.Tensor | None:
        """Return (T, G) bool, the unpacked candidates, or None where they were not recorded."""
        import torch

        if self.candidates is None:
            return None
        shifts = torch.arange(7, -1, -1, dtype=torch.uint8)
        bits = (self.candidates[..., None] >> shifts) & 1
        return bits.flatten(1)[:, : self.canvas].bool()

    def at_commit(self, name: str) -> torch.Tensor:
        """Return (G,) values of ``entropy``, ``conf`` or ``margin`` in the pass that committed each; NaN if given."""
        import torch

        values: torch.Tensor = getattr(self, name)
        step = self.commit_step.long()
        chosen = values.gather(0, step.clamp(min=0)[None])[0].clone()
        return torch.where(step >= 0, chosen, torch.full_like(chosen, float("nan")))
