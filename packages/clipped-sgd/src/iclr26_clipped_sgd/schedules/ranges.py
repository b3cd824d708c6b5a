"""Range checks of schedule arguments: each error names the argument, the value got and what would be right."""

from __future__ import annotations

import math


def default_beta(alpha: float) -> float:
    """The left end (2 + alpha)/(3 alpha) of the range of beta: the paper's best choice."""
    return (2.0 + alpha) / (3.0 * alpha)


def checked_beta(beta: float | None, alpha: float) -> float:
    """beta, or the default left end of its range for None; ValueError outside the range."""
    lowest = default_beta(alpha)
    if beta is None:
        return lowest
    if not lowest * (1.0 - 1e-12) <= beta < 1.0:
        raise ValueError(f"beta must be in [(2 + alpha)/(3 alpha), 1) = [{lowest:.6g}, 1) (got {beta})")
    return beta


def check_setting(alpha: float, sigma: float, smoothness: float, radius: float, delta: float) -> None:
    """Raise ValueError unless the constants of the problem lie in the theorem's ranges."""
    if not 1.0 < alpha <= 2.0:
        reason = "for alpha <= 1 the mean of the noise need not exist"
        raise ValueError(f"alpha must be in (1, 2] (got {alpha}): {reason}")
    if not 0.0 <= sigma < math.inf:
        raise ValueError(f"sigma must be >= 0 and finite (got {sigma}): 0 stands for exact gradients")
    check_positive(smoothness=smoothness, radius=radius)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be in (0, 1) (got {delta}): it is the probability that the bound fails")


def check_positive(**values: float) -> None:
    """Raise ValueError unless each named value is positive and finite."""
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} must be > 0 and finite (got {value})")


def check_clip(clip: float) -> None:
    """Raise ValueError unless the clip level is positive; ``inf`` is allowed."""
    if not clip > 0.0:
        raise ValueError(f"clip must be > 0 (got {clip}): use inf for no clipping")


def check_horizon(horizon: int) -> None:
    """Raise ValueError unless the horizon is a whole number of steps >= 1."""
    if isinstance(horizon, bool) or int(horizon) != horizon or horizon < 1:
        raise ValueError(f"horizon must be a whole number >= 1 (got {horizon}): it is the number of steps of the run")
