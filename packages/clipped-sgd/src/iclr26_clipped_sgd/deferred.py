"""Steps on an accelerator that read nothing back; a non-finite gradient freezes the parameters, an error comes later.

A flag on the device is raised by the first non-finite norm and stays up; the kernels of all later steps see it and
leave the parameters as they are.  Each step sends the count of frozen steps to pinned memory and records an event; a
later step looks at the count only when the event has passed, which does not wait.
"""

from __future__ import annotations

import torch
from torch import Tensor


class DeferredFaults:
    """The sticky fault flag of one optimizer, and the update kernels that obey it."""

    def __init__(self) -> None:
        self._frozen_steps: Tensor | None = None  # float32 on the device
        self._on_host: Tensor | None = None
        self._arrived: torch.Event | None = None

    def watch(self, norm: Tensor) -> Tensor:
        """Raise the flag if ``norm`` is not finite and return it: 0-dim float32, 1 while parameters are frozen."""
        if self._frozen_steps is None or self._frozen_steps.device != norm.device:
            self._frozen_steps = torch.zeros((), dtype=torch.float32, device=norm.device)
        frozen = ((self._frozen_steps > 0) | ~norm.isfinite()).float()
        self._frozen_steps += frozen
        self._send_to_host(self._frozen_steps)
        return frozen

    def _send_to_host(self, count: Tensor) -> None:
        if count.device.type == "cpu":
            self._on_host, self._arrived = count, None
        elif self._arrived is None or self._arrived.query():  # one message at a time: the buffer is not overwritten
            if self._on_host is None:
                self._on_host = torch.zeros((), dtype=torch.float32, pin_memory=True)
            self._on_host.copy_(count, non_blocking=True)
            self._arrived = torch.Event(count.device)
            self._arrived.record()

    def take(self, *, wait: bool) -> int:
        """Number of frozen steps so far, 0 if none is known; a positive answer lowers the flag."""
        if self._frozen_steps is None or self._on_host is None:
            return 0
        if not wait and self._arrived is not None and not self._arrived.query():
            return 0
        if not wait and float(self._on_host) == 0.0:
            return 0
        frozen_steps = int(self._frozen_steps.item())
        if frozen_steps:
            self.__init__()  # type: ignore[misc]
        return frozen_steps

    @staticmethod
    def descend(
        parameters: list[Tensor],
        gradients: list[Tensor],
        alpha: Tensor,
        decay: float,
        frozen: Tensor,
        *,
        maximize: bool,
    ) -> None:
        """``p <- decay p - alpha g`` (plus with ``maximize``), or nothing while ``frozen`` is 1.

        Args:
            parameters, gradients: tensors of the same shapes, on any devices.
            alpha: 0-dim float64 tensor.
            decay: factor of the parameters, 1 for none.
            frozen: 0-dim float32 tensor, 0 or 1.
            maximize: ascend instead of descend.
        """
        for device in dict.fromkeys(p.device for p in parameters):
            here = [(p, g) for p, g in zip(parameters, gradients, strict=True) if p.device == device]
            alpha_here, frozen_here = alpha.to(device), frozen.to(device)
            fused = [
                (p, g) for p, g in here if p.dtype == g.dtype and p.dtype != torch.float64 and device.type != "mps"
            ]
            exact = [(p, g) for p, g in here if not any(p is q for q, _ in fused)]
            if decay != 1.0:
                factor = torch.where(frozen_here > 0, alpha_here.new_ones(()), decay)
                torch._foreach_mul_([p for p, _ in here], factor)
            _fused_descend(fused, alpha_here.float(), frozen_here, maximize=maximize)
            _exact_descend(exact, -alpha_here if maximize else alpha_here, frozen_here)


def _fused_descend(pairs: list[tuple[Tensor, Tensor]], alpha: Tensor, frozen: Tensor, *, maximize: bool) -> None:
    for dtype in dict.fromkeys(p.dtype for p, _ in pairs):
        torch._fused_sgd_(
            [p for p, _ in pairs if p.dtype == dtype],
            [g for p, g in pairs if p.dtype == dtype],
            [],
            weight_decay=0.0,
            momentum=0.0,
            lr=alpha,
            dampening=0.0,
            nesterov=False,
            maximize=maximize,
            is_first_step=False,
            grad_scale=None,
            found_inf=frozen,
        )


def _exact_descend(pairs: list[tuple[Tensor, Tensor]], alpha: Tensor, frozen: Tensor) -> None:
    for p, g in pairs:  # the fused kernel holds alpha in float32, too coarse for float64 parameters
        p.copy_(torch.where(frozen > 0, p, p - alpha * g))
