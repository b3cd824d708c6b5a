"""Heavy-tailed noise with independent coordinates, its moments, and the sigma that follows.

Symbols: a tail index (moments of order p < a are finite) · alpha moment order given to a schedule · n dimension.
Since ||v||_2^alpha <= sum_i |v_i|^alpha for alpha <= 2, sigma = scale (n E|Z|^alpha)^(1/alpha) is a valid noise level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad  # type: ignore[import-untyped]
from scipy.special import gammaln  # type: ignore[import-untyped]

Array = NDArray[np.float64]
Shape = int | tuple[int, ...]


@runtime_checkable
class NoiseModel(Protocol):
    """A law of independent, centred coordinates of unit scale."""

    @property
    def tail_index(self) -> float:
        """Supremum of the orders p with a finite moment E|Z|^p; ``inf`` when all are."""
        ...

    def sample(self, shape: Shape, generator: np.random.Generator) -> Array:
        """Independent draws in float64."""
        ...

    def abs_moment(self, p: float) -> float:
        """E|Z|^p, ``inf`` from the tail index on."""
        ...


def sigma_for(noise: NoiseModel, alpha: float, n: int, scale: float = 1.0) -> float:
    """A valid sigma for ``scale * Z`` in n dimensions: scale (n E|Z|^alpha)^(1/alpha).

    Raises:
        ValueError: the alpha-th moment is infinite, or n < 1.
    """
    if n < 1:
        raise ValueError(f"n must be >= 1 (got {n}): it is the number of coordinates")
    if not math.isfinite(noise.abs_moment(alpha)):
        raise ValueError(f"alpha must be < tail index = {noise.tail_index} of {noise} (got {alpha})")
    return float(scale * (n * noise.abs_moment(alpha)) ** (1.0 / alpha))


@dataclass(frozen=True)
class Gaussian:
    """Standard normal coordinates: the control without heavy tails.

    Example:
        >>> Gaussian().abs_moment(2.0)
        1.0
    """

    @property
    def tail_index(self) -> float:
        """``inf``: all moments are finite."""
        return math.inf

    def sample(self, shape: Shape, generator: np.random.Generator) -> Array:
        """Independent N(0, 1) draws."""
        return generator.standard_normal(shape)

    def abs_moment(self, p: float) -> float:
        """E|Z|^p = 2^(p/2) Gamma((p+1)/2) / sqrt(pi)."""
        _check_order(p)
        return math.exp(p / 2.0 * math.log(2.0) + gammaln((p + 1.0) / 2.0) - gammaln(0.5))


@dataclass(frozen=True)
class StudentT:
    """Student's t with ``tail`` > 1 degrees of freedom.

    Example:
        >>> round(StudentT(3.0).abs_moment(1.5), 6)
        1.611855
    """

    tail: float

    def __post_init__(self) -> None:
        _check_tail(self.tail, math.inf)

    @property
    def tail_index(self) -> float:
        """The degrees of freedom."""
        return self.tail

    def sample(self, shape: Shape, generator: np.random.Generator) -> Array:
        """Independent draws."""
        return generator.standard_t(self.tail, shape)

    def abs_moment(self, p: float) -> float:
        """E|T|^p = nu^(p/2) Gamma((p+1)/2) Gamma((nu-p)/2) / (sqrt(pi) Gamma(nu/2)) for p < nu."""
        _check_order(p)
        nu = self.tail
        if p >= nu:
            return math.inf
        logs = gammaln((p + 1.0) / 2.0) + gammaln((nu - p) / 2.0) - gammaln(0.5) - gammaln(nu / 2.0)
        return math.exp(p / 2.0 * math.log(nu) + logs)


@dataclass(frozen=True)
class Pareto:
    """Centred Pareto U^(-1/a) - a/(a-1): one-sided tails, which make the bias of clipping visible.

    Example:
        >>> Pareto(3.0).abs_moment(2.0)  # a / ((a-1)^2 (a-2))
        0.75
    """

    tail: float

    def __post_init__(self) -> None:
        _check_tail(self.tail, math.inf)

    @property
    def tail_index(self) -> float:
        """The Pareto exponent."""
        return self.tail

    def sample(self, shape: Shape, generator: np.random.Generator) -> Array:
        """Independent draws."""
        uniform = 1.0 - generator.random(shape)  # in (0, 1]
        return np.asarray(uniform ** (-1.0 / self.tail) - self.tail / (self.tail - 1.0))

    def abs_moment(self, p: float) -> float:
        """E|Z|^p: the variance in closed form, other orders by quadrature."""
        _check_order(p)
        a, mean = self.tail, self.tail / (self.tail - 1.0)
        if p >= a:
            return math.inf
        if p == 2.0:
            return a / ((a - 1.0) ** 2 * (a - 2.0))
        left, _ = quad(lambda x: (mean - x) ** p * a * x ** (-a - 1.0), 1.0, mean, epsabs=0.0, epsrel=1e-12)
        return float(left) + self._right_part(p, mean)

    def _right_part(self, p: float, mean: float) -> float:
        # int_m^inf (x-m)^p a x^(-a-1) dx with x = m/(1-u) is a m^(p-a) B(p+1, a-p): exact, where quadrature is slow
        logs = gammaln(p + 1.0) + gammaln(self.tail - p) - gammaln(self.tail + 1.0)
        return self.tail * float(mean ** (p - self.tail)) * math.exp(logs)


@dataclass(frozen=True)
class SymmetricStable:
    """Symmetric stable law with characteristic function exp(-|t|^a), a in (1, 2]; a = 2 is N(0, 2).

    Example:
        >>> round(SymmetricStable(1.5).abs_moment(1.0), 5)
        1.70547
    """

    tail: float

    def __post_init__(self) -> None:
        _check_tail(self.tail, 2.0)

    @property
    def tail_index(self) -> float:
        """The stability index; ``inf`` for 2, the normal law."""
        return self.tail if self.tail < 2.0 else math.inf

    def sample(self, shape: Shape, generator: np.random.Generator) -> Array:
        """Independent draws by the method of Chambers, Mallows and Stuck."""
        a = self.tail
        if a == 2.0:
            return math.sqrt(2.0) * generator.standard_normal(shape)
        angle = generator.uniform(-math.pi / 2.0, math.pi / 2.0, shape)
        waiting = generator.standard_exponential(shape)
        cosine = np.cos(angle)
        return np.asarray(
            np.sin(a * angle) / cosine ** (1.0 / a) * (np.cos(angle - a * angle) / waiting) ** (1.0 / a - 1.0)
        )

    def abs_moment(self, p: float) -> float:
        """E|X|^p = 2^p Gamma((1+p)/2) Gamma(1-p/a) / (sqrt(pi) Gamma(1-p/2)) for p < a; all p for a = 2."""
        _check_order(p)
        a = self.tail
        if a == 2.0:
            return float(2.0 ** (p / 2.0)) * Gaussian().abs_moment(p)
        if p >= a:
            return math.inf
        logs = gammaln((1.0 + p) / 2.0) + gammaln(1.0 - p / a) - gammaln(0.5) - gammaln(1.0 - p / 2.0)
        return math.exp(p * math.log(2.0) + logs)


def _check_tail(tail: float, highest: float) -> None:
    if not (1.0 < tail <= highest and tail < math.inf):
        right = "(1, 2]" if highest == 2.0 else "(1, inf)"
        raise ValueError(f"tail must be in {right} (got {tail}): for a tail index <= 1 the mean does not exist")


def _check_order(p: float) -> None:
    if not p > 0.0:
        raise ValueError(f"p must be > 0 (got {p}): it is the order of the moment")
