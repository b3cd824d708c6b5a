"""Is it heavy-tailed, and how much: Hill's estimator, the stable index, and sigma for a given moment order.

With a finite data set and fixed parameters all moments of mini-batch noise are finite; a fitted tail index describes
a range of scales, not the limit.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from iclr26_core.errors import MissingExtra
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TailEstimate:
    """A tail index with its standard error and the number k of largest samples it rests on."""

    alpha: float
    stderr: float
    k: int

    def interval(self, z: float = 1.959963984540054) -> tuple[float, float]:
        """The interval alpha -+ z stderr; 95 % by default."""
        return self.alpha - z * self.stderr, self.alpha + z * self.stderr


@dataclass(frozen=True)
class HillPath:
    """Hill's estimate for every k = 1..m-1: arrays ``k``, ``alpha`` and ``stderr`` of length m-1."""

    k: NDArray[np.int64]
    alpha: Array
    stderr: Array


def hill_path(samples: ArrayLike) -> HillPath:
    """Hill's tail index for every number k of largest samples; stderr is alpha/sqrt(k).

    Args:
        samples: m >= 2 finite values, any shape; their absolute values are used and zeros are dropped.

    Raises:
        ValueError: fewer than two non-zero samples, or NaN or inf among them.
    """
    logs = np.log(_descending(samples))
    k = np.arange(1, logs.size, dtype=np.int64)
    excess = np.cumsum(logs)[:-1] / k - logs[1:]
    with np.errstate(divide="ignore"):
        alpha = np.where(excess > 0.0, 1.0 / excess, np.inf)
    return HillPath(k, alpha, alpha / np.sqrt(k))


def hill(samples: ArrayLike, k: int | None = None) -> TailEstimate:
    """Hill's tail index from the k largest of m samples, k = floor(sqrt(m)) by default.

    Args:
        samples: m >= 2 finite values, any shape; their absolute values are used and zeros are dropped.
        k: how many of the largest samples count, 1 <= k < m.

    Raises:
        ValueError: fewer than two non-zero samples, NaN or inf, or k out of range.

    Example:
        >>> import numpy as np
        >>> points = np.random.default_rng(0).random(100_000) ** (-1 / 1.5)
        >>> round(hill(points, k=5000).alpha, 1)
        1.5
    """
    path = hill_path(samples)
    m = path.k.size + 1
    k = math.isqrt(m) if k is None else k
    if not 1 <= k < m:
        raise ValueError(f"k must be in [1, m) = [1, {m}) for m = {m} non-zero samples (got {k})")
    return TailEstimate(float(path.alpha[k - 1]), float(path.stderr[k - 1]), k)


