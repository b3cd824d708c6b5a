"""Whether an input or a model is still what it was, to the bit."""

from __future__ import annotations

import hashlib
import io
import pickle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class _Pickler(pickle.Pickler):
    """Pickles the bits of a tensor, and not where they lie in memory."""

    def reducer_override(self, thing: Any) -> Any:
        if not hasattr(thing, "untyped_storage"):
            return NotImplemented
        import torch

        bits = thing.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        return bytes, (repr((thing.dtype, tuple(thing.shape))).encode() + bits,)


def fingerprint(thing: Any) -> str:
    """Return a hash of everything in the object: it differs before and after a call that changed something."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(thing)
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return a copy of the model's ``state_dict``, on the CPU."""
    return {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}


def changed(before: dict[str, torch.Tensor], model: torch.nn.Module) -> list[str]:
    """Return the names of weights that are not bit for bit as before, those that came or went among them."""
    after = weights(model)
    return sorted(
        name
        for name in before.keys() | after.keys()
        if name not in before or name not in after or fingerprint(before[name]) != fingerprint(after[name])
    )
