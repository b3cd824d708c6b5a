"""A check that a training framework does not clip a second time."""

from __future__ import annotations

from typing import Any


def check_trainer_args(args: Any) -> None:
    """Refuse Hugging Face ``TrainingArguments`` with ``max_grad_norm > 0``: ClippedSGD would get clipped gradients.

    The default of ``TrainingArguments`` is 1.0, so it has to be set.  Pass the optimizer with a constant LRScheduler:
    ``Trainer(..., optimizers=(optimizer, get_constant_schedule(optimizer)))``.

    Args:
        args: an object with ``max_grad_norm``.

    Raises:
        ValueError: gradients would be clipped twice.
    """
    value = args.max_grad_norm
    if value is not None and value > 0:
        raise ValueError(
            f"max_grad_norm must be 0 or None (got {value}): ClippedSGD clips, and clipping twice is not its update"
        )
