"""The one-dimensional problem a constant-curvature ball leaves: the best angle on a circle, to rounding.

Seen from x, with p the unit vector towards the centre c, e the unit vector across, r = d(x, c), and S, C = sin, cos
(curvature +1) or sinh, cosh (-1), the point of the boundary at angle phi from x (as seen from c) lies in direction

    S(theta) * direction = (2 S(R) C(r) sin^2(phi/2) - S(R - r)) p + S(R) sin(phi) e,     theta = d(x, z),

so h(phi) = <g, Log_x z> = k(theta) (g_p a(phi) - g_e b(phi)) with k = theta / S(theta). Nothing cancels, also where z
is close to x. A grid of 64 angles finds the basin, Newton's method (kept in a bracket) the minimum. The same lines run
on Python floats for one problem (4 us a step) and on arrays for many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

ANGLES = 64
NEWTON_STEPS = 60
Array = NDArray[np.float64]

_FLOATS = SimpleNamespace(
    sin=math.sin,
    cos=math.cos,
    sinh=math.sinh,
    cosh=math.cosh,
    hypot=math.hypot,
    sqrt=math.sqrt,
    arctan2=math.atan2,
    arcsinh=math.asinh,
    maximum=max,
    where=lambda condition, yes, no: yes if condition else no,
)


@dataclass(frozen=True)
class BoundaryCircle:
    """h(phi) and its derivatives for fixed scalars (floats or arrays of one shape).

    Attributes:
        kappa: curvature, +1 or -1.
        distance: r = d(x, c).
        radius: R.
        toward: <g, p>.
        across: ||g - <g, p> p||, >= 0.
        xp: the module of elementary functions, math-like or numpy.
    """

    kappa: int
    distance: Any
    radius: Any
    toward: Any
    across: Any
    xp: Any = np

    def sine(self, angle: Any) -> Any:
        """Return S(angle)."""
        return self.xp.sin(angle) if self.kappa > 0 else self.xp.sinh(angle)

    def cosine(self, angle: Any) -> Any:
        """Return C(angle)."""
        return self.xp.cos(angle) if self.kappa > 0 else self.xp.cosh(angle)

    def plane(self, phi: Any) -> tuple[Any, Any, Any, Any]:
        """Return (a, b, S(theta), theta) of the boundary point at angle phi."""
        versed = 2 * self.xp.sin(0.5 * phi) ** 2
        inside = self.radius - self.distance
        a = self.sine(self.radius) * self.cosine(self.distance) * versed - self.sine(inside)
        b = self.sine(self.radius) * self.xp.sin(phi)
        s = self.xp.maximum(self.xp.hypot(a, b), 1e-150)
        if self.kappa < 0:
            return a, b, s, self.xp.arcsinh(s)
        cosine = self.xp.cos(inside) - self.sine(self.radius) * self.sine(self.distance) * versed
        return a, b, s, self.xp.arctan2(s, cosine)

    def value(self, phi: Any) -> Any:
        """Return h(phi) = <g, Log_x z(phi)>."""
        a, b, s, theta = self.plane(phi)
        return theta / s * (self.toward * a - self.across * b)

    def derivatives(self, phi: Any) -> tuple[Any, Any]:
        """Return (h', h'') at phi."""
        a, b, s, theta = self.plane(phi)
        k, bend, twist = self._log_factor(s, theta)
        S, sin, cos = self.sine(self.radius), self.xp.sin(phi), self.xp.cos(phi)
        along, around = S * self.cosine(self.distance), S * self.sine(self.distance)
        h = self.toward * a - self.across * b
        dh = self.toward * along * sin - self.across * S * cos
        ddh = self.toward * along * cos + self.across * b
        dk, ddk = bend * around * sin, bend * around * cos + twist * (around * sin) ** 2
        return dk * h + k * dh, ddk * h + 2 * dk * dh + k * ddh

    def slope(self, phi: Any) -> Any:
        """Return -dh/dR at fixed phi: by the envelope theorem, what the minimum gains per unit of radius."""
        a, b, s, theta = self.plane(phi)
        k, bend, _ = self._log_factor(s, theta)
        versed, C = 2 * self.xp.sin(0.5 * phi) ** 2, self.cosine(self.radius)
        inside = self.radius - self.distance
        da, db = C * self.cosine(self.distance) * versed - self.cosine(inside), C * self.xp.sin(phi)
        dk = bend * (self.sine(inside) + C * self.sine(self.distance) * versed)
        return -(dk * (self.toward * a - self.across * b) + k * (self.toward * da - self.across * db))

    def _log_factor(self, s: Any, theta: Any) -> tuple[Any, Any, Any]:
        """Return k = theta/S, E = (dk/dtheta)/S and (dE/dtheta)/S; series below 0.01, where E's numerator cancels."""
        k, c = theta / s, self.cosine(theta)
        bend = (1 - k * c) / (s * s)
        series = self.kappa / 3 + theta**2 * 2 / 15 + self.kappa * theta**4 * 2 / 63
        bend = self.xp.where(theta < 0.01, series, bend)
        twist = self.xp.where(theta < 0.1, 4 / 15, (self.kappa * k - 3 * c * bend) / (s * s))
        return k, bend, twist


def best_angles(kappa: int, distance: Array, radius: Array, toward: Array, across: Array) -> Array:
    """Return [4, ...]: (coefficient of p, coefficient of e, value, slope) of the minimising boundary points."""
    shape = distance.shape
    numbers = [array.reshape(-1) for array in (distance, radius, toward, across)]
    many = BoundaryCircle(kappa, numbers[0], numbers[1], numbers[2], numbers[3])
    low, start, high = _bracket(many)
    if distance.size == 1:
        r, R, toward_, across_ = (float(array[0]) for array in numbers)
        one = BoundaryCircle(kappa, r, R, toward_, across_, _FLOATS)
        phi = _newton_one(one, float(low[0]), float(start[0]), float(high[0]))
        return np.array(_answer(one, phi)).reshape(4, *shape)
    return np.stack(_answer(many, _newton_many(many, low, start, high))).reshape(4, *shape)


def _answer(circle: BoundaryCircle, phi: Any) -> tuple[Any, Any, Any, Any]:
    a, b, s, theta = circle.plane(phi)
    return theta / s * a, -(theta / s) * b, circle.value(phi), circle.slope(phi)


def _bracket(circle: BoundaryCircle) -> tuple[Array, Array, Array]:
    """Return (low, best, high) angles around the best grid point, [B].

    In hyperbolic space points within e^-r of x span every direction seen from x, so the grid is spaced
    geometrically around 0; on the sphere it is uniform.
    """
    spacing = np.linspace(0.0, 1.0, ANGLES)[:, None]
    if circle.kappa < 0:
        focus = 1e-3 + circle.distance
        grid = np.pi * np.sinh(focus * spacing) / np.sinh(focus)
    else:
        grid = np.broadcast_to(np.pi * spacing, (ANGLES, circle.distance.size))
    index = circle.value(grid).argmin(0)
    index = np.where(circle.across > 0, index, np.where(circle.value(grid[0]) <= circle.value(grid[-1]), 0, ANGLES - 1))
    column = np.arange(index.size)
    low, best, high = (grid[np.clip(index + step, 0, ANGLES - 1), column] for step in (-1, 0, 1))
    fixed = circle.across == 0
    return np.where(fixed, best, low), best, np.where(fixed, best, high)


def _newton_one(circle: BoundaryCircle, low: float, phi: float, high: float) -> float:
    for _ in range(NEWTON_STEPS):
        if low >= high:
            break
        slope, bend = circle.derivatives(phi)
        low, high = (low, phi) if slope > 0 else (phi, high)
        target = phi - slope / bend if bend > 0 else math.nan
        newton = low < target < high
        target = target if newton else 0.5 * (low + high)
        step, phi = abs(target - phi), target
        if step <= (1e-8 if newton else 1e-15) * phi + 1e-300:
            break
    return phi


def _newton_many(circle: BoundaryCircle, low: Array, phi: Array, high: Array) -> Array:
    active = low < high
    for _ in range(NEWTON_STEPS):
        if not active.any():
            break
        slope, bend = circle.derivatives(phi)
        low, high = np.where(slope > 0, low, phi), np.where(slope > 0, phi, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            target = np.where(bend > 0, phi - slope / bend, np.nan)
        newton = (low < target) & (target < high)
        target = np.where(newton, target, 0.5 * (low + high))
        step = np.abs(target - phi)
        phi = np.where(active, target, phi)
        active &= step > np.where(newton, 1e-8, 1e-15) * phi + 1e-300
    return phi
