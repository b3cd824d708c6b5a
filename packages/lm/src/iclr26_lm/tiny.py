"""The tiny trained models that come with the package, loaded from its own folder without a network.

>>> lm = tiny_diffusion()
>>> lm.model.mask_token_id, len(lm.knowledge.facts)
(3, 1200)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iclr26_lm.knowledge import KnowledgeBase

if TYPE_CHECKING:
    import torch

    from iclr26_lm.adapter import MaskedDiffusionLM

MODELS = Path(__file__).parent / "models"


@dataclass(frozen=True, kw_only=True)
class TinyDiffusion:
    """The masked diffusion model that was trained on the knowledge base.

    Args:
        model: the adapted model
        tokenizer: words separated by spaces
        knowledge: the facts, with what is true of each
    """

    model: MaskedDiffusionLM
    tokenizer: Any
    knowledge: KnowledgeBase


@dataclass(frozen=True, kw_only=True)
class TinyRecall:
    """The autoregressive twin that answers questions about its context (``iclr26_lm.recall``).

    Args:
        model: a ``LlamaForCausalLM``
        tokenizer: words separated by spaces
    """

    model: Any
    tokenizer: Any


def tiny_diffusion(*, folder: str | Path | None = None, device: str | torch.device = "cpu") -> TinyDiffusion:
    """Return the shipped masked diffusion model (0.36 M parameters, float32), or one trained into ``folder``."""
    import torch
    from transformers import AutoTokenizer, EuroBertForMaskedLM

    from iclr26_lm.adapter import adapt
    from iclr26_lm.quiet import no_progress_bars

    source = MODELS / "knowledge" if folder is None else Path(folder)
    with no_progress_bars():
        model: Any = EuroBertForMaskedLM.from_pretrained(source, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(source)
    return TinyDiffusion(
        model=adapt(model.eval().to(device), tokenizer),
        tokenizer=tokenizer,
        knowledge=KnowledgeBase.load(source / "facts.json"),
    )


def tiny_recall(*, folder: str | Path | None = None, device: str | torch.device = "cpu") -> TinyRecall:
    """Return the shipped autoregressive twin (float32), or one that was trained into ``folder``."""
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM

    from iclr26_lm.quiet import no_progress_bars

    source = MODELS / "recall" if folder is None else Path(folder)
    with no_progress_bars():
        model: Any = LlamaForCausalLM.from_pretrained(source, dtype=torch.float32)
    return TinyRecall(model=model.eval().to(device), tokenizer=AutoTokenizer.from_pretrained(source))
