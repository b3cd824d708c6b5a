"""Samples of a model's stochastic gradient noise at fixed parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GradientNoise:
    """Noise g_j - gbar of stochastic gradients.

    Attributes:
        norms: ||g_j - gbar||, shape (n_batches,).
        coordinates: randomly chosen coordinates of g_j - gbar, shape (n_batches, c).
        gradient_norm: ||gbar||.
    """

    norms: Array
    coordinates: Array
    gradient_norm: float


def gradient_noise(
    model: Module,
    loss_fn: Callable[[Module, Any], Tensor],
    loader: Iterable[Any],
    n_batches: int,
    *,
    full_batch: Any = None,
    n_coordinates: int = 64,
    seed: int = 0,
) -> GradientNoise:
    """Noise of ``n_batches`` stochastic gradients around their mean, or around the full gradient.

    The gradients are computed twice, once for the mean and once for the noise, so memory is that of two gradients.
    Each batch keeps its random seed, so that dropout repeats.  ``.grad`` and the parameters stay as they are.

    Args:
        model: only parameters with ``requires_grad`` count.
        loss_fn: ``loss_fn(model, batch) -> scalar tensor``.
        loader: batches; it is started again when it ends before ``n_batches``.
        n_batches: number of noise samples, >= 2.
        full_batch: the whole finite data set as one batch; its gradient is then the centre.
        n_coordinates: at most this many coordinates are kept.
        seed: picks the coordinates and seeds dropout.

    Raises:
        ValueError: n_batches < 2, an empty loader, or no parameter requires a gradient.
    """
    if n_batches < 2:
        raise ValueError(f"n_batches must be >= 2 (got {n_batches}): noise is measured around a mean")
    batches = list(_first(loader, n_batches))
    gradients = _gradients(model, loss_fn, batches, seed)
    centre = _mean(gradients) if full_batch is None else next(_gradients(model, loss_fn, [full_batch], seed))
    chosen = _choose(centre.numel(), n_coordinates, seed)
    norms, coordinates = [], []
    for gradient in _gradients(model, loss_fn, batches, seed):
        noise = gradient - centre
        norms.append(float(torch.linalg.vector_norm(noise)))
        coordinates.append(noise[chosen.to(noise.device)].cpu().numpy())
    return GradientNoise(np.asarray(norms), np.stack(coordinates), float(torch.linalg.vector_norm(centre)))


def _first(loader: Iterable[Any], n_batches: int) -> Iterator[Any]:
    count = 0
    while count < n_batches:
        before = count
        for batch in loader:
            yield batch
            count += 1
            if count == n_batches:
                return
        if count == before:
            raise ValueError("loader must yield at least one batch each time it is started (got none)")


def _gradients(
    model: Module, loss_fn: Callable[[Module, Any], Tensor], batches: list[Any], seed: int
) -> Iterator[Tensor]:
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("model must have a parameter that requires a gradient (got none)")
    for index, batch in enumerate(batches):
        with torch.random.fork_rng(), torch.enable_grad():
            torch.manual_seed(seed + index)
            pieces = torch.autograd.grad(loss_fn(model, batch), parameters, allow_unused=True)
        whole = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, pieces, strict=True)]
        yield torch.cat([g.detach().reshape(-1).double() for g in whole])


def _mean(gradients: Iterator[Tensor]) -> Tensor:
    mean = next(gradients).clone()
    for index, gradient in enumerate(gradients, start=2):
        mean += (gradient - mean) / index
    return mean


def _choose(size: int, n_coordinates: int, seed: int) -> Tensor:
    order = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    return order[: min(size, n_coordinates)]
