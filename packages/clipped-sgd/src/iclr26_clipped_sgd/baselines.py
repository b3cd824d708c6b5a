"""What clipped SGD is compared with: SGD, SGD with a constant clip level, normalised SGD and Adam.

SGD and Adam are PyTorch's own.  The trial methods move R repetitions at once: x has shape (R, N).  SGD and Adam act
entry by entry, so PyTorch's optimizer on the (R, N) tensor is that optimizer on each row; clipping and normalisation
take the norm of each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.optim import SGD, Adam, Optimizer

from iclr26_clipped_sgd.gradient_norm import total_norm
from iclr26_clipped_sgd.schedules.tabulated import ClipSchedule


class NormalisedSGD(Optimizer):
    """SGD with steps of fixed length: x_{k+1} = x_k - c/sqrt(k+1) g/||g||, the norm over all groups; 0/0 is 0.

    Args:
        params: parameters or parameter groups.
        lr: c > 0, the length of the first step.

    Example:
        >>> import torch
        >>> x = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
        >>> optimizer = NormalisedSGD([x], lr=1.0)
        >>> (x.square().sum() / 2).backward()
        >>> optimizer.step()
        >>> [round(value, 4) for value in x.tolist()]
        [2.4, 3.2]
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[dict[str, Any]], *, lr: float) -> None:
        if not 0.0 < lr < math.inf:
            raise ValueError(f"lr must be > 0 and finite (got {lr}): it is the length of the first step")
        super().__init__(params, {"lr": lr})
        self.param_groups[0].setdefault("k", 0)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step and return the closure's loss, if there is a closure."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        moves = [(group["lr"], p, p.grad) for group in self.param_groups for p in group["params"] if p.grad is not None]
        if not moves:
            raise RuntimeError("step() without gradients: call backward() before step()")
        norm = total_norm([gradient for _, _, gradient in moves])
        scale = torch.where(norm > 0, norm, 1.0) * math.sqrt(self.param_groups[0]["k"] + 1)
        for lr, p, gradient in moves:
            p.sub_(lr * gradient / scale.to(p.device, p.dtype))
        self.param_groups[0]["k"] += 1
        return loss


class Stepper(Protocol):
    """A method bound to the iterates of one block of repetitions.

    ``clipped`` counts the steps of each repetition whose gradient was clipped.
    """

    clipped: Tensor

    def step(self, gradient_RN: Tensor, k: int) -> float:
        """Move the iterates in place and return the weight of x_k in the weighted average."""
        ...


class TrialMethod(Protocol):
    """A method of the trial harness; ``repr`` must identify it with all its options."""

    @property
    def name(self) -> str:
        """The method's name in tables."""
        ...

    def bind(self, x_RN: Tensor) -> Stepper:
        """Start from the iterates ``x_RN``, which the stepper moves in place."""
        ...


@dataclass(frozen=True)
class ClippedTrial:
    """Clipped SGD with a schedule; a `ConstantSchedule` or `PowerSchedule` makes it a baseline."""

    schedule: ClipSchedule
    name: str = "clipped-sgd"

    def bind(self, x_RN: Tensor) -> Stepper:
        """Start from ``x_RN``."""
        return _Clipped(x_RN, self.schedule)


@dataclass(frozen=True)
class SGDTrial:
    """`torch.optim.SGD` with the step sizes of a schedule, without clipping or with a constant clip level."""

    schedule: ClipSchedule
    clip: float = math.inf
    name: str = "sgd"

    def bind(self, x_RN: Tensor) -> Stepper:
        """Start from ``x_RN``."""
        return _Torch(x_RN, SGD([x_RN], lr=self.schedule.step_size(0)), self.schedule.step_size, self.clip)


@dataclass(frozen=True)
class AdamTrial:
    """`torch.optim.Adam`; its iterates are averaged with equal weights unless ``decay`` lowers its steps.

    Args:
        lr: first step size.
        betas, eps: Adam's own.
        decay: the step size of step k is lr/(k+1)^decay.
    """

    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    decay: float = 0.0
    name: str = "adam"

    def bind(self, x_RN: Tensor) -> Stepper:
        """Start from ``x_RN``."""
        optimizer = Adam([x_RN], lr=self.lr, betas=self.betas, eps=self.eps, foreach=False)
        return _Torch(x_RN, optimizer, lambda k: self.lr / (k + 1.0) ** self.decay, math.inf)


@dataclass(frozen=True)
class NormalisedTrial:
    """Normalised SGD: x - c/sqrt(k+1) g/||g|| in each repetition."""

    lr: float
    name: str = "nsgd"

    def bind(self, x_RN: Tensor) -> Stepper:
        """Start from ``x_RN``."""
        return _Normalised(x_RN, self.lr)


class _Clipped:
    def __init__(self, x_RN: Tensor, schedule: ClipSchedule) -> None:
        self.x_RN, self.schedule = x_RN, schedule
        self.clipped = torch.zeros(len(x_RN), dtype=torch.int64)

    def step(self, gradient_RN: Tensor, k: int) -> float:
        gamma = self.schedule.step_size(k)
        share_R1 = _clip_share(gradient_RN, self.schedule.clip_level(k), self.clipped)
        self.x_RN.addcmul_(gradient_RN, share_R1, value=-gamma)
        return gamma


class _Torch:
    def __init__(self, x_RN: Tensor, optimizer: Optimizer, step_size: Callable[[int], float], clip: float) -> None:
        self.x_RN, self.optimizer, self.step_size, self.clip = x_RN, optimizer, step_size, clip
        self.clipped = torch.zeros(len(x_RN), dtype=torch.int64)

    def step(self, gradient_RN: Tensor, k: int) -> float:
        self.optimizer.param_groups[0]["lr"] = gamma = self.step_size(k)
        if self.clip < math.inf:
            gradient_RN = gradient_RN * _clip_share(gradient_RN, self.clip, self.clipped)
        self.x_RN.grad = gradient_RN
        self.optimizer.step()
        return gamma


class _Normalised:
    def __init__(self, x_RN: Tensor, lr: float) -> None:
        self.x_RN, self.lr = x_RN, lr
        self.clipped = torch.zeros(len(x_RN), dtype=torch.int64)

    def step(self, gradient_RN: Tensor, k: int) -> float:
        length = self.lr / math.sqrt(k + 1)
        norm_R1 = _row_norms(gradient_RN)
        self.x_RN.addcdiv_(gradient_RN, torch.where(norm_R1 > 0, norm_R1, 1.0), value=-length)
        return length


def _row_norms(gradient_RN: Tensor) -> Tensor:
    norm_R1: Tensor = torch.linalg.vector_norm(gradient_RN, dim=1, keepdim=True)
    return norm_R1


def _clip_share(gradient_RN: Tensor, level: float, clipped: Tensor) -> Tensor:
    norm_R1 = _row_norms(gradient_RN)
    above_R1 = norm_R1 > level
    clipped += above_R1[:, 0]
    return torch.where(above_R1, level / norm_R1, 1.0)
