"""`FrankWolfe`, a torch optimiser whose parameters stay in geodesically convex sets without projections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from iclr26_riemannian_fw.feasible.lmo import LMOResult
from iclr26_riemannian_fw.feasible.sets import FeasibleSet
from iclr26_riemannian_fw.frank_wolfe import DOUBLINGS, STEPS, open_loop_step, short_step
from iclr26_riemannian_fw.geometry.adapters import from_geoopt


class FrankWolfe(torch.optim.Optimizer):
    """Frank-Wolfe steps x <- Exp_x(s Log_x v) for parameters in sets, one set per parameter group.

    All parameters together are one point of the product of their sets and share one step size. `step` evaluates the
    closure once for the gradient; "backtracking" and "line-search" evaluate it again at trial points, so it must be
    deterministic. With stochastic gradients only "open-loop" makes sense.

    Args:
        params: tensors, `geoopt.ManifoldParameter`s, or groups with their own `feasible_set`. A parameter may carry
            batch axes in front (one problem each, all with one step size).
        feasible_set: the set of groups that name none.
        step: "backtracking" (default), "short", "open-loop" or "line-search".
        smoothness: L for "short", the first guess for "backtracking".

    Raises:
        ValueError: if a parameter is not in its set, or an option is out of range.

    Example:
        >>> import torch
        >>> from iclr26_riemannian_fw import FrankWolfe, GeodesicBall, Sphere
        >>> north = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)
        >>> x = torch.nn.Parameter(north.clone())
        >>> optimizer = FrankWolfe([x], GeodesicBall(Sphere(), north, 0.5))
        >>> for _ in range(20):
        ...     loss = optimizer.step(lambda: -x[0])
        >>> round(float(x.detach()[0]), 6)
        0.479426
    """

    def __init__(
        self,
        params: Iterable[Any],
        feasible_set: FeasibleSet | None = None,
        *,
        step: str = "backtracking",
        smoothness: float | None = None,
    ) -> None:
        if step not in STEPS:
            raise ValueError(f"step must be one of {', '.join(STEPS)} (got {step!r})")
        if smoothness is not None and not smoothness > 0:
            raise ValueError(f"smoothness must be > 0 (got {smoothness})")
        if step == "short" and smoothness is None:
            raise ValueError("smoothness must be given for step='short' (got None): pass L or use step='backtracking'")
        super().__init__(params, {"feasible_set": feasible_set})
        self.rule = step
        self.smoothness = 1.0 if smoothness is None else float(smoothness)
        self.iteration = 0
        self._gap = float("nan")
        for parameter, chosen in self._pairs():
            self._check(parameter, chosen)

    def _pairs(self) -> list[tuple[Tensor, FeasibleSet]]:
        return [(p, group["feasible_set"]) for group in self.param_groups for p in group["params"]]

    @staticmethod
    def _check(parameter: Tensor, feasible_set: FeasibleSet | None) -> None:
        if feasible_set is None:
            raise ValueError("feasible_set must be given for every parameter group (got None)")
        manifold = getattr(parameter, "manifold", None)
        if manifold is not None and from_geoopt(manifold) != feasible_set.manifold:
            raise ValueError(f"the parameter lives on {manifold}, its set on {feasible_set.manifold}: use one manifold")
        with torch.no_grad():
            feasible_set.check_start(parameter)

    def gap(self) -> float:
        """Return the Frank-Wolfe gap where the last step began, summed over parameters; NaN before any step."""
        return self._gap

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Return the loss at the point before the step, after moving every parameter inside its set.

        Args:
            closure: evaluates the model and returns the loss. `step` calls `backward` itself if the closure did not.
                Without one the gradients already stored are used ("open-loop" and "short" only).

        Raises:
            ValueError: if the rule needs a closure and none is given.
            RuntimeError: if the loss is not finite, no parameter has a gradient, or backtracking finds no descent.
        """
        loss = self._evaluate(closure)
        moves = [(p, s, self._ask(p, s)) for p, s in self._pairs() if p.grad is not None]
        if not moves:
            raise RuntimeError("no parameter has a gradient: call backward, or pass a closure that returns the loss")
        gap = torch.stack([-lmo.value.sum() for _, _, lmo in moves]).sum().clamp_min(0.0)
        length = torch.stack([s.manifold.norm(p.detach(), lmo.u).square().sum() for p, s, lmo in moves]).sum().sqrt()
        self._gap = float(gap)
        size = self._size(closure, loss, moves, gap, length)
        self._move(moves, [p.detach().clone() for p, _, _ in moves], size)
        self.iteration += 1
        return loss

    def _evaluate(self, closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            if self.rule in ("backtracking", "line-search"):
                raise ValueError(f"step='{self.rule}' needs step(closure): it evaluates the loss at trial points")
            return None
        self.zero_grad()
        with torch.enable_grad():
            loss = closure()
            if all(p.grad is None for p, _ in self._pairs()):
                loss.backward()
        value = torch.as_tensor(loss).detach()
        if not bool(torch.isfinite(value).all()):
            raise RuntimeError(f"the loss must be finite (got {value.tolist()}): parameters are unchanged")
        return loss.detach() if isinstance(loss, Tensor) else loss

    def _ask(self, parameter: Tensor, feasible_set: FeasibleSet) -> LMOResult:
        x, gradient = parameter.detach(), parameter.grad
        if gradient is None or not bool(torch.isfinite(gradient).all()):
            raise RuntimeError("the gradient must be finite: parameters are unchanged")
        memory = self.state[parameter].get("memory")
        answer = feasible_set.lmo(x, feasible_set.manifold.egrad2rgrad(x, gradient), memory)
        self.state[parameter]["memory"] = answer.memory
        return answer

    def _size(self, closure: Any, loss: Any, moves: list[Any], gap: Tensor, length: Tensor) -> float:
        if self.rule == "open-loop":
            return open_loop_step(self.iteration)
        if self.rule == "short":
            return float(short_step(gap, length, torch.as_tensor(self.smoothness, dtype=gap.dtype)))
        before = [p.detach().clone() for p, _, _ in moves]

        def along(size: float) -> float:
            self._move(moves, before, size)
            with torch.enable_grad():
                return float(torch.as_tensor(closure()).detach())

        try:
            return self._backtrack(along, loss, gap, length) if self.rule == "backtracking" else _search(along)
        finally:
            self._move(moves, before, 0.0)

    def _backtrack(self, along: Callable[[float], float], loss: Any, gap: Tensor, length: Tensor) -> float:
        value = float(torch.as_tensor(loss).detach())
        slack = 5 * torch.finfo(gap.dtype).eps * max(1.0, abs(value))
        smoothness = 0.5 * self.smoothness
        for _ in range(DOUBLINGS + 1):
            size = float(short_step(gap, length, torch.as_tensor(smoothness, dtype=gap.dtype)))
            if along(size) <= value - size * float(gap) + 0.5 * smoothness * (size * float(length)) ** 2 + slack:
                self.smoothness = smoothness
                return size
            smoothness *= 2
        raise RuntimeError(
            f"smoothness estimate exploded: no descent in {DOUBLINGS} doublings up to L = {smoothness:.3g}"
        )

    @staticmethod
    @torch.no_grad()
    def _move(moves: list[Any], before: list[Tensor], size: float) -> None:
        for (parameter, feasible_set, lmo), start in zip(moves, before, strict=True):
            parameter.copy_(start if size == 0.0 else feasible_set.manifold.exp(start, size * lmo.u))

    def state_dict(self) -> dict[str, Any]:
        """Return what resumes the optimiser; sets stay with the caller, who builds them again."""
        saved = super().state_dict()
        groups = [{k: v for k, v in group.items() if k != "feasible_set"} for group in saved["param_groups"]]
        progress = {"rule": self.rule, "smoothness": self.smoothness, "iteration": self.iteration, "gap": self._gap}
        return {**saved, "param_groups": groups, "frank_wolfe": progress}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned; the feasible sets are those given to the constructor."""
        sets = [group["feasible_set"] for group in self.param_groups]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "frank_wolfe"})
        for group, chosen in zip(self.param_groups, sets, strict=True):
            group["feasible_set"] = chosen
        progress = state_dict["frank_wolfe"]
        self.rule, self.smoothness = progress["rule"], progress["smoothness"]
        self.iteration, self._gap = progress["iteration"], progress["gap"]


def _search(along: Callable[[float], float]) -> float:
    """Return the step in [0, 1] of least loss: scipy's bounded Brent, or 1 where that is better."""
    from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]

    found = minimize_scalar(along, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    return 1.0 if along(1.0) <= found.fun else float(found.x)
