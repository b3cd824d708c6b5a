"""What samples of gradient noise say: tail index with interval, noise level, and the clip level that follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iclr26_clipped_sgd.tails.tail import hill, stable_index

LIGHT = 2.0  # a tail index above 2 has a variance: moment order 2


@dataclass(frozen=True)
class TailReport:
    """Heavy-tailed or not.

    Attributes:
        alpha, low, high: Hill's tail index of the noise norms with its 95 % interval.
        k: how many of the largest norms it rests on.
        stable: index of a symmetric stable law fitted to single coordinates, median over them; 2 is Gaussian.
        moment_order: alpha in (1, 2] for a schedule: one standard error below the index, kept inside [1.05, 2].
        sigma: noise level (mean r^alpha)^(1/alpha) at that moment order.
        gradient_norm: norm of the mean gradient.
        samples: number of noise samples.
    """

    alpha: float
    low: float
    high: float
    k: int
    stable: float
    moment_order: float
    sigma: float
    gradient_norm: float
    samples: int

    @property
    def clip_level(self) -> float:
        """A first clip level: the signal and the noise level together, which clips only what exceeds both."""
        return self.gradient_norm + self.sigma

    def __str__(self) -> str:
        kind = "heavy-tailed" if self.high < LIGHT else "light-tailed" if self.low > LIGHT else "undecided"
        return (
            f"tail index {self.alpha:.2f} [{self.low:.2f}, {self.high:.2f}] by Hill (k = {self.k} of {self.samples}): "
            f"{kind}; stable index of single coordinates {self.stable:.2f}; "
            f"sigma {self.sigma:.3g} at alpha = {self.moment_order:.2f}"
        )


def tail_report(
    norms: NDArray[np.float64], coordinates: NDArray[np.float64], gradient_norm: float, *, seed: int = 0
) -> TailReport:
    """Return the report on noise norms (m,) and noise coordinates (m, c); up to 16 coordinates are looked at.

    Raises:
        ValueError: fewer than 16 samples, or non-finite ones.
    """
    if norms.size < 16:
        raise ValueError(f"a tail report needs at least 16 noise samples (got {norms.size})")
    estimate = hill(norms)
    low, high = estimate.interval()
    order = float(min(2.0, max(1.05, estimate.alpha - estimate.stderr)))
    chosen = np.random.default_rng(seed).permutation(coordinates.shape[1])
    varying = [c for c in chosen if np.mean(coordinates[:, c] == np.median(coordinates[:, c])) <= 0.1][:16]
    stable = float(np.median([stable_index(coordinates[:, c]) for c in varying])) if varying else float("nan")
    largest = float(norms.max())
    sigma = largest * float(np.mean((norms / largest) ** order)) ** (1.0 / order) if largest > 0.0 else 0.0
    return TailReport(estimate.alpha, low, high, estimate.k, stable, order, sigma, gradient_norm, int(norms.size))
