"""The models whose gradient noise the tail job measures: two embedded ones, or the user's own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Module
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

LossFunction = Callable[[Module, Any], Tensor]


def load_model(name: str, batch_size: int, seed: int) -> tuple[Module, LossFunction, Iterable[Any], str]:
    """Return the model, ``loss_fn(model, batch)``, its batches and a name for tables.

    Args:
        name: ``digits``, ``breast-cancer`` or ``module:function``; the function returns (model, loss_fn, loader).
        batch_size: rows per batch of the embedded data.
        seed: shuffles the embedded data.

    Raises:
        ValueError: the function cannot be found or returns something else.
    """
    if ":" in name:
        return *_own(name), name
    from sklearn import datasets  # type: ignore[import-untyped]

    load = {"digits": datasets.load_digits, "breast-cancer": datasets.load_breast_cancer}[name]
    features, target = load(return_X_y=True)
    features = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-12)
    data = TensorDataset(torch.tensor(features, dtype=torch.float32), torch.tensor(target))
    shuffle = torch.Generator().manual_seed(seed)
    loader = DataLoader(data, batch_size=batch_size, shuffle=True, drop_last=True, generator=shuffle)
    model = Linear(features.shape[1], int(target.max()) + 1)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    return model, _cross_entropy, loader, name


def _cross_entropy(model: Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    device = next(model.parameters()).device
    return cross_entropy(model(batch[0].to(device)), batch[1].to(device))


def _own(name: str) -> tuple[Module, LossFunction, Iterable[Any]]:
    module, _, function = name.partition(":")
    try:
        made = getattr(importlib.import_module(module), function)()
    except (ImportError, AttributeError) as error:
        raise ValueError(f"model must be an importable module:function (got {name!r}): {error}") from error
    if not (isinstance(made, tuple) and len(made) == 3 and isinstance(made[0], Module) and callable(made[1])):
        raise ValueError(f"{name}() must return (model, loss_fn, loader) (got {type(made).__name__})")
    return made
