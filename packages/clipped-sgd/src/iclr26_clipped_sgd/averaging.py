"""The weighted running average of a model's parameters: sum_k w_k x_k / sum_k w_k."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.optim.swa_utils import AveragedModel


class WeightedAverage:
    """Weighted average of the iterates, in PyTorch's own `AveragedModel`.

    Call ``update`` with gamma_k before step k: the average then holds x_0 ... x_{K-1}, as in the theory.

    Args:
        model: the model whose parameters are averaged; it is copied, not changed.

    Example:
        >>> import torch
        >>> from iclr26_clipped_sgd import WeightedAverage
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> average = WeightedAverage(model)
        >>> for value, weight in ((1.0, 3.0), (5.0, 1.0)):
        ...     _ = torch.nn.init.constant_(model.weight, value)
        ...     average.update(model, weight)
        >>> average.module.weight.item()
        2.0
    """

    def __init__(self, model: Module) -> None:
        self.total_weight = 0.0
        self._share = 1.0
        self._averaged = AveragedModel(model, multi_avg_fn=self._blend)

    def _blend(self, averages: Any, parameters: Any, count: Any) -> None:
        torch._foreach_lerp_(list(averages), list(parameters), self._share)

    @property
    def module(self) -> Module:
        """The model that holds the average."""
        return self._averaged.module

    @torch.no_grad()
    def update(self, model: Module, weight: float) -> None:
        """Add the model's present parameters with ``weight`` >= 0; buffers are copied, not averaged.

        Raises:
            ValueError: the weight is negative, NaN or infinite.
        """
        if not 0.0 <= weight < math.inf:
            raise ValueError(f"weight must be >= 0 and finite (got {weight})")
        if weight == 0.0:
            return
        self.total_weight += weight
        self._share = weight / self.total_weight
        self._averaged.update_parameters(model)

    @torch.no_grad()
    def copy_to(self, model: Module) -> None:
        """Write the average into the model's parameters.

        Raises:
            RuntimeError: nothing has been averaged yet.
        """
        if self.total_weight == 0.0:
            raise RuntimeError("copy_to() before the first update(): there is no average yet")
        for parameter, average in zip(model.parameters(), self.module.parameters(), strict=True):
            parameter.copy_(average)

    def state_dict(self) -> dict[str, Any]:
        """The total weight, and the averaged model's own state."""
        return {"total_weight": self.total_weight, "averaged": self._averaged.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue a saved average."""
        self.total_weight = float(state_dict["total_weight"])
        averaged: dict[str, Tensor] = state_dict["averaged"]
        self._averaged.load_state_dict(averaged)
