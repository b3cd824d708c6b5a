"""Step sizes and clipping levels of clipped SGD, tabulated before the run.

Paper: "High-Probability Bounds for the Last Iterate of Clipped SGD" (Chezhegov, Parletta, Paudice, Gorbunov), ICLR
2026.

Idea: all quantities below are deterministic.  The level lambda_k carries 1/sqrt(d_k), because once f(x_k)-f* = O(1/d_k)
the true gradient of an L-smooth function is O(1/sqrt(d_k)), so the threshold may shrink with it.

Symbols: L ``smoothness`` · R0 >= ||x0-x*|| ``radius`` · alpha, sigma with E||g - grad f||^alpha <= sigma^alpha · delta
failure probability over all steps together · gamma_k ``step_size(k)`` · lambda_k ``clip_level(k)`` · d_0 = 0,
d_{k+1} = d_k + 2 L gamma_k · ell_k = ln(6 (k+1)^2 / delta).

Departures: the paper's summary gives lambda_k with its 80 exactly, gamma_k only up to constants.  320 and 1/2400 are
derived: they make the induction Phi_k = d_k (f(x_k)-f*) + L ||x_k-x*||^2 <= 2 L R0^2 ell_k close.
``step_scale`` and ``clip_scale`` multiply the theory; ``guaranteed`` says whether the proof still covers the schedule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from iclr26_clipped_sgd.schedules.ranges import check_horizon, check_positive, check_setting, checked_beta, default_beta
from iclr26_clipped_sgd.schedules.tabulated import Array, Tabulated

CLIP_CONSTANT = 80.0  # lambda_k = R0 / (80 gamma_k sqrt(ell_k)) * min(1, 1/sqrt(d_k)): the paper
STEP_CONSTANT = 320.0  # gamma <= 1/(320 L ell) makes ||grad f|| <= lambda/2: derived
KAPPA = 1.0 / 2400.0  # budget of the noise terms: they add up to 1.91 <= 2 at this value: derived


@dataclass(frozen=True)
class AnytimeSchedule(Tabulated):
    """The paper's schedule: no horizon, the guarantee holds for all K at once.

    Args:
        alpha: moment order in (1, 2] of the noise.
        sigma: noise level, E||g - grad f||^alpha <= sigma^alpha; 0 for exact gradients.
        smoothness: L, the Lipschitz constant of the gradient.
        radius: R0 >= ||x0 - x*||, Euclidean norm over all parameters together.
        delta: probability that the bound fails at any step.
        beta: decay of the step size in [(2+alpha)/(3 alpha), 1); the left end, the paper's best, when None.
        step_scale: multiplies gamma_k; above 1 nothing is guaranteed.
        clip_scale: multiplies lambda_k; away from 1 nothing is guaranteed.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> schedule = AnytimeSchedule(alpha=2.0, sigma=1.0, smoothness=1.0, radius=1.0)
        >>> f"{schedule.step_size(0):.4e} {schedule.clip_level(0):.4f} {schedule.bound(1000):.2f}"
        '6.5274e-04 8.7521 173.64'
    """

    alpha: float
    sigma: float
    smoothness: float
    radius: float
    delta: float = 0.05
    beta: float | None = None
    step_scale: float = 1.0
    clip_scale: float = 1.0

    def __post_init__(self) -> None:
        check_setting(self.alpha, self.sigma, self.smoothness, self.radius, self.delta)
        object.__setattr__(self, "beta", checked_beta(self.beta, self.alpha))
        check_positive(step_scale=self.step_scale, clip_scale=self.clip_scale)
        self._reset()

    @property
    def guaranteed(self) -> bool:
        """Whether the theorem covers the schedule: smaller steps keep the proof, another clip level does not."""
        return self.step_scale <= 1.0 and self.clip_scale == 1.0

    @property
    def noise_step(self) -> float:
        """The factor ghat: the step size that the noise allows before decay; ``inf`` without noise."""
        if self.sigma == 0.0:
            return math.inf
        ratio, ell_0 = self.radius / self.sigma, math.log(6.0 / self.delta)
        curved = ((1.0 - self._decay) * math.sqrt(ell_0) / (2.0 * self.smoothness)) ** (1.0 / 3.0)
        flat = KAPPA ** (1.0 / self.alpha) * ratio
        return float(min(flat, KAPPA ** (2.0 / (3.0 * self.alpha)) * ratio ** (2.0 / 3.0) * curved))

    @property
    def _decay(self) -> float:
        return default_beta(self.alpha) if self.beta is None else self.beta

    def _logarithms(self, k_N: Array) -> Array:
        return np.log(6.0 * (k_N + 1.0) ** 2 / self.delta)

    def _step_sizes(self, k_N: Array, ell_N: Array) -> Array:
        noisy_N = self.noise_step / (np.sqrt(ell_N) * (k_N + 1.0) ** self._decay)
        proven_N = np.minimum(1.0 / (STEP_CONSTANT * self.smoothness * ell_N), noisy_N)
        return np.minimum(1.0 / self.smoothness, self.step_scale * proven_N)

    def _clip_levels(self, gamma_N: Array, d_N: Array, ell_N: Array) -> Array:
        return self.clip_scale * self.radius * shrink(d_N) / (CLIP_CONSTANT * gamma_N * np.sqrt(ell_N))

    def bound(self, K: int) -> float:
        """Right-hand side of f(x_K) - f* <= R0^2 ell_K / sum_{k<K} gamma_k, or ``inf`` without a guarantee."""
        _, _, d, ell = self._row(K)
        if not self.guaranteed or d == 0.0:
            return math.inf
        return 2.0 * self.smoothness * self.radius**2 * ell / d

    def radius_bound(self, K: int) -> float:
        """Right-hand side of ||x_K - x*|| <= R0 sqrt(2 ell_K), or ``inf`` without a guarantee."""
        return self.radius * math.sqrt(2.0 * self._row(K)[3]) if self.guaranteed else math.inf


@dataclass(frozen=True)
class HorizonSchedule(Tabulated):
    """Constant step size for a known number of steps K; the same proof with a union bound over K+1 steps.

    Args:
        alpha, sigma, smoothness, radius, delta, step_scale, clip_scale: as in `AnytimeSchedule`.
        horizon: K, the number of steps of the run; the bound holds at every step up to K.

    Raises:
        ValueError: an argument is outside its range, or a step at or past the horizon is asked for.

    Example:
        >>> schedule = HorizonSchedule(alpha=2.0, sigma=1.0, smoothness=1.0, radius=1.0, horizon=1000)
        >>> f"{schedule.step_size(0):.6e} {schedule.bound(1000):.4f}"
        '2.671797e-04 43.7767'
    """

    alpha: float
    sigma: float
    smoothness: float
    radius: float
    delta: float = 0.05
    step_scale: float = 1.0
    clip_scale: float = 1.0
    horizon: int = field(kw_only=True)

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_setting(self.alpha, self.sigma, self.smoothness, self.radius, self.delta)
        check_positive(step_scale=self.step_scale, clip_scale=self.clip_scale)
        self._reset()

    @property
    def guaranteed(self) -> bool:
        """Whether the theorem covers the schedule: smaller steps keep the proof, another clip level does not."""
        return self.step_scale <= 1.0 and self.clip_scale == 1.0

    @property
    def _ell(self) -> float:
        return math.log(6.0 * (self.horizon + 1) / self.delta)

    @property
    def _gamma(self) -> float:
        steps = [1.0 / (STEP_CONSTANT * self.smoothness * self._ell)]
        if self.sigma > 0.0:
            budget = KAPPA * self._ell ** (1.0 - self.alpha / 2.0) / self.horizon
            ratio = self.radius / self.sigma
            curved = (2.0 * self.smoothness * self.horizon) ** (-1.0 / 3.0)
            steps.append(budget ** (1.0 / self.alpha) * ratio)
            steps.append(budget ** (2.0 / (3.0 * self.alpha)) * ratio ** (2.0 / 3.0) * curved)
        return min(1.0 / self.smoothness, self.step_scale * min(steps))

    def _logarithms(self, k_N: Array) -> Array:
        return np.full_like(k_N, self._ell)

    def _step_sizes(self, k_N: Array, ell_N: Array) -> Array:
        return np.full_like(k_N, self._gamma)

    def _clip_levels(self, gamma_N: Array, d_N: Array, ell_N: Array) -> Array:
        return self.clip_scale * self.radius * shrink(d_N) / (CLIP_CONSTANT * gamma_N * np.sqrt(ell_N))

    def _row(self, k: int) -> tuple[float, float, float, float]:
        if k >= self.horizon:
            raise ValueError(f"k must be < horizon = {self.horizon} (got {k}): build a schedule with a longer horizon")
        return super()._row(k)

    def table(self, K: int) -> dict[str, Array]:
        """Arrays ``gamma``, ``lam``, ``d``, ``ell`` of length K <= horizon for the steps 0..K-1."""
        if self.horizon < K:
            raise ValueError(f"K must be <= horizon = {self.horizon} (got {K}): build a schedule with a longer horizon")
        return super().table(K)

    def bound(self, K: int) -> float:
        """Right-hand side of f(x_K) - f* <= R0^2 ell / (gamma K) for K <= horizon, or ``inf`` without a guarantee."""
        if not 0 <= K <= self.horizon:
            raise ValueError(f"K must be in [0, horizon = {self.horizon}] (got {K}): the proof ends at the horizon")
        if not self.guaranteed or K == 0:
            return math.inf
        return self.radius**2 * self._ell / (self._gamma * K)

    def radius_bound(self, K: int) -> float:
        """Right-hand side of ||x_K - x*|| <= R0 sqrt(2 ell) for K <= horizon, or ``inf`` without a guarantee."""
        if not 0 <= K <= self.horizon:
            raise ValueError(f"K must be in [0, horizon = {self.horizon}] (got {K}): the proof ends at the horizon")
        return self.radius * math.sqrt(2.0 * self._ell) if self.guaranteed else math.inf


@dataclass(frozen=True)
class ExpectationSchedule(HorizonSchedule):
    """The horizon-aware schedule at delta = 1/K^3, whose bounds hold in expectation.

    Each move is at most gamma lambda <= R0/(80 sqrt(ell)), so ||x_k - x*|| <= K R0 surely for K >= 2 and
    f(x_k) - f* <= L R0^2 K^2 / 2 surely; times delta that is L R0^2 / (2 K).

    Args:
        alpha, sigma, smoothness, radius, step_scale, clip_scale: as in `AnytimeSchedule`.
        horizon: K >= 2, the number of steps of the run.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> f"{ExpectationSchedule(2.0, 1.0, 1.0, 1.0, horizon=1000).delta:.0e}"
        '1e-09'
    """

    delta: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if self.horizon < 2:
            raise ValueError(f"horizon must be >= 2 (got {self.horizon}): delta = 1/horizon^3 has to lie in (0, 1)")
        object.__setattr__(self, "delta", float(self.horizon) ** -3)
        super().__post_init__()

    def bound(self, K: int) -> float:
        """Right-hand side of E[f(x_K) - f*] <= R0^2 ell/(gamma K) + L R0^2/(2 horizon), or ``inf``."""
        return super().bound(K) + self.smoothness * self.radius**2 / (2.0 * self.horizon)

    def radius_bound(self, K: int) -> float:
        """Right-hand side of E||x_K - x*|| <= R0 (sqrt(2 ell) + 1/horizon^2), or ``inf`` without a guarantee."""
        return super().radius_bound(K) + self.radius / self.horizon**2


def shrink(d_N: Array) -> Array:
    """min(1, 1/sqrt(d)), without dividing by d_0 = 0."""
    return np.asarray(1.0 / np.sqrt(np.maximum(d_N, 1.0)))
