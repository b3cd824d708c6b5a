"""Traces of language models: capture, store, masked-diffusion decoding, tiny trained models.

    >>> from iclr26_lm import tiny_diffusion, knowledge_answers
    >>> lm = tiny_diffusion()
    >>> answer = next(iter(knowledge_answers(lm, lm.knowledge.facts[:1])))
    >>> tuple(answer.trace.entropy.shape)
    (12, 12)

Labels have one polarity everywhere: 1 = hallucinated, 0 = faithful, -1 = unknown. Names are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iclr26_lm.adapter import AdaptedLM, MaskedDiffusionLM, adapt, shifted
    from iclr26_lm.answers import ContextAnswer, KnowledgeAnswer, context_answers, knowledge_answers
    from iclr26_lm.ar_capture import capture, capture_trace
    from iclr26_lm.ar_trace import ARTrace
    from iclr26_lm.attention import AttentionCapture, LayerAttention, attention_capture
    from iclr26_lm.confidence import Confidence, confidence_scores, highest
    from iclr26_lm.decoding import DecodeOutput, DecodingState, Recorder, decode
    from iclr26_lm.denoising_trace import DenoisingTrace
    from iclr26_lm.eos import EosPolicy, text_length
    from iclr26_lm.families import FAMILIES, Family
    from iclr26_lm.knowledge import Fact, Judgement, KnowledgeBase
    from iclr26_lm.labels import answer_label
    from iclr26_lm.loading import load_diffusion_model
    from iclr26_lm.recall import ContextQuestion, context_questions
    from iclr26_lm.recorder import TraceRecorder, commit_steps
    from iclr26_lm.sampling import cut_distribution, guided_logits, gumbel_argmax
    from iclr26_lm.schedules import (
        BlockSchedule,
        DreamSchedule,
        EvenSchedule,
        Schedule,
        ThresholdSchedule,
        block_counts,
        dream_counts,
        even_counts,
    )
    from iclr26_lm.smollm import load_smollm2, smollm2_available
    from iclr26_lm.standins import STANDINS, write_standin
    from iclr26_lm.statistics import TokenStatistics, token_statistics
    from iclr26_lm.store import TraceStore, TraceWriter
    from iclr26_lm.tiny import TinyDiffusion, TinyRecall, tiny_diffusion, tiny_recall

_HOME = {
    "adapter": ("AdaptedLM", "MaskedDiffusionLM", "adapt", "shifted"),
    "answers": ("ContextAnswer", "KnowledgeAnswer", "context_answers", "knowledge_answers"),
    "ar_trace": ("ARTrace",),
    "attention": ("AttentionCapture", "LayerAttention", "attention_capture"),
    "ar_capture": ("capture", "capture_trace"),
    "confidence": ("Confidence", "confidence_scores", "highest"),
    "decoding": ("DecodeOutput", "DecodingState", "Recorder", "decode"),
    "denoising_trace": ("DenoisingTrace",),
    "eos": ("EosPolicy", "text_length"),
    "families": ("FAMILIES", "Family"),
    "knowledge": ("Fact", "Judgement", "KnowledgeBase"),
    "labels": ("answer_label",),
    "loading": ("load_diffusion_model",),
    "recall": ("ContextQuestion", "context_questions"),
    "recorder": ("TraceRecorder", "commit_steps"),
    "sampling": ("cut_distribution", "guided_logits", "gumbel_argmax"),
    "schedules": (
        "BlockSchedule",
        "DreamSchedule",
        "EvenSchedule",
        "Schedule",
        "ThresholdSchedule",
        "block_counts",
        "dream_counts",
        "even_counts",
    ),
    "smollm": ("load_smollm2", "smollm2_available"),
    "standins": ("STANDINS", "write_standin"),
    "statistics": ("TokenStatistics", "token_statistics"),
    "store": ("TraceStore", "TraceWriter"),
    "tiny": ("TinyDiffusion", "TinyRecall", "tiny_diffusion", "tiny_recall"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
__all__ = [
    "ARTrace",
    "AdaptedLM",
    "AttentionCapture",
    "BlockSchedule",
    "Confidence",
    "ContextAnswer",
    "ContextQuestion",
    "DecodeOutput",
    "DecodingState",
    "DenoisingTrace",
    "DreamSchedule",
    "EosPolicy",
    "EvenSchedule",
    "FAMILIES",
    "Fact",
    "Family",
    "Judgement",
    "KnowledgeAnswer",
    "KnowledgeBase",
    "LayerAttention",
    "MaskedDiffusionLM",
    "Recorder",
    "STANDINS",
    "Schedule",
    "ThresholdSchedule",
    "TinyDiffusion",
    "TinyRecall",
    "TokenStatistics",
    "TraceRecorder",
    "TraceStore",
    "TraceWriter",
    "adapt",
    "answer_label",
    "attention_capture",
    "block_counts",
    "capture",
    "capture_trace",
    "commit_steps",
    "confidence_scores",
    "context_answers",
    "context_questions",
    "cut_distribution",
    "decode",
    "dream_counts",
    "even_counts",
    "guided_logits",
    "gumbel_argmax",
    "highest",
    "knowledge_answers",
    "load_diffusion_model",
    "load_smollm2",
    "shifted",
    "smollm2_available",
    "text_length",
    "tiny_diffusion",
    "tiny_recall",
    "token_statistics",
    "write_standin",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
