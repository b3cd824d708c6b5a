"""Clipped SGD as a PyTorch optimizer.

Paper: "High-Probability Bounds for the Last Iterate of Clipped SGD" (Chezhegov, Parletta, Paudice, Gorbunov), ICLR
2026.

Idea: x_{k+1} = x_k - gamma_k clip(g_k, lambda_k) with clip(v, c) = min(1, c/||v||) v, and gamma, lambda from a schedule
whose level shrinks as the true gradient may be assumed to shrink.  The norm is that of all parameters together, one
vector, as in the paper.  With alpha-th moment noise the last iterate then satisfies
f(x_K) - f* = O~(K^(-(2 alpha - 2)/(3 alpha))) with probability 1 - delta; better exponents are known for averages.

Symbols: gamma_k ``schedule.step_size(k)`` · lambda_k ``schedule.clip_level(k)`` · k ``param_groups[0]["k"]``.

Departures from common practice: the gradients are left as they are (``clip_grad_norm_`` scales them in place), nothing
is added to the norm (``clip_grad_norm_`` adds 1e-6), and a NaN or inf gradient is an error or a skipped step, not an
update.  ``lr`` and ``weight_decay`` are outside the theory: ``lr`` multiplies gamma_k, so that LRSchedulers work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, overload

import torch
from torch import Tensor
from torch.optim import Optimizer

from iclr26_clipped_sgd.deferred import DeferredFaults
from iclr26_clipped_sgd.gradient_norm import global_norm, sharded_types, total_norm
from iclr26_clipped_sgd.schedules.tabulated import ClipSchedule, schedule_arguments

Move = tuple[dict[str, Any], list[Tensor], list[Tensor]]  # one parameter group with its parameters and gradients


@dataclass(frozen=True)
class StepInfo:
    """What one step did.

    Attributes:
        k: the number of the step.
        step_size: gamma_k, without the group's ``lr``.
        clip_level: lambda_k.
        grad_norm: norm of all gradients; a 0-dim tensor on an accelerator until `sync`.
        clipped: whether the norm exceeded the level; a 0-dim tensor on an accelerator until `sync`.
    """

    k: int
    step_size: float
    clip_level: float
    grad_norm: float | Tensor
    clipped: bool | Tensor

    def sync(self) -> StepInfo:
        """The same step in Python floats; waits for the device."""
        return replace(self, grad_norm=float(self.grad_norm), clipped=bool(self.clipped))


class ClippedSGD(Optimizer):
    """SGD whose steps and clipping levels follow a `ClipSchedule`; the norm spans all parameter groups.

    On accelerators a step reads nothing back.  With ``nonfinite="raise"`` a non-finite gradient there freezes the
    parameters at once and the error is raised by a later ``step()`` or by ``sync()``; ``nonfinite="skip"`` reads one
    scalar per step.

    Args:
        params: parameters or parameter groups, as for every PyTorch optimizer.
        schedule: step sizes and clipping levels.
        lr: multiplier of the step size, >= 0, per group; the theory has 1.
        weight_decay: decoupled, ``p *= 1 - gamma lr weight_decay``, >= 0, per group; not with a guaranteed schedule.
        maximize: ascend instead of descend.
        foreach: multi-tensor kernels; None uses them for plain tensors.
        nonfinite: "raise" a FloatingPointError before any parameter is touched, or "skip" the step and count it.

    Raises:
        ValueError: no parameters, a negative ``lr``, or weight decay together with a guarantee.
        TypeError: complex parameters; on ``step``, sparse or complex gradients.
        RuntimeError: on ``step``, no parameter has a gradient.
        FloatingPointError: on ``step``, a gradient is NaN or inf.

    Example:
        >>> import torch
        >>> from iclr26_clipped_sgd import ClippedSGD, PowerSchedule
        >>> x = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
        >>> optimizer = ClippedSGD([x], PowerSchedule(lr=0.1, clip=1.0))
        >>> (x.square().sum() / 2).backward()
        >>> optimizer.step()
        >>> x.tolist(), optimizer.last_step.grad_norm
        ([2.940000057220459, 3.9200000762939453], 5.0)
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        schedule: ClipSchedule,
        *,
        lr: float = 1.0,
        weight_decay: float = 0.0,
        maximize: bool = False,
        foreach: bool | None = None,
        nonfinite: Literal["raise", "skip"] = "raise",
    ) -> None:
        if not isinstance(schedule, ClipSchedule):
            raise TypeError(
                f"schedule must be a ClipSchedule (got {type(schedule).__name__}): try PowerSchedule(lr, clip)"
            )
        if nonfinite not in ("raise", "skip"):
            raise ValueError(f"nonfinite must be 'raise' or 'skip' (got {nonfinite!r})")
        self.schedule, self.foreach, self.nonfinite = schedule, foreach, nonfinite
        self.last_step: StepInfo | None = None
        self._faults = DeferredFaults()
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "maximize": maximize})
        if not any(group["params"] for group in self.param_groups):
            raise ValueError("params must hold at least one parameter (got 0): optimizer got an empty parameter list")
        self.param_groups[0].setdefault("k", 0)
        self.param_groups[0].setdefault("skipped", 0)

    @property
    def skipped(self) -> int:
        """How many steps were skipped because of a non-finite gradient."""
        return cast(int, self.param_groups[0]["skipped"])

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group after checking its ``lr``, ``weight_decay`` and the kind of its parameters."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            self._check_group(group)
        except (TypeError, ValueError):
            self.param_groups.pop()
            raise

    def _check_group(self, group: dict[str, Any]) -> None:
        for name in ("lr", "weight_decay"):
            if not 0.0 <= group[name] < math.inf:
                raise ValueError(f"{name} must be >= 0 and finite (got {group[name]})")
        if group["weight_decay"] != 0.0 and self.schedule.guaranteed:
            value = group["weight_decay"]
            raise ValueError(f"weight_decay must be 0 with a guaranteed schedule (got {value}): the proof has no decay")
        for parameter in group["params"]:
            if not parameter.is_floating_point():
                raise TypeError(f"parameters must be real floating point (got {parameter.dtype})")

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Take step k and return the closure's loss, if there is a closure."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        moves = self._moves()
        gradients = [gradient for _, _, group_gradients in moves for gradient in group_gradients]
        if self.nonfinite == "raise" and not all(gradient.is_cpu for gradient in gradients):
            self._step_without_sync(moves, gradients)
        else:
            self._step_on_host(moves, gradients)
        return loss

    def _moves(self) -> list[Move]:
        moves: list[Move] = []
        for group in self.param_groups:
            with_gradient = [p for p in group["params"] if p.grad is not None]
            gradients = [p.grad for p in with_gradient]
            for gradient in gradients:
                if gradient.layout != torch.strided or gradient.is_complex():
                    raise TypeError(f"gradients must be dense and real (got {gradient.layout}, {gradient.dtype})")
            if gradients:
                moves.append((group, with_gradient, gradients))
        if not moves:
            raise RuntimeError("step() without gradients: call backward() before step()")
        return moves

    def _step_on_host(self, moves: list[Move], gradients: list[Tensor]) -> None:
        first = self.param_groups[0]
        k = first["k"]
        gamma, level, norm = self.schedule.step_size(k), self.schedule.clip_level(k), global_norm(gradients)
        if not math.isfinite(norm):
            if self.nonfinite == "raise":
                raise FloatingPointError(_nonfinite_message(k, norm))
            first["skipped"] += 1
            return
        coefficient = level / norm if norm > level else 1.0
        for group, parameters, group_gradients in moves:
            if group["weight_decay"] != 0.0:
                torch._foreach_mul_(parameters, 1.0 - gamma * group["lr"] * group["weight_decay"])
            alpha = gamma * group["lr"] * coefficient
            self._descend(parameters, group_gradients, alpha if group["maximize"] else -alpha)
        first["k"] = k + 1
        self.last_step = StepInfo(k, gamma, level, norm, norm > level)

    def _descend(self, parameters: list[Tensor], gradients: list[Tensor], alpha: float) -> None:
        parameters, gradients = _local_shards(parameters, gradients)
        if 0.0 < abs(alpha) < torch.finfo(torch.float32).tiny:
            for p, g in zip(parameters, gradients, strict=True):  # alpha would lose its digits in float32
                p.add_((g.double() * alpha).to(p.dtype))
        elif _use_foreach(self.foreach, parameters):
            # Last tensors first: the norm has just read them, so they are still in the cache.
            torch._foreach_add_(parameters[::-1], gradients[::-1], alpha=alpha)
        else:
            for p, g in zip(parameters, gradients, strict=True):
                p.add_(g, alpha=alpha)

    def _step_without_sync(self, moves: list[Move], gradients: list[Tensor]) -> None:
        self._raise_fault(wait=False)
        first = self.param_groups[0]
        k = first["k"]
        gamma, level = self.schedule.step_size(k), self.schedule.clip_level(k)
        norm = total_norm(gradients)
        frozen = self._faults.watch(norm)
        coefficient = (level / norm).nan_to_num(nan=0.0).clamp(max=1.0)  # 0/0 := 0; inf/norm clamps to 1
        for group, parameters, group_gradients in moves:
            parameters, group_gradients = _local_shards(parameters, group_gradients)
            decay = 1.0 - gamma * group["lr"] * group["weight_decay"]
            alpha = gamma * group["lr"] * coefficient
            self._faults.descend(parameters, group_gradients, alpha, decay, frozen, maximize=group["maximize"])
        first["k"] = k + 1
        self.last_step = StepInfo(k, gamma, level, norm, norm > level)

    def sync(self) -> StepInfo | None:
        """The last step in Python floats; waits for the device and raises a pending FloatingPointError."""
        self._raise_fault(wait=True)
        self.last_step = None if self.last_step is None else self.last_step.sync()
        return self.last_step

    def _raise_fault(self, *, wait: bool) -> None:
        faulty_steps = self._faults.take(wait=wait)
        if faulty_steps:
            self.param_groups[0]["k"] -= faulty_steps
            raise FloatingPointError(_nonfinite_message(self.param_groups[0]["k"], math.nan))

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state: k in ``param_groups[0]["k"]``, the schedule's arguments under ``"schedule"``."""
        self.sync()
        return {**super().state_dict(), "schedule": schedule_arguments(self.schedule)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume at the saved k.

        Raises:
            ValueError: the state was saved with another schedule; the message names the field.
        """
        mine, saved = schedule_arguments(self.schedule), state_dict.get("schedule")
        if saved is None:
            raise ValueError("state_dict must hold 'schedule' (got none): it was not saved by ClippedSGD")
        for name in [*mine, *(name for name in saved if name not in mine)]:
            if mine.get(name) != saved.get(name):
                was, now = saved.get(name), mine.get(name)
                raise ValueError(
                    f"schedule.{name} must be {was!r} as in the state dict (got {now!r}): rebuild the schedule"
                )
        if not all(name in state_dict["param_groups"][0] for name in ("k", "skipped")):
            raise ValueError(
                "state_dict['param_groups'][0] must hold 'k' and 'skipped': it was not saved by ClippedSGD"
            )
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "schedule"})

    def __getstate__(self) -> dict[str, Any]:
        self.sync()
        own = {name: getattr(self, name) for name in ("schedule", "foreach", "nonfinite", "last_step")}
        return {**super().__getstate__(), **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._faults = DeferredFaults()


def _use_foreach(foreach: bool | None, parameters: Sequence[Tensor]) -> bool:
    plain = (Tensor, torch.nn.Parameter)
    return all(type(p) in plain for p in parameters) if foreach is None else foreach


def _local_shards(parameters: list[Any], gradients: list[Any]) -> tuple[list[Tensor], list[Tensor]]:
    kinds = sharded_types()
    if not any(isinstance(p, kinds) for p in parameters):
        return parameters, gradients
    local: list[tuple[Tensor, Tensor]] = []
    for p, g in zip(parameters, gradients, strict=True):
        if isinstance(p, kinds):
            local.append((p.to_local(), g.redistribute(p.device_mesh, p.placements).to_local()))
        else:
            local.append((p, g))
    return [p for p, _ in local], [g for _, g in local]


def _nonfinite_message(k: int, norm: float) -> str:
    return f"gradient norm must be finite (got {norm} at step {k}): no parameter was changed; see nonfinite='skip'"
