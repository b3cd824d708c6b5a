"""Records the entropies of denoising passes: in the shared decoding loop, in Dream's own, or by one line in LLaDA's.

Entropies are of the prediction before anything is committed, at every canvas position, committed ones included; with
guidance, of the guided logits; of the logits that predict the position itself (Dream's are shifted by one).
H = log s - sum(e * d) / s with d = logit - max, e = exp(d), s = sum(e): the logits are read once, a few positions at a
time, so that both temporaries stay in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

CHUNK_BYTES = 2**20  # of each of two float32 temporaries on a CPU: about the size of its second-level cache
DEVICE_CHUNK_BYTES = 64 * 2**20
LOWEST = -1e4  # exp of it is 0; makes 0 * -inf of a suppressed token 0


@torch.no_grad()
def token_entropy(logits: Tensor) -> Tensor:
    """Return float32 entropies (…) in nats of (…, V) logits, of which some may be -inf.

    >>> token_entropy(torch.tensor([2.0, 1.0, 0.0, -1.0]))
    tensor(0.9475)

    Raises:
        ValueError: NaN or +inf logits, or a position where every logit is -inf
    """
    flat = logits.reshape(-1, logits.shape[-1])
    chunk = CHUNK_BYTES if logits.device.type == "cpu" else DEVICE_CHUNK_BYTES
    size = max(1, chunk // (4 * flat.shape[1]))
    entropy = torch.empty(len(flat), dtype=torch.float32, device=logits.device)
    for start in range(0, len(flat), size):
        entropy[start : start + size] = _entropy_of_rows(flat[start : start + size])
    if not bool(torch.isfinite(entropy).all()):
        raise ValueError(f"logits must give a distribution (got entropy {entropy[~torch.isfinite(entropy)][0]})")
    return entropy.view(logits.shape[:-1])


def _entropy_of_rows(logits: Tensor) -> Tensor:
    below = logits.float() - logits.amax(-1, keepdim=True).float()
    below.clamp_(min=LOWEST)
    weight = below.exp()
    total = weight.sum(-1)
    entropy: Tensor = total.log() - torch.linalg.vecdot(weight, below) / total
    return entropy.clamp(min=0.0)


def logits_to_entropy(logits: Tensor, prompt_length: int) -> Tensor:
    """Return (B, G) float32 entropies, nats, of the canvas of (B, P + G, V) aligned logits.

    For LLaDA's stand-alone ``generate``: call it in the loop after the guided logits are computed.

    Raises:
        ValueError: logits of another shape, or no canvas behind the prompt
    """
    if logits.ndim != 3 or not 0 <= prompt_length < logits.shape[1]:
        raise ValueError(f"logits must be (B, P + G, V) with 0 <= P < P + G (got {tuple(logits.shape)}, "
                         f"P = {prompt_length})")  # fmt: skip
    return token_entropy(logits[:, prompt_length:])


class EntropyRecorder:
    """Keeps the entropies of every pass of one batch.

        recorder = EntropyRecorder()
        decode(model, prompts, length=64, recorders=[recorder])           # the shared loop
        recorder = EntropyRecorder(prompt_length=prompts.shape[1])
        dream.diffusion_generate(…, generation_logits_hook_func=recorder.entropy_hook)
        traces = recorder.entropies()                                       # (B, T, D)

    Args:
        prompt_length: P, for ``entropy_hook`` only
    """

    def __init__(self, *, prompt_length: int | None = None) -> None:
        self.prompt_length = prompt_length
        self._passes: list[NDArray[np.float32]] = []

    def __call__(self, step: int, state: Any) -> None:
        """Keep one pass of the shared decoding loop; pass 0 begins a new batch."""
        if step == 0:
            self._passes = []
        self._passes.append(state.statistics.entropy.float().cpu().numpy())

    def entropy_hook(self, step: int | None, tokens: Tensor, logits: Tensor | None) -> Tensor | None:
        """Return the logits unchanged and keep their entropies; Dream's hook, called with logits already shifted.

        Dream also calls its tokens hook once before the loop, with step and logits None: ignored here.

        Raises:
            ValueError: the recorder was made without ``prompt_length``
        """
        if step is None or logits is None:
            return logits
        if self.prompt_length is None:
            raise ValueError("entropy_hook needs EntropyRecorder(prompt_length=P) (got None)")
        if step == 0:
            self._passes = []
        self._passes.append(logits_to_entropy(logits, self.prompt_length).cpu().numpy())
        return logits

    def entropies(self) -> NDArray[np.float32]:
        """Return (B, T, D), ready for a detector.

        Raises:
            RuntimeError: nothing was recorded
        """
        if not self._passes:
            raise RuntimeError("nothing was recorded: pass the recorder to the decoding loop, or its hook to Dream's")
        return np.stack(self._passes, 1)
