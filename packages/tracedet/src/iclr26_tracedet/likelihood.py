"""The paper's expensive perplexity: the likelihood of a finished answer, estimated by masking it again at random."""

from __future__ import annotations

from typing import Any

import torch
from iclr26_lm import MaskedDiffusionLM
from torch import Tensor


@torch.no_grad()
def monte_carlo_perplexity(
    model: MaskedDiffusionLM | Any,
    prompt_ids: Tensor,
    output_ids: Tensor,
    *,
    samples: int = 128,
    batch: int = 32,
    generator: torch.Generator | None = None,
) -> float:
    """Return -1/M sum over M maskings of (1 / masked share) sum over masked tokens of log p, in nats per answer.

    The number of masked tokens is uniform on 1 … G, as in LLaDA's own estimator; its share is k / G.

    Args:
        model: an adapted model
        prompt_ids: (P,)
        output_ids: (G,) the finished canvas
        samples: M
        batch: maskings per forward pass
        generator: on the CPU

    Raises:
        ValueError: no answer tokens, or fewer than one sample
    """
    length = len(output_ids)
    if length < 1 or samples < 1:
        raise ValueError(f"output_ids and samples must be at least 1 long (got {length} and {samples})")
    total = 0.0
    for start in range(0, samples, batch):
        count = min(batch, samples - start)
        masked = _random_masks(count, length, generator)
        canvas = output_ids.long().expand(count, -1).masked_fill(masked, model.mask_token_id)
        ids = torch.cat([prompt_ids.long().expand(count, -1), canvas], 1).to(model.device)
        logits = model.logits(ids)[:, len(prompt_ids) :]
        of_token = logits.gather(-1, output_ids.long().to(model.device).expand(count, -1)[..., None])[..., 0].float()
        logprob = (of_token - logits.float().logsumexp(-1)).cpu()
        ratio = masked.double().mean(-1)
        total -= float(((logprob.double() * masked).sum(-1) / ratio).sum())
    return total / samples


def _random_masks(count: int, length: int, generator: torch.Generator | None) -> Tensor:
    """Return (count, length) bool, each row with a uniform number of True in 1 … length at random places."""
    number = torch.randint(1, length + 1, (count, 1), generator=generator)
    rank = torch.rand(count, length, generator=generator).argsort(-1).argsort(-1)
    return rank < number
