"""The user's objective as `minimize` calls it: values and Riemannian gradients of batched points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from iclr26_riemannian_fw.feasible.sets import FeasibleSet
from iclr26_riemannian_fw.geometry.manifolds import Manifold


@dataclass(frozen=True)
class Problem:
    """f with its Riemannian gradient, on the manifold of a feasible set, for torch tensors or (`numpy`) arrays."""

    f: Callable[..., Any]
    grad: Callable[..., Any] | None
    riemannian_grad: Callable[..., Any] | None
    feasible_set: FeasibleSet
    numpy: bool

    @property
    def manifold(self) -> Manifold:
        """The set's manifold."""
        return self.feasible_set.manifold

    def value(self, x: Tensor) -> Tensor:
        """Return f(x), one value per problem."""
        with torch.no_grad():
            return self._shaped(self._call(self.f, x), x)

    def value_and_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return f(x) and its Riemannian gradient."""
        if self.riemannian_grad is not None:
            return self.value(x), self.manifold.tangent(x, self._call(self.riemannian_grad, x))
        if self.grad is not None:
            return self.value(x), self.manifold.egrad2rgrad(x, self._call(self.grad, x))
        if self.numpy:
            raise ValueError("grad must be given with a numpy x0: pass grad, riemannian_grad, or a torch x0")
        with torch.enable_grad():
            leaf = x.detach().requires_grad_(True)
            value = self._shaped(self.f(leaf), x)
            (gradient,) = torch.autograd.grad(value.sum(), leaf)
        return value.detach(), self.manifold.egrad2rgrad(x, gradient)

    def _call(self, function: Callable[..., Any], x: Tensor) -> Tensor:
        answer = function(x.detach().cpu().numpy() if self.numpy else x)
        return torch.as_tensor(answer, dtype=x.dtype, device=x.device)

    def _shaped(self, value: Tensor, x: Tensor) -> Tensor:
        batch = self.manifold.batch_shape(x)
        if value.shape != batch:
            raise ValueError(f"f must return one value per problem, shape {tuple(batch)} (got {tuple(value.shape)})")
        return value
