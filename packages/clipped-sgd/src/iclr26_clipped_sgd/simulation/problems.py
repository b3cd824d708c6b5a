"""Convex test problems for repeated runs: x has shape (R, N), one row per repetition.

Shapes: R repetitions · N dimension · B batch · S steps · M rows of data.  Every operation is row by row, and sums over
data run one repetition at a time, so a repetition's result does not depend on which others share its block.
"""

from __future__ import annotations

import csv
import hashlib
import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize  # type: ignore[import-untyped]
from scipy.special import expit  # type: ignore[import-untyped]
from torch import Tensor

from iclr26_clipped_sgd.simulation.smoothness import logistic_smoothness
from iclr26_clipped_sgd.tails.noise import StudentT

Array = NDArray[np.float64]
ROWS = 65_536  # rows of data evaluated at a time: they fit in the cache, and the order of summation stays fixed


class Problem(Protocol):
    """A convex objective with a stochastic gradient; ``repr`` must identify it, data included."""

    @property
    def dimension(self) -> int:
        """N, the number of coordinates."""
        ...

    @property
    def smoothness(self) -> float:
        """L, the Lipschitz constant of the gradient."""
        ...

    @property
    def radius(self) -> float:
        """R0 = ||x0 - x*||."""
        ...

    @property
    def workspace(self) -> int:
        """Doubles that one gradient of one repetition needs."""
        ...

    def start(self) -> Array:
        """x0 of shape (N,)."""
        ...

    def draw(self, generator: np.random.Generator, steps: int) -> tuple[NDArray[np.generic], ...]:
        """The data of ``steps`` steps of one repetition: arrays with leading dimension S; empty without sampling."""
        ...

    def gradient(self, x_RN: Tensor, draws: tuple[Tensor, ...]) -> Tensor:
        """Stochastic gradient of shape (R, N); ``draws`` are those of one step, with leading dimension R."""
        ...

    def gap(self, x_RN: Tensor) -> Array:
        """f(x) - f* of shape (R,)."""
        ...


@dataclass(frozen=True)
class Quadratic:
    """f(x) = (L/2) ||x||^2 in N dimensions with exact gradients, x0 = R0 e1.

    Args:
        dimension: N >= 1.
        smoothness: L > 0.
        radius: R0 > 0.

    Example:
        >>> Quadratic(3, radius=2.0).start().tolist()
        [2.0, 0.0, 0.0]
    """

    dimension: int
    smoothness: float = 1.0
    radius: float = 1.0
    workspace: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        _check_positive(dimension=self.dimension, smoothness=self.smoothness, radius=self.radius)

    def start(self) -> Array:
        """x0 = R0 e1."""
        return np.concatenate([[self.radius], np.zeros(self.dimension - 1)])

    def draw(self, generator: np.random.Generator, steps: int) -> tuple[NDArray[np.generic], ...]:
        """Nothing: the gradient is exact."""
        return ()

    def gradient(self, x_RN: Tensor, draws: tuple[Tensor, ...]) -> Tensor:
        """L x."""
        return self.smoothness * x_RN

    def gap(self, x_RN: Tensor) -> Array:
        """(L/2) ||x||^2."""
        x = x_RN.numpy()
        return np.asarray(0.5 * self.smoothness * (x * x).sum(axis=1))


