"""One training loop for every network over traces: the authors' optimizer, schedule and model selection.

AdamW; the learning rate falls by ten when the validation AUROC has not risen for 5 epochs, looked at from epoch 20 on;
training stops when it has not risen for ``patience`` epochs; the best epoch's weights are restored (code).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .metrics import auroc

PLATEAU = {"mode": "max", "factor": 0.1, "patience": 5, "threshold": 1e-5, "min_lr": 1e-8}  # (code)
PLATEAU_FROM = 20  # epochs before the schedule looks at the validation AUROC (code)

Batch = tuple[Tensor, Tensor]
Read = Callable[[list[int]], Batch]


class TraceNetwork(Protocol):
    """What the loop needs of a network, besides being an ``nn.Module``."""

    def loss(self, output: Any, target: Tensor, lengths: Tensor) -> Tensor:
        """Return the scalar training loss."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a network is trained.

    Args:
        lr: learning rate of AdamW
        weight_decay: of AdamW
        batch_size: traces per update
        epochs: at most
        patience: epochs without a better validation AUROC after which training stops
        seed: of the order of the traces and of dropout
    """

    lr: float = 2e-4
    weight_decay: float = 0.1
    batch_size: int = 64
    epochs: int = 100
    patience: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1 (got {getattr(self, name)})")
        if not (self.lr > 0.0 and self.weight_decay >= 0.0):
            raise ValueError(f"lr must be > 0 and weight_decay >= 0 (got {self.lr} and {self.weight_decay})")


@dataclass(frozen=True)
class Epoch:
    """One epoch's number (from 1), mean training loss, validation AUROC and learning rate."""

    number: int
    loss: float
    val_auroc: float
    lr: float


def train(
    network: Any,
    read: Read,
    labels: NDArray[np.float64],
    validation: tuple[Read, NDArray[np.float64]],
    training: Training,
    *,
    device: torch.device,
    checkpoint: Path | None = None,
) -> list[Epoch]:
    """Train in place, leave the best epoch's weights in the network, and return the history.

    Args:
        network: an ``nn.Module`` with ``loss``; called with (values, lengths)
        read: gives the batch of these places in the training set
        labels: (N,) of the training set, in [0, 1]
        validation: the same two of the validation set
        training: how
        device: where the network is
        checkpoint: file that keeps the state of every epoch; if it is there, training goes on from it

    Raises:
        ArithmeticError: the loss is NaN before any epoch was finished
    """
    optimizer = torch.optim.AdamW(network.parameters(), lr=training.lr, weight_decay=training.weight_decay, fused=True)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **PLATEAU)  # type: ignore[arg-type]
    order = torch.Generator().manual_seed(training.seed)
    history: list[Epoch] = []
    best: dict[str, Tensor] = {}
    if checkpoint is not None and checkpoint.exists():
        best, history = _restore(checkpoint, network, optimizer, plateau, order)
    read_val, labels_val = validation
    target = torch.tensor(np.stack([1.0 - labels, labels], 1), dtype=torch.float32)
    while len(history) < training.epochs and not _stalled(history, training.patience):
        loss = _one_epoch(network, optimizer, read, target, training.batch_size, order, device)
        if not np.isfinite(loss):
            _stop_at_nan(len(history) + 1, bool(best))
            break
        scores = predict(network, read_val, len(labels_val), training.batch_size, device)
        value = auroc(labels_val, scores)
        if not history or value > max(epoch.val_auroc for epoch in history):
            best = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
        history.append(Epoch(len(history) + 1, loss, value, optimizer.param_groups[0]["lr"]))
        if len(history) > PLATEAU_FROM:
            plateau.step(value)
        if checkpoint is not None:
            _keep(checkpoint, network, optimizer, plateau, order, best, history)
    network.load_state_dict(best)
    network.eval()
    return history


@torch.no_grad()
def predict(network: Any, read: Read, count: int, batch_size: int, device: torch.device) -> NDArray[np.float64]:
    """Return (N,) probabilities of class 1, hallucinated."""
    network.eval()
    found = []
    for chosen in batches(list(range(count)), batch_size):
        values, lengths = read(chosen)
        output = network(values.to(device), lengths.to(device))
        found.append(output.logits.double().softmax(-1)[:, 1].cpu().numpy())
    return np.concatenate(found)


def batches(places: list[int], size: int) -> Iterator[list[int]]:
    """Yield the places in pieces of ``size``."""
    for start in range(0, len(places), size):
        yield places[start : start + size]


def _one_epoch(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    read: Read,
    target: Tensor,
    batch_size: int,
    order: torch.Generator,
    device: torch.device,
) -> float:
    """Return the mean loss; NaN as soon as one batch's is not finite, before its update."""
    network.train()
    losses = []
    for chosen in batches(torch.randperm(len(target), generator=order).tolist(), batch_size):
        values, lengths = (tensor.to(device) for tensor in read(chosen))
        loss: Any = network.loss(network(values, lengths), target[chosen].to(device), lengths)  # type: ignore[operator]
        losses.append(float(loss.detach()))
        if not np.isfinite(losses[-1]):
            return float("nan")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(np.mean(losses))


def _stalled(history: list[Epoch], patience: int) -> bool:
    values = [epoch.val_auroc for epoch in history]
    return bool(values) and len(values) - 1 - int(np.argmax(values)) >= patience


def _stop_at_nan(epoch: int, recovered: bool) -> None:
    if not recovered:
        raise ArithmeticError(f"the loss is not finite in epoch {epoch}, before any was finished: lower lr")
    warnings.warn(f"the loss is not finite in epoch {epoch}: stopped, best epoch restored", stacklevel=3)


def _keep(
    path: Path,
    network: nn.Module,
    optimizer: Any,
    plateau: Any,
    order: torch.Generator,
    best: Any,
    history: list[Epoch],
) -> None:
    state = {
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "plateau": plateau.state_dict(),
        "order": order.get_state(),
        "random": torch.get_rng_state(),
        "best": best,
        "history": [(epoch.number, epoch.loss, epoch.val_auroc, epoch.lr) for epoch in history],
    }
    temporary = path.with_suffix(".tmp")
    torch.save(state, temporary)
    temporary.replace(path)


def _restore(
    path: Path, network: nn.Module, optimizer: Any, plateau: Any, order: torch.Generator
) -> tuple[dict[str, Tensor], list[Epoch]]:
    state = torch.load(path, weights_only=True)
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    plateau.load_state_dict(state["plateau"])
    order.set_state(state["order"])
    torch.set_rng_state(state["random"])
    return state["best"], [Epoch(*row) for row in state["history"]]
