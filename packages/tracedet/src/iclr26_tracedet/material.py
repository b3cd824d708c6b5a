"""Labelled traces from one of three sources: a store, a model of the user with questions, or the tiny model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from iclr26_lm import (
    DenoisingTrace,
    MaskedDiffusionLM,
    TraceRecorder,
    TraceStore,
    TraceWriter,
    decode,
    knowledge_answers,
    load_diffusion_model,
    tiny_diffusion,
)
from numpy.typing import NDArray

from .config import DecodingConfig
from .questions import Match, Question, matches, read_labels

DREAM = {"schedule": "dream", "confidence": "maskgit_plus", "temperature": 0.1, "top_p": 0.95}  # Dream's own settings
OTHERS = {"schedule": "even", "confidence": "low_confidence", "temperature": 0.0, "top_p": None}  # LLaDA's (code)


@dataclass(frozen=True)
class Material:
    """N labelled traces.

    Args:
        traces: of every id with a known label, read when used
        labels: (N,) 1 = hallucinated, 0 = faithful
        groups: (N,) what must not be on both sides of a split
        kinds: (N,) class of each question, "" where there are none
    """

    traces: TraceStore
    labels: NDArray[np.int64]
    groups: NDArray[np.str_]
    kinds: NDArray[np.str_]

    def part(self, places: NDArray[np.int64]) -> TraceStore:
        """Return the traces of these places."""
        ids = self.traces.ids
        return self.traces.subset([ids[int(place)] for place in places])


def from_store(folder: Path, labels: Path | None = None) -> tuple[Material, int]:
    """Return the traces of a store whose label is known, and how many were left out.

    Raises:
        ValueError: traces that are not of a diffusion model, or no label at all
    """
    store = TraceStore.open(folder)
    for name in store.ids:
        if store.entry(name)["kind"] != "denoising":
            raise ValueError(f"{folder} must hold denoising traces (got {store.entry(name)['kind']!r} at id {name!r})")
    known = store.labels if labels is None else {**store.labels, **read_labels(labels)}
    kept = [name for name in store.ids if known[name] >= 0]
    if not kept:
        raise ValueError(f"no trace of {folder} has a label (got {len(store)} traces): pass --labels labels.jsonl")
    metas = [store.entry(name)["meta"] for name in kept]
    material = Material(
        store.subset(kept),
        np.array([known[name] for name in kept]),
        np.array([str(meta.get("entity", meta.get("group", name))) for name, meta in zip(kept, metas, strict=True)]),
        np.array([str(meta.get("kind", "")) for meta in metas]),
    )
    return material, len(store) - len(kept)


def record_tiny(folder: Path, *, form: str, facts: int, resume: bool = False, device: str = "cpu") -> None:
    """Let the shipped tiny model answer questions about ``facts`` facts (0 = all) and store its traces."""
    lm = tiny_diffusion(device=device)
    asked = lm.knowledge.facts[: facts or None]
    with TraceStore.writer(folder, resume=resume) as writer:
        missing = [fact for fact in asked if f"{fact.id}-{form}" not in writer]
        for answer in knowledge_answers(lm, missing, form=form):
            meta = {**answer.trace.meta, "answer": answer.text, "vocab_size": lm.model.vocab_size}
            writer.append(str(meta["id"]), with_meta(answer.trace, meta))


def record_answers(
    model: MaskedDiffusionLM,
    tokenizer: Any,
    questions: Sequence[Question],
    writer: TraceWriter,
    *,
    length: int,
    settings: DecodingConfig,
    match: Match = "contains",
    seed: int = 0,
    progress: Any = iter,
) -> None:
    """Let a model answer the questions that the writer lacks, label each by its reference answers, store the traces.

    Args:
        model, tokenizer: of ``load_diffusion_model``
        questions: with reference answers; without any the label is -1, unknown
        writer: of a trace store
        length: canvas positions
        settings: how it answers
        match: how an answer must match
        seed: of sampling
        progress: wraps the list of batches, e.g. to draw a bar
    """
    missing = [question for question in questions if question.id not in writer]
    prompts = {question.id: prompt_ids(tokenizer, question.prompt, settings.chat_template) for question in missing}
    generator = torch.Generator(device=model.device).manual_seed(seed)
    options = decoding_options(model.family, settings)
    for batch in progress(batches_of_one_length(missing, prompts, settings.batch)):
        recorder = TraceRecorder()
        rows = torch.tensor([prompts[question.id] for question in batch])
        output = decode(model, rows, length=length, recorders=[recorder], generator=generator, **options)
        texts = [
            tokenizer.decode(row[:end], skip_special_tokens=True)
            for row, end in zip(output.canvas.cpu(), output.text_lengths.tolist(), strict=True)
        ]
        for trace, question, text in zip(recorder.traces(), batch, texts, strict=True):
            writer.append(question.id, labelled(trace, question, text, match, model.vocab_size))
        writer.flush()


def load_model(folder: Path, settings: DecodingConfig, device: str) -> tuple[MaskedDiffusionLM, Any]:
    """Return the adapted model of a folder and its tokenizer."""
    dtype = None if settings.dtype == "auto" else getattr(torch, settings.dtype)
    is_block_causal = '"llada2' in (folder / "config.json").read_text(encoding="utf-8").lower()
    block = {"block": settings.block} if is_block_causal else {}
    return load_diffusion_model(
        folder, trust_remote_code=settings.trust_remote_code, dtype=dtype, device=device, **block
    )


def decoding_options(family: str, settings: DecodingConfig) -> dict[str, Any]:
    """Return options of ``decode``; what the settings leave open is the family's own."""
    own: dict[str, Any] = DREAM if family == "dream" else OTHERS
    return {
        "steps": settings.steps or None,
        "schedule": own["schedule"] if settings.schedule == "auto" else settings.schedule,
        "confidence": own["confidence"] if settings.confidence == "auto" else settings.confidence,
        "temperature": own["temperature"] if settings.temperature < 0.0 else settings.temperature,
        "top_p": settings.top_p or own["top_p"],
        "tempered_confidence": family == "dream",
        "guidance": settings.guidance,
        "eos": settings.eos,
    }