@dataclass(frozen=True)
class Logistic:
    """f(x) = ln(1 + exp(<x, a>)) + (ridge/2) ||x||^2 with exact gradients, x0 = 0; the paper's first simulation.

    Args:
        dimension: N >= 1.
        ridge: > 0.
        seed: draws a uniformly from the unit sphere.
    """

    dimension: int
    ridge: float = 0.1
    seed: int = 0
    workspace: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        _check_positive(dimension=self.dimension, ridge=self.ridge)

    @cached_property
    def direction(self) -> Array:
        """The unit vector a."""
        a = np.random.default_rng(self.seed).standard_normal(self.dimension)
        return np.asarray(a / np.linalg.norm(a))

    @cached_property
    def _margin(self) -> float:
        # x* = -(sigmoid(s)/ridge) a with s = <x*, a>, a scalar equation
        return float(
            brentq(lambda s: s + 1.0 / (self.ridge * (1.0 + math.exp(-s))), -1.0 / self.ridge, 0.0, xtol=1e-15)
        )

    @property
    def smoothness(self) -> float:
        """L = ||a||^2/4 + ridge."""
        return 0.25 + self.ridge

    @property
    def radius(self) -> float:
        """||x*||, since x0 = 0."""
        return abs(self._margin)

    def start(self) -> Array:
        """x0 = 0."""
        return np.zeros(self.dimension)

    def draw(self, generator: np.random.Generator, steps: int) -> tuple[NDArray[np.generic], ...]:
        """Nothing: the gradient is exact."""
        return ()

    def gradient(self, x_RN: Tensor, draws: tuple[Tensor, ...]) -> Tensor:
        """sigmoid(<x, a>) a + ridge x."""
        a_N = torch.from_numpy(self.direction)
        return _sigmoid((x_RN * a_N).sum(dim=1, keepdim=True)) * a_N + self.ridge * x_RN

    def gap(self, x_RN: Tensor) -> Array:
        """f(x) - f*."""
        x = x_RN.numpy()
        values = np.logaddexp(0.0, (x * self.direction).sum(axis=1)) + 0.5 * self.ridge * (x * x).sum(axis=1)
        best = np.logaddexp(0.0, self._margin) + 0.5 * self.ridge * self._margin**2
        return np.asarray(values - best)


@dataclass(frozen=True)
class FiniteSumLogistic:
    """Mean logistic loss of M rows plus (ridge/2) ||x||^2, gradients from B rows drawn with replacement, x0 = 0.

    Args:
        features: (M, N) finite.
        labels: (M,) of -1 and +1.
        ridge: > 0, so that a minimiser exists.
        batch_size: B >= 1.
        name: for the record.
    """

    features: Array = field(repr=False, compare=False)
    labels: Array = field(repr=False, compare=False)
    ridge: float = 0.01
    batch_size: int = 1
    name: str = "logistic"
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        _check_positive(ridge=self.ridge, batch_size=self.batch_size)
        features = np.ascontiguousarray(self.features, dtype=np.float64)
        labels = np.ascontiguousarray(self.labels, dtype=np.float64)
        if features.ndim != 2 or labels.shape != features.shape[:1] or not np.isfinite(features).all():
            raise ValueError(f"features must be finite (M, N), labels (M,) (got {features.shape} and {labels.shape})")
        if not np.isin(labels, (-1.0, 1.0)).all():
            raise ValueError(f"labels must be -1 or +1 (got {np.unique(labels)[:5].tolist()})")
        digest = hashlib.sha256(features.tobytes() + labels.tobytes()).hexdigest()[:16]
        for name, value in (("features", features), ("labels", labels), ("digest", digest)):
            object.__setattr__(self, name, value)

    @property
    def dimension(self) -> int:
        """N, the number of columns."""
        return int(self.features.shape[1])

    @property
    def workspace(self) -> int:
        """Doubles for the gathered rows of one repetition."""
        return 3 * self.batch_size * self.dimension

    @cached_property
    def smoothness(self) -> float:
        """L = largest eigenvalue of X^T X / (4 M) + ridge."""
        return logistic_smoothness(self.features, self.ridge)

    @cached_property
    def minimiser(self) -> Array:
        """x*, by Newton's method in a trust region."""
        return _minimise_logistic(self._signed, self.ridge)

    @cached_property
    def _signed(self) -> Array:
        return self.labels[:, None] * self.features

    @cached_property
    def _best(self) -> float:
        return _logistic_loss(self._signed, self.minimiser, self.ridge)

    @property
    def radius(self) -> float:
        """||x*||, since x0 = 0."""
        return float(np.linalg.norm(self.minimiser))

    def start(self) -> Array:
        """x0 = 0."""
        return np.zeros(self.dimension)

    def draw(self, generator: np.random.Generator, steps: int) -> tuple[NDArray[np.generic], ...]:
        """Row numbers of shape (S, B)."""
        return (generator.integers(0, self.features.shape[0], (steps, self.batch_size)),)

    def gradient(self, x_RN: Tensor, draws: tuple[Tensor, ...]) -> Tensor:
        """Mean over the drawn rows of -sigmoid(-y <x, z>) y z, plus ridge x."""
        rows_RBN = torch.from_numpy(self._signed)[draws[0]]
        return _logistic_gradient(rows_RBN, x_RN) + self.ridge * x_RN

    def gap(self, x_RN: Tensor) -> Array:
        """f(x) - f*."""
        return np.array([_logistic_loss(self._signed, x, self.ridge) - self._best for x in x_RN.numpy()])


