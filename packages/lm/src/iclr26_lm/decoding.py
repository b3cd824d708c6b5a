"""The decoding loop of masked diffusion language models, in one place.

    for each pass:  logits -> guess x0 and statistics -> candidates of the schedule -> commit the k best
                    -> schedule.update -> every recorder sees the state

B sequences of P prompt and G canvas tokens, S = P + G; V vocabulary. Recorders see the (B, G, V) logits of a pass once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from iclr26_lm.adapter import MaskedDiffusionLM, adapt
from iclr26_lm.confidence import Confidence, confidence_scores, highest
from iclr26_lm.eos import EosPolicy, eos_policy, is_eos, rank_eos_last, text_length
from iclr26_lm.sampling import cut_distribution, guided_logits, gumbel_argmax
from iclr26_lm.schedules import BlockSchedule, DreamSchedule, EvenSchedule, Schedule
from iclr26_lm.statistics import TokenStatistics, token_statistics


@dataclass(kw_only=True)
class DecodingState:
    """What is known in a pass; one object lives through the whole decoding.

    Args:
        tokens: (B, S) int64, prompt and canvas; committed tokens are in it when schedules and recorders see it
        attention_mask: (B, S) int64, 0 = padding
        prompt_length: P
        mask_token_id: the mask token
        step: number of the pass, from 0
        given: (B, G) bool, canvas positions that were filled from the start
        masked: (B, G) bool, masked before this pass committed
        logits: (B, G, V) of this pass, guided, mask token (and suppressed EOS) at -inf
        guess: (B, G) int64, x0: argmax or sample at masked positions, the committed token elsewhere
        statistics: of ``guess`` under ``logits`` at temperature 1
        scores: (B, G) float32, what ranks the candidates
        candidates: (B, G) bool, allowed by the schedule in this pass
        committed: (B, G) bool, committed in this pass
        remasked: (B, G) bool, masked again after this pass
        filled: (B, G) bool, filled with EOS by ``early_stop``, never predicted
        settings: how the decoding was called, for traces
    """

    tokens: torch.Tensor
    attention_mask: torch.Tensor
    prompt_length: int
    mask_token_id: int
    given: torch.Tensor
    masked: torch.Tensor
    filled: torch.Tensor
    settings: dict[str, Any]
    step: int = 0
    logits: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    guess: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    statistics: TokenStatistics = field(default=None)  # type: ignore[assignment]
    scores: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    candidates: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    committed: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    remasked: torch.Tensor = field(default_factory=lambda: torch.empty(0))

    @property
    def canvas(self) -> torch.Tensor:
        """(B, G) view of the canvas."""
        return self.tokens[:, self.prompt_length :]

    def remask(self, positions: torch.Tensor) -> None:
        """Mask (B, G) bool positions again; for schedules, from ``update``. Given positions stay."""
        again = positions & ~self.given
        self.canvas[again] = self.mask_token_id
        self.remasked = self.remasked | again


class Recorder(Protocol):
    """Called once per pass, after committing."""

    def __call__(self, step: int, state: DecodingState) -> None:
        """Keep what is wanted of the state; copy it, the state changes."""


@dataclass(frozen=True, kw_only=True)
class DecodeOutput:
    """The decoded batch.

    Args:
        sequences: (B, S) int64, prompt and canvas
        passes: forward passes of the model (with guidance each runs a batch of 2 B)
        prompt_length: P
        text_lengths: (B,) int64, canvas tokens before the first EOS: the answer's text
    """

    sequences: torch.Tensor
    passes: int
    prompt_length: int
    text_lengths: torch.Tensor

    @property
    def canvas(self) -> torch.Tensor:
        """(B, G) the generated tokens."""
        return self.sequences[:, self.prompt_length :]


@torch.no_grad()
def decode(
    model: Any,
    prompt_ids: torch.Tensor,
    *,
    length: int | None = None,
    canvas: torch.Tensor | None = None,
    steps: int | None = None,
    schedule: str | Schedule = "even",
    confidence: Confidence | str = Confidence.LOW_CONFIDENCE,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    tempered_confidence: bool = False,
    guidance: float = 0.0,
    eos: EosPolicy | str = EosPolicy.NONE,
    early_stop: bool = False,
    attention_mask: torch.Tensor | None = None,
    generator: torch.Generator | None = None,
    recorders: Sequence[Recorder] = (),
) -> DecodeOutput:
    """Return the sequences of a batch of prompts, with every canvas position committed.

    Args:
        model: a ``MaskedDiffusionLM``, or a model that ``adapt`` takes without further arguments
        prompt_ids: (B, P) token ids; left padded where lengths differ, with ``attention_mask``
        length: G, canvas positions, all masked; or give ``canvas``
        canvas: (B, G) token ids, masked where the mask token stands (infilling)
        steps: T, passes at most; one per masked position if None
        schedule: ``"even"``, ``"dream"``, ``"block:<length>"`` or a ``Schedule``
        confidence: what ranks the candidates
        temperature: 0 = argmax, else exact Gumbel sampling
        top_k, top_p: cuts of the distribution that is sampled from
        tempered_confidence: rank by the tempered and cut distribution, as Dream does, not by the raw one
        guidance: classifier-free guidance scale, 0 = off
        eos: what happens to end-of-sequence tokens
        early_stop: finish a sequence once an EOS is committed and everything before it is; the rest becomes EOS
        attention_mask: (B, P), 0 = padding
        generator: source of all randomness, on the model's device
        recorders: called once per pass

    Raises:
        ValueError: arguments that contradict each other, a prompt with mask tokens, logits that are no distribution, or
            a schedule that leaves masks
    """
    lm = model if isinstance(model, MaskedDiffusionLM) else adapt(model)
    policy, plan = eos_policy(eos), _schedule(schedule)
    _refuse_missing_eos(lm, policy, early_stop)
    state = _first_state(lm, prompt_ids, length, canvas, attention_mask)
    total = _steps(steps, state.masked)
    plan.begin(state.masked, state.attention_mask[:, : state.prompt_length].bool(), total)
    state.settings = {
        **plan.settings(),
        "steps": total,
        "confidence": str(confidence),
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "guidance": guidance,
        "eos": str(policy),
        "early_stop": early_stop,
        "family": lm.family,
        "logits_shift": lm.logits_shift,
        "mask_token_id": lm.mask_token_id,
        "eos_token_ids": list(lm.eos_token_ids),
    }
    known, cut = _known_at_start(state), top_k is not None or top_p is not None
    passes = 0
    while passes < total and bool(state.masked.any()):
        state.step = passes
        state.logits = _canvas_logits(lm, state, known, guidance)
        if policy is EosPolicy.SUPPRESS_LOGITS:
            state.logits[..., list(lm.eos_token_ids)] = -torch.inf
        if cut or tempered_confidence:
            tempered = cut_distribution(state.logits.float() / (temperature or 1.0), top_k=top_k, top_p=top_p)
            drawn = gumbel_argmax(tempered, float(temperature > 0), generator=generator)
        else:
            drawn = gumbel_argmax(state.logits, temperature, generator=generator)
        state.guess = torch.where(state.masked, drawn, state.canvas)
        state.statistics = token_statistics(state.logits, state.guess)
        ranked_by = token_statistics(tempered, drawn) if tempered_confidence else state.statistics
        state.scores = confidence_scores(ranked_by, confidence, generator=generator)
        if policy is EosPolicy.SUPPRESS_CONFIDENCE:
            state.scores = rank_eos_last(state.scores, state.guess, lm.eos_token_ids)
        state.candidates = plan.candidates(state) & state.masked
        state.committed = highest(state.scores, state.candidates, plan.count(state))
        state.canvas[state.committed] = state.guess[state.committed]
        state.remasked = torch.zeros_like(state.committed)
        plan.update(state)
        if early_stop:
            _finish_after_eos(state, lm.eos_token_ids)
        for record in recorders:
            record(passes, state)
        passes += 1
        state.masked = state.canvas == lm.mask_token_id
    left = int(state.masked.sum())
    if left:
        raise ValueError(f"the schedule must commit every position in {total} passes (got {left} masks left)")
    return DecodeOutput(
        sequences=state.tokens,
        passes=passes,
        prompt_length=state.prompt_length,
        text_lengths=text_length(state.canvas, lm.eos_token_ids),
    )


def _schedule(schedule: str | Schedule) -> Schedule:
    if not isinstance(schedule, str):
        return schedule
    name, _, block = schedule.partition(":")
    if name == "block" and block.isdigit():
        return BlockSchedule(int(block))
    known: dict[str, type[EvenSchedule] | type[DreamSchedule]] = {"even": EvenSchedule, "dream": DreamSchedule}
    if schedule not in known:
        raise ValueError(f"schedule must be even, dream, block:<length> or a Schedule (got {schedule!r})")
    return known[schedule]()


def _refuse_missing_eos(lm: MaskedDiffusionLM, policy: EosPolicy, early_stop: bool) -> None:
    if not lm.eos_token_ids and (policy is not EosPolicy.NONE or early_stop):
        raise ValueError(
            f"eos={policy} and early_stop={early_stop} need eos_token_ids (the model has none): pass them to adapt"
        )


def _first_state(
    lm: MaskedDiffusionLM,
    prompt_ids: torch.Tensor,
    length: int | None,
    canvas: torch.Tensor | None,
    attention_mask: torch.Tensor | None,
) -> DecodingState:
    if prompt_ids.ndim != 2:
        raise ValueError(f"prompt_ids must have shape (B, P) (got {tuple(prompt_ids.shape)})")
    prompt = prompt_ids.to(lm.device, torch.long)
    if bool((prompt == lm.mask_token_id).any()):
        raise ValueError(f"the prompt holds the mask token {lm.mask_token_id}: put positions to fill into canvas=")
    if (length is None) == (canvas is None):
        raise ValueError(f"give either length or canvas (got length={length} and canvas={canvas is not None})")
    if canvas is None:
        if length is None or length < 1:
            raise ValueError(f"length must be >= 1 (got {length})")
        canvas = torch.full((len(prompt), length), lm.mask_token_id)
    if canvas.ndim != 2 or len(canvas) != len(prompt) or canvas.shape[1] < 1:
        raise ValueError(f"canvas must have shape ({len(prompt)}, G) (got {tuple(canvas.shape)})")
    if attention_mask is not None and attention_mask.shape != prompt_ids.shape:
        raise ValueError(
            f"attention_mask must have the prompts' shape {tuple(prompt_ids.shape)} (got {tuple(attention_mask.shape)})"
        )
    canvas = canvas.to(lm.device, torch.long)
    real = torch.ones_like(prompt) if attention_mask is None else attention_mask.to(lm.device, torch.long)
    masked = canvas == lm.mask_token_id
    return DecodingState(
        tokens=torch.cat([prompt, canvas], 1),
        attention_mask=torch.cat([real, torch.ones_like(canvas)], 1),
        prompt_length=prompt.shape[1],
        mask_token_id=lm.mask_token_id,
        given=~masked,
        masked=masked,
        filled=torch.zeros_like(masked),
        settings={},
    )


def _steps(steps: int | None, masked: torch.Tensor) -> int:
    if steps is None:
        return max(1, int(masked.sum(-1).max()))
    if steps < 1:
        raise ValueError(f"steps must be >= 1 (got {steps})")
    return steps


def _known_at_start(state: DecodingState) -> torch.Tensor:
    """Return (B, S) bool: prompt and given tokens; what guidance takes away."""
    return torch.cat([torch.ones_like(state.tokens[:, : state.prompt_length], dtype=torch.bool), state.given], 1)


def _canvas_logits(lm: MaskedDiffusionLM, state: DecodingState, known: torch.Tensor, guidance: float) -> torch.Tensor:
    """Return (B, G, V) logits; with guidance, of one pass over the batch with and without what is known."""
    if guidance == 0.0:
        return lm.logits(state.tokens, state.attention_mask)[:, state.prompt_length :]
    without = state.tokens.masked_fill(known, lm.mask_token_id)
    both = lm.logits(torch.cat([state.tokens, without]), torch.cat([state.attention_mask] * 2))
    conditional, unconditional = both[:, state.prompt_length :].chunk(2)
    guided = guided_logits(conditional, unconditional, guidance)
    guided[..., lm.mask_token_id] = -torch.inf
    return guided


def _finish_after_eos(state: DecodingState, eos_ids: tuple[int, ...]) -> None:
    """Fill with EOS behind the first EOS that has nothing masked before it."""
    canvas = state.canvas
    ended = is_eos(canvas, eos_ids).cumsum(-1) > 0
    open_before = (canvas == state.mask_token_id).cumsum(-1) > 0
    first = ended & (ended.cumsum(-1) == 1)
    complete = (first & ~open_before).any(-1)
    rest = ended & (canvas == state.mask_token_id) & complete[:, None]
    eos_of_row = canvas.gather(-1, first.int().argmax(-1, keepdim=True)).expand_as(canvas)
    canvas[rest] = eos_of_row[rest]
    state.filled = state.filled | rest
