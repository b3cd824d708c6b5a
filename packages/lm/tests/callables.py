"""Masked diffusion models as plain functions, for tests that need to know every logit."""

import torch
from iclr26_lm import adapt

VOCABULARY, MASK, EOS = 30, 29, 28


def adapted(function, **options):
    options = {"mask_token_id": MASK, "eos_token_ids": (EOS,), "vocab_size": VOCABULARY, **options}
    return adapt(function, **options)


def position_model(seed=0, scale=3.0):
    """Logits depend on the position only."""

    def logits(ids, attention_mask=None):
        table = torch.randn(ids.shape[1], VOCABULARY, generator=torch.Generator().manual_seed(seed))
        return (scale * table).expand(len(ids), -1, -1)

    return logits


def context_model(seed=0, scale=3.0):
    """Logits depend on the position, the neighbours and the number of masks: a different guess in every pass."""
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(VOCABULARY, 16, generator=generator)
    head = torch.randn(16, VOCABULARY, generator=generator)
    place = torch.randn(512, 16, generator=generator)

    def logits(ids, attention_mask=None):
        real = torch.ones_like(ids) if attention_mask is None else attention_mask
        states = embedding[ids] * real[..., None]
        positions = (real.cumsum(-1) - 1).clamp(min=0)
        near = torch.nn.functional.pad(states, (0, 0, 1, 1))
        mixed = near[:, :-2] + 0.5 * states + near[:, 2:] + place[positions] + 0.1 * states.sum(1, keepdim=True)
        return scale * torch.tanh(mixed) @ head

    return logits


def shifted_twin(function):
    """The same model in Dream's alignment: logits at i predict token i + 1."""

    def logits(ids, attention_mask=None):
        aligned = function(ids, attention_mask)
        return torch.cat([aligned[:, 1:], aligned[:, -1:]], 1)

    return logits