@dataclass(frozen=True)
class ExpectedLogistic:
    """E ln(1 + exp(-Y <x, Z>)), Z Student-t, Y = +1 with probability sigmoid(<w, Z>); the paper's third simulation.

    Each step streams B fresh pairs; f is the mean over ``held_out`` fixed pairs, f* its minimum.

    Args:
        dimension: N >= 1; w = (1, ..., 1)/sqrt(N), x0 = 0.
        tail: degrees of freedom of Z.
        batch_size: B >= 1.
        held_out: M, the number of held-out pairs.
        seed: draws the held-out pairs.
    """

    dimension: int = 10
    tail: float = 2.001
    batch_size: int = 1
    held_out: int = 1_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        _check_positive(dimension=self.dimension, batch_size=self.batch_size, held_out=self.held_out)
        StudentT(self.tail)

    @property
    def workspace(self) -> int:
        """Doubles for the pairs of one repetition."""
        return 3 * self.batch_size * self.dimension

    @cached_property
    def _signed(self) -> Array:
        generator = np.random.default_rng(self.seed)
        features = StudentT(self.tail).sample((self.held_out, self.dimension), generator)
        chance = generator.random(self.held_out)
        return self._signs(features.sum(axis=1), chance)[:, None] * features

    def _signs(self, sums: Array, chance: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.where(chance < 1.0 / (1.0 + np.exp(-sums / math.sqrt(self.dimension))), 1.0, -1.0)

    @cached_property
    def smoothness(self) -> float:
        """L on the held-out pairs: largest eigenvalue of Z^T Z / (4 M)."""
        return logistic_smoothness(self._signed)

    @cached_property
    def minimiser(self) -> Array:
        """x* on the held-out pairs."""
        return _minimise_logistic(self._signed, 0.0)

    @cached_property
    def _best(self) -> float:
        return _logistic_loss(self._signed, self.minimiser, 0.0)

    @property
    def radius(self) -> float:
        """||x*||, since x0 = 0."""
        return float(np.linalg.norm(self.minimiser))

    def start(self) -> Array:
        """x0 = 0."""
        return np.zeros(self.dimension)

    def draw(self, generator: np.random.Generator, steps: int) -> tuple[NDArray[np.generic], ...]:
        """Signed features Y Z of shape (S, B, N)."""
        features = StudentT(self.tail).sample((steps, self.batch_size, self.dimension), generator)
        chance = generator.random((steps, self.batch_size))
        return (self._signs(features.sum(axis=2), chance)[..., None] * features,)

    def gradient(self, x_RN: Tensor, draws: tuple[Tensor, ...]) -> Tensor:
        """Mean over the drawn pairs of -sigmoid(-Y <x, Z>) Y Z."""
        return _logistic_gradient(draws[0], x_RN)

    def gap(self, x_RN: Tensor) -> Array:
        """f(x) - f* on the held-out pairs."""
        return np.array([_logistic_loss(self._signed, x, 0.0) - self._best for x in x_RN.numpy()])


def breast_cancer_logistic(*, ridge: float = 0.01, batch_size: int = 1) -> FiniteSumLogistic:
    """Logistic regression on scikit-learn's breast-cancer data: 569 rows, 30 standardised columns and an intercept."""
    from sklearn.datasets import load_breast_cancer  # type: ignore[import-untyped]

    features, target = load_breast_cancer(return_X_y=True)
    labels = np.where(target == 1, 1.0, -1.0)
    return FiniteSumLogistic(_standardised(features), labels, ridge, batch_size, "breast-cancer")


def csv_logistic(path: str | Path, target: str, *, ridge: float = 0.01, batch_size: int = 1) -> FiniteSumLogistic:
    """Logistic regression on a CSV file with a header; columns are standardised and an intercept is added.

    Constant columns carry nothing beyond the intercept and are left out.

    Args:
        path: the file; all columns but the target are numbers.
        target: name of a column with two different values; the larger one (as text) becomes +1.
        ridge, batch_size: as in `FiniteSumLogistic`.

    Raises:
        ValueError: the target is missing or not binary, a cell is not a number, or a row has a wrong length.
    """
    with Path(path).open(newline="", encoding="utf-8") as lines:
        header, *rows = list(csv.reader(lines))
    if target not in header:
        raise ValueError(f"target must be a column of {path} (got {target!r}): columns are {', '.join(header)}")
    column = header.index(target)
    values = sorted({row[column] for row in rows if len(row) == len(header)})
    if len(values) != 2:
        raise ValueError(f"target {target!r} must have 2 values (got {len(values)}: {values[:5]})")
    features = np.array([_numbers(row, column, header, line) for line, row in enumerate(rows, start=2)])
    labels = np.array([1.0 if row[column] == values[1] else -1.0 for row in rows])
    return FiniteSumLogistic(_standardised(features), labels, ridge, batch_size, Path(path).stem)


def _numbers(row: list[str], target: int, header: list[str], line: int) -> list[float]:
    if len(row) != len(header):
        raise ValueError(f"line {line} must have {len(header)} cells (got {len(row)})")
    numbers = []
    for index, cell in enumerate(row):
        if index == target:
            continue
        try:
            number = float(cell)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"line {line}, column {header[index]!r} must be a finite number (got {cell!r})")
        numbers.append(number)
    return numbers