def prompt_ids(tokenizer: Any, prompt: str, chat_template: bool) -> list[int]:
    """Return token ids of a prompt, in the tokenizer's chat template if it has one and it is wanted."""
    if chat_template and getattr(tokenizer, "chat_template", None):
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
        )
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])
    return list(tokenizer(prompt)["input_ids"])


def batches_of_one_length(
    questions: Sequence[Question], prompts: dict[str, list[int]], size: int
) -> list[list[Question]]:
    """Return batches whose prompts are equally long, so that nothing is padded."""
    by_length: dict[int, list[Question]] = {}
    for question in questions:
        by_length.setdefault(len(prompts[question.id]), []).append(question)
    return [same[start : start + size] for same in by_length.values() for start in range(0, len(same), size)]


def labelled(trace: DenoisingTrace, question: Question, text: str, match: Match, vocabulary: int) -> DenoisingTrace:
    """Return the trace with its label and what was asked."""
    label = -1 if not question.answers else int(not matches(text, question.answers, how=match))
    meta = {
        **trace.meta,
        "id": question.id,
        "group": question.group,
        "kind": question.kind,
        "answer": text,
        "match": match,
        "vocab_size": vocabulary,
    }
    return with_meta(trace, meta, label=label)


def with_meta(trace: DenoisingTrace, meta: dict[str, Any], *, label: int | None = None) -> DenoisingTrace:
    """Return a copy of a trace with other meta and, if given, one label for the whole answer."""
    changes: dict[str, Any] = {"meta": meta} if label is None else {"meta": meta, "labels": torch.tensor(label)}
    return dataclasses.replace(trace, **changes)