def stable_index(samples: ArrayLike) -> float:
    """Index in (0, 2] of a symmetric stable law fitted to the samples (Mohammadi, Mohammadpour and Ogata, 2015).

    The samples are centred at their median.  With K1 a divisor of m near sqrt(m) and Y_j the sums of K1 of them,
    1/alpha = (mean ln|Y| - mean ln|X|) / ln K1.  When m has no divisor within a factor 2 of sqrt(m), up to a few
    samples at the end are left out.

    Args:
        samples: m >= 4 finite values, any shape.

    Raises:
        ValueError: too few samples, NaN or inf, or more than a tenth of them equal to the median.

    Example:
        >>> import numpy as np
        >>> round(stable_index(np.random.default_rng(0).standard_normal(10_000)), 1)
        2.0
    """
    values = np.asarray(samples, dtype=np.float64).ravel()
    if values.size < 4 or not np.isfinite(values).all():
        raise ValueError(
            f"samples must be at least 4 finite values (got {values.size}, {_count_nonfinite(values)} not finite)"
        )
    block = _block_length(values.size)
    centred = (values - np.median(values))[: values.size // block * block]
    if np.mean(centred == 0.0) > 0.1:
        raise ValueError(f"samples must be continuous (got {np.mean(centred == 0.0):.0%} equal to their median)")
    inverse = (_mean_log(centred.reshape(-1, block).sum(axis=1)) - _mean_log(centred)) / math.log(block)
    return 2.0 if inverse <= 0.5 else float(1.0 / inverse)


def estimate_sigma(samples: ArrayLike, alpha: float) -> float:
    """The noise level sigma = (mean r^alpha)^(1/alpha) of noise norms r, meaningful for alpha < tail index.

    Args:
        samples: noise norms (m,), or noise vectors (m, n) whose norms are taken.
        alpha: moment order in (1, 2].

    Raises:
        ValueError: alpha out of range, or no finite samples.

    Warns:
        UserWarning: alpha is not below Hill's estimate of the tail index.
    """
    if not 1.0 < alpha <= 2.0:
        raise ValueError(f"alpha must be in (1, 2] (got {alpha}): for alpha <= 1 the mean of the noise need not exist")
    values = np.asarray(samples, dtype=np.float64)
    norms = np.linalg.norm(values, axis=1) if values.ndim == 2 else np.abs(values)
    if norms.ndim != 1 or norms.size == 0 or not np.isfinite(norms).all():
        raise ValueError(f"samples must be finite, of shape (m,) or (m, n) with m >= 1 (got shape {values.shape})")
    if np.count_nonzero(norms) > 8 and alpha >= (tail := hill(norms)).alpha:
        warnings.warn(
            f"alpha must be < tail index for sigma to exist (got {alpha}, Hill's estimate {tail.alpha:.3g}): "
            "the estimate grows with the number of samples; choose a smaller alpha",
            UserWarning,
            stacklevel=2,
        )
    largest = float(norms.max())
    return 0.0 if largest == 0.0 else largest * float(np.mean((norms / largest) ** alpha)) ** (1.0 / alpha)


def minibatch_sigma(sigma: float, alpha: float, batch_size: int) -> float:
    """An upper bound on sigma for the mean of B i.i.d. samples: 2^(1/alpha) B^((1-alpha)/alpha) sigma.

    The inequality is von Bahr and Esseen's; never above sigma itself, since a mean of norms bounds the norm of a mean.

    Raises:
        ValueError: sigma < 0, alpha outside (1, 2] or batch_size < 1.

    Example:
        >>> round(minibatch_sigma(1.0, 2.0, 8), 12)
        0.5
    """
    if not 0.0 <= sigma < math.inf:
        raise ValueError(f"sigma must be >= 0 and finite (got {sigma})")
    if not 1.0 < alpha <= 2.0:
        raise ValueError(f"alpha must be in (1, 2] (got {alpha}): for alpha <= 1 the mean of the noise need not exist")
    if batch_size < 1:
        raise ValueError(f"batch_size must be >= 1 (got {batch_size})")
    return float(min(1.0, 2.0 ** (1.0 / alpha) * batch_size ** ((1.0 - alpha) / alpha)) * sigma)


def hill_double_bootstrap(samples: ArrayLike, *, seed: int = 0) -> TailEstimate:
    """Hill's tail index with k chosen by the double bootstrap of `tailestim` (extra ``tail``; about 1 s per 20 000).

    Raises:
        MissingExtra: `tailestim` is not installed.
    """
    try:
        from tailestim import HillEstimator  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise MissingExtra("tailestim", package="iclr26-clipped-sgd", extra="tail") from None
    estimator: Any = HillEstimator(base_seed=np.random.SeedSequence(seed))
    estimator.fit(_descending(samples)[::-1].copy())
    result = estimator.get_result()
    k = int(result.k_star_)
    return TailEstimate(1.0 / float(result.xi_star_), 1.0 / float(result.xi_star_) / math.sqrt(k), k)


def _descending(samples: ArrayLike) -> Array:
    values = np.abs(np.asarray(samples, dtype=np.float64).ravel())
    if not np.isfinite(values).all():
        raise ValueError(f"samples must be finite (got {_count_nonfinite(values)} of {values.size} NaN or inf)")
    positive = values[values > 0.0]
    if positive.size < 2:
        raise ValueError(f"samples must hold at least 2 non-zero values (got {positive.size})")
    return np.sort(positive)[::-1]


def _count_nonfinite(values: Array) -> int:
    return int(values.size - np.count_nonzero(np.isfinite(values)))


def _block_length(m: int) -> int:
    root = math.sqrt(m)
    for size in range(m, 3, -1):
        near = [d for d in range(2, size + 1) if size % d == 0 and root / 2.0 <= d <= 2.0 * root]
        if near:
            return min(near, key=lambda d: abs(d - math.sqrt(size)))
    raise ValueError(f"samples must be at least 4 (got {m})")


def _mean_log(values: Array) -> float:
    return float(np.log(np.abs(values[values != 0.0])).mean())