def _standardised(features: Array) -> Array:
    centred = features - features.mean(axis=0)
    spread = features.std(axis=0)
    varying = spread > 0.0
    return np.column_stack([centred[:, varying] / spread[varying], np.ones(len(features))])


def _logistic_gradient(signed_RBN: Tensor, x_RN: Tensor) -> Tensor:
    margins_RB = (signed_RBN * x_RN[:, None, :]).sum(dim=2)
    return -(_sigmoid(-margins_RB)[:, :, None] * signed_RBN).mean(dim=1)


def _sigmoid(values: Tensor) -> Tensor:
    # torch.sigmoid rounds differently in the last entries of a tensor, so a row would depend on its neighbours
    return torch.from_numpy(expit(values.numpy()))


def _logistic_loss(signed_MN: Array, x_N: Array, ridge: float) -> float:
    total = 0.0
    for first in range(0, len(signed_MN), ROWS):
        total += float(np.logaddexp(0.0, -(signed_MN[first : first + ROWS] @ x_N)).sum())
    return total / len(signed_MN) + 0.5 * ridge * float(x_N @ x_N)


def _minimise_logistic(signed_MN: Array, ridge: float) -> Array:
    def slope(x_N: Array) -> Array:
        with np.errstate(over="ignore"):
            weights_M = 1.0 / (1.0 + np.exp(signed_MN @ x_N))
        return np.asarray(ridge * x_N - weights_M @ signed_MN / len(signed_MN))

    def curvature(x_N: Array) -> Array:
        with np.errstate(over="ignore"):
            weights_M = 1.0 / (1.0 + np.exp(signed_MN @ x_N))
        weighted_MN = (weights_M * (1.0 - weights_M))[:, None] * signed_MN
        return np.asarray(signed_MN.T @ weighted_MN / len(signed_MN) + ridge * np.eye(len(x_N)))

    x_N = np.zeros(signed_MN.shape[1])
    loss = lambda x: _logistic_loss(signed_MN, x, ridge)  # noqa: E731
    x_N = minimize(loss, x_N, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-8}).x
    for _ in range(3):  # full Newton steps from here: the trust region stops where the loss no longer resolves
        x_N = x_N - np.linalg.solve(curvature(x_N), slope(x_N))
    if not np.linalg.norm(slope(x_N)) < 1e-8:
        raise ArithmeticError(
            f"minimiser must have gradient norm < 1e-8 (got {np.linalg.norm(slope(x_N)):.1e}): raise ridge"
        )
    return np.asarray(x_N)


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be > 0 and finite (got {value})")
