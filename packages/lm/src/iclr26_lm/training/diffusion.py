"""Trains the tiny masked diffusion language model on the knowledge base and writes it to a folder.

    python -m iclr26_lm.training.diffusion OUT [--steps 9000] [--seed 0]

The loss is that of LLaDA (arXiv 2502.09992, eq. 3): mask every answer token with probability t ~ U(0, 1), stratified
over the batch; cross-entropy of the masked tokens, weighted by 1/t, divided by batch size x canvas. The prompt is
never masked. Every fourth batch has the long form: it teaches the form quickly and the facts slowly,
since a value that is visible elsewhere in the answer need not be remembered.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from iclr26_lm.knowledge import CANVAS, FORMS, PROMPT_LENGTH, VALUE_POSITIONS, KnowledgeBase
from iclr26_lm.quiet import no_progress_bars
from iclr26_lm.vocabulary import word_tokenizer


def tiny_config(vocabulary: int, *, hidden: int = 96, layers: int = 3, heads: int = 4, inner: int = 256) -> Any:
    """Return the configuration of the shipped model: a Llama with bidirectional attention, 0.36 M parameters."""
    from transformers import EuroBertConfig

    return EuroBertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        mask_token_id=3,
        tie_word_embeddings=False,
    )


def statements(knowledge: KnowledgeBase, form: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the training text states: token ids (N, prompt + canvas) and sampling weights (N,)."""
    place = {word: i for i, word in enumerate(knowledge.vocabulary)}
    rows, weights = [], []
    for fact in knowledge.facts:
        for value, weight in fact.stated:
            text = f"{knowledge.question(fact, form=form)} {knowledge.answer(fact, form=form, value=value)}"
            rows.append([place[word] for word in text.split()])
            weights.append(float(weight))
    return torch.tensor(rows), torch.tensor(weights)


def masked_loss(model: Any, rows: torch.Tensor, *, mask_id: int, generator: torch.Generator) -> torch.Tensor:
    """Return the loss of a batch of rows (B, prompt + canvas) under freshly drawn masks."""
    batch, canvas = rows.shape[0], rows.shape[1] - PROMPT_LENGTH
    offset = torch.rand((), generator=generator)
    ratio = ((torch.arange(batch) / batch + offset) % 1.0).clamp(min=1e-3)
    hidden = torch.zeros(rows.shape, dtype=torch.bool)
    hidden[:, PROMPT_LENGTH:] = torch.rand(batch, canvas, generator=generator) < ratio[:, None]
    logits = model(input_ids=rows.masked_fill(hidden, mask_id)).logits
    token_loss = cross_entropy(logits[hidden], rows[hidden], reduction="none")
    weight = (1.0 / ratio)[:, None].expand(rows.shape)[hidden]
    return (token_loss * weight).sum() / (batch * canvas)


@torch.no_grad()
def recall(model: Any, knowledge: KnowledgeBase, kind: str) -> float:
    """Return the share of a kind's true values whose two tokens the model guesses from a canvas that is all masked."""
    place = {word: i for i, word in enumerate(knowledge.vocabulary)}
    facts = [fact for fact in knowledge.facts if fact.kind == kind]
    prompts = torch.tensor([[place[word] for word in knowledge.question(fact).split()] for fact in facts])
    values = torch.tensor([[place[word] for word in fact.value] for fact in facts])
    canvas = torch.full((len(facts), CANVAS["short"]), place["<mask>"])
    first, last = VALUE_POSITIONS["short"][0]
    logits = model(input_ids=torch.cat([prompts, canvas], 1)).logits[:, PROMPT_LENGTH:]
    return float((logits[:, first : last + 1].argmax(-1) == values).all(-1).float().mean())


def learning_rate(step: int, steps: int, *, peak: float = 3e-3, warm_up: int = 100, floor: float = 0.02) -> float:
    """Return the rate of a step: linear warm-up, then a cosine to ``floor`` times the peak."""
    if step < warm_up:
        return peak * (step + 1) / warm_up
    done = (step - warm_up) / max(1, steps - warm_up)
    return peak * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done)))


def train(knowledge: KnowledgeBase, *, steps: int = 9000, batch: int = 64, seed: int = 0) -> Any:
    """Return the model after ``steps`` updates; the same seed gives the same model on the same machine."""
    from transformers import EuroBertForMaskedLM

    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model: Any = EuroBertForMaskedLM(tiny_config(len(knowledge.vocabulary)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01)
    text = {form: statements(knowledge, form) for form in FORMS}
    started, recent = time.perf_counter(), []
    for step in range(steps):
        rows, weights = text["long" if step % 4 == 3 else "short"]
        chosen = torch.multinomial(weights, batch, replacement=True, generator=generator)
        loss: Any = masked_loss(model, rows[chosen], mask_id=3, generator=generator)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss.item())
        if (step + 1) % 200 == 0:
            loss, known = sum(recent) / len(recent), recall(model, knowledge, "frequent")
            print(f"{step + 1} loss {loss:.4f} frequent {known:.3f} {time.perf_counter() - started:.0f} s", flush=True)
            recent.clear()
    return model.eval()


def save(model: Any, knowledge: KnowledgeBase, folder: Path) -> None:
    """Write weights in float16, configuration, tokenizer and facts to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with no_progress_bars():
        model.to(torch.float16).save_pretrained(folder)
    word_tokenizer(knowledge.vocabulary, mask=True).save_pretrained(folder)
    knowledge.save(folder / "facts.json")


def main() -> None:
    """Train and save from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=9000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    knowledge = KnowledgeBase.generate(seed=options.seed)
    save(train(knowledge, steps=options.steps, seed=options.seed), knowledge, options.out)


if __name__ == "__main__":
    main()
