"""Schedules without the problem's constants: the paper's shapes with two knobs, and a constant."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iclr26_clipped_sgd.schedules.ranges import check_clip, check_positive, check_setting, default_beta
from iclr26_clipped_sgd.schedules.schedule import shrink
from iclr26_clipped_sgd.schedules.tabulated import Array, Tabulated


@dataclass(frozen=True)
class PowerSchedule(Tabulated):
    """The paper's shapes with two knobs instead of the problem's constants; nothing is guaranteed.

    gamma_k = lr/(k+1)^beta and lambda_k = clip (gamma_0/gamma_k) sqrt(ell_0/ell_k) min(1, 1/sqrt(d_k)), where
    beta = (2+alpha)/(3 alpha) and the last factor is 1 when ``smoothness`` is None.

    Args:
        lr: gamma_0 > 0.
        clip: lambda_0 > 0, in units of the gradient norm.
        alpha: moment order in (1, 2] that sets the decay.
        smoothness: L, or None to leave out the factor min(1, 1/sqrt(d_k)).
        delta: enters through ell_k only.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> PowerSchedule(lr=0.5, clip=2.0).clip_level(0)
        2.0
    """

    lr: float
    clip: float
    alpha: float = 2.0
    smoothness: float | None = None
    delta: float = 0.05

    def __post_init__(self) -> None:
        check_positive(lr=self.lr)
        check_clip(self.clip)
        smoothness = 1.0 if self.smoothness is None else self.smoothness
        check_setting(self.alpha, 0.0, smoothness, 1.0, self.delta)
        self._reset()

    @property
    def guaranteed(self) -> bool:
        """False: the knobs are not tied to the problem."""
        return False

    def bound(self, K: int) -> float:
        """``inf``: nothing is guaranteed."""
        return math.inf

    def _logarithms(self, k_N: Array) -> Array:
        return np.log(6.0 * (k_N + 1.0) ** 2 / self.delta)

    def _step_sizes(self, k_N: Array, ell_N: Array) -> Array:
        return self.lr / (k_N + 1.0) ** default_beta(self.alpha)

    def _clip_levels(self, gamma_N: Array, d_N: Array, ell_N: Array) -> Array:
        ell_0 = math.log(6.0 / self.delta)
        return self.clip * (self.lr / gamma_N) * np.sqrt(ell_0 / ell_N) * shrink(d_N)


@dataclass(frozen=True)
class ConstantSchedule:
    """Fixed step size and clip level: SGD with ``clip_grad_norm_`` without its 1e-6; decay comes from an LRScheduler.

    Args:
        lr: step size > 0.
        clip: clip level > 0, ``inf`` for plain SGD.

    Raises:
        ValueError: an argument is not positive.

    Example:
        >>> ConstantSchedule(lr=0.1, clip=1.0).step_size(10)
        0.1
    """

    lr: float
    clip: float

    def __post_init__(self) -> None:
        check_positive(lr=self.lr)
        check_clip(self.clip)

    @property
    def guaranteed(self) -> bool:
        """False: the knobs are not tied to the problem."""
        return False

    def step_size(self, k: int) -> float:
        """The step size, the same for every k."""
        return self.lr

    def clip_level(self, k: int) -> float:
        """The clipping level, the same for every k."""
        return self.clip

    def bound(self, K: int) -> float:
        """``inf``: nothing is guaranteed."""
        return math.inf

    def table(self, K: int) -> dict[str, Array]:
        """Arrays ``gamma``, ``lam`` (constant), ``d``, ``ell`` (NaN: not defined without L and delta) of length K."""
        if K < 1:
            raise ValueError(f"K must be >= 1 (got {K}): a table has at least one step")
        values = {"gamma": self.lr, "lam": self.clip, "d": math.nan, "ell": math.nan}
        return {name: np.full(K, value) for name, value in values.items()}
