"""Lets the tiny models answer their questions, and labels every answer exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from iclr26_lm.ar_capture import capture_trace
from iclr26_lm.ar_trace import ARTrace
from iclr26_lm.decoding import decode
from iclr26_lm.denoising_trace import DenoisingTrace
from iclr26_lm.knowledge import CANVAS, Fact, Judgement
from iclr26_lm.recall import ANSWER_LENGTH, ContextQuestion
from iclr26_lm.recorder import TraceRecorder
from iclr26_lm.tiny import TinyDiffusion, TinyRecall


@dataclass(frozen=True, kw_only=True)
class KnowledgeAnswer:
    """One answer, with its label and its trace.

    Args:
        fact: what was asked
        text: the answer, tokens separated by spaces
        judgement: what is wrong with it
        trace: its denoising trace; labels are per token, ``meta["kind"]`` and ``meta["entity"]`` say what was asked
    """

    fact: Fact
    text: str
    judgement: Judgement
    trace: DenoisingTrace


def knowledge_answers(
    lm: TinyDiffusion,
    facts: Sequence[Fact] | None = None,
    *,
    form: str = "short",
    batch: int = 64,
    **decoding: Any,
) -> Iterator[KnowledgeAnswer]:
    """Yield one answer per fact, in order, decoded in batches.

    Args:
        lm: of ``tiny_diffusion``
        facts: all if None
        form: ``"short"`` (canvas 12) or ``"long"`` (canvas 32)
        batch: questions per forward pass
        decoding: further options of ``decode``, e.g. ``steps=16``
    """
    asked = lm.knowledge.facts if facts is None else facts
    for start in range(0, len(asked), batch):
        some = asked[start : start + batch]
        questions = [lm.knowledge.question(fact, form=form) for fact in some]
        prompts = torch.tensor([lm.tokenizer.convert_tokens_to_ids(question.split()) for question in questions])
        recorder = TraceRecorder()
        output = decode(lm.model, prompts, length=CANVAS[form], recorders=[recorder], **decoding)
        texts = [lm.tokenizer.convert_ids_to_tokens(row.tolist()) for row in output.canvas]
        judged = [lm.knowledge.judge(fact, text, form=form) for fact, text in zip(some, texts, strict=True)]
        traces = recorder.traces(
            labels=[list(judgement.token_labels) for judgement in judged],
            spans=[judgement.spans for judgement in judged],
            meta=[{"id": f"{fact.id}-{form}", "entity": fact.entity, "kind": fact.kind, "form": form} for fact in some],
        )
        for fact, text, judgement, trace in zip(some, texts, judged, traces, strict=True):
            yield KnowledgeAnswer(fact=fact, text=" ".join(text), judgement=judgement, trace=trace)


@dataclass(frozen=True, kw_only=True)
class ContextAnswer:
    """One answer about a context, with its trace.

    Args:
        question: what was asked
        text: the answer, tokens separated by spaces
        trace: labels are per token; ``meta["answerable"]`` says whether the context holds the name asked for
    """

    question: ContextQuestion
    text: str
    trace: ARTrace


def context_answers(lm: TinyRecall, questions: Sequence[ContextQuestion], **capturing: Any) -> Iterator[ContextAnswer]:
    """Yield one greedy answer per question, in order, with attention captured.

    Args:
        lm: of ``tiny_recall``
        questions: of ``context_questions``
        capturing: further options of ``capture_trace``, e.g. ``hidden_layers=[2]``
    """
    for question in questions:
        prompt = lm.tokenizer.convert_tokens_to_ids(question.prompt.split())
        row = torch.tensor([prompt], device=lm.model.device)
        tokens = lm.model.generate(
            row, attention_mask=torch.ones_like(row), do_sample=False, max_new_tokens=ANSWER_LENGTH
        )[0].cpu()
        answer = lm.tokenizer.convert_ids_to_tokens(tokens[len(prompt) :].tolist())
        trace = capture_trace(
            lm.model,
            tokens,
            len(prompt),
            labels=list(question.token_labels(answer)),
            meta={"id": question.id, "answerable": question.answer is not None},
            **capturing,
        )
        yield ContextAnswer(question=question, text=" ".join(answer), trace=trace)
