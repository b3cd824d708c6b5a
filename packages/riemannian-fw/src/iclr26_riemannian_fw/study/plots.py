"""The map of a constrained mean and the convergence of the step rules, as .png files; no display is needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from iclr26_riemannian_fw.study.data import EARTH_RADIUS_KM, to_degrees

Array = NDArray[np.float64]


def convergence_plot(path: Path, curves: dict[str, Array], *, title: str, ylabel: str) -> None:
    """Write one curve per step rule, logarithmic, against the iteration."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, values in curves.items():
        positive = np.where(values > 0, values, np.nan)
        axes.semilogy(np.arange(len(values)), positive, marker=".", markersize=3, label=name)
    axes.set(xlabel="iteration", ylabel=ylabel, title=title)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def map_plot(path: Path, points: Array, center: Array, radius: float, iterates: Array, rival: Array) -> None:
    """Write a map of the points, the disc, the iterates and the unconstrained mean, in degrees.

    Args:
        path: the .png file.
        points: unit vectors, [N, 3].
        center: of the disc, [3].
        radius: of the disc, radians.
        iterates: unit vectors, [T, 3]; the last is the answer.
        rival: the unconstrained mean, [3].
    """
    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    latitude, longitude = to_degrees(points).T
    axes.plot(longitude, latitude, ".", markersize=1.5, color="0.7", label=f"{len(points)} points")
    rim_latitude, rim_longitude = to_degrees(_circle(center, radius)).T
    axes.plot(rim_longitude, rim_latitude, color="tab:blue", label=f"disc of {radius * EARTH_RADIUS_KM:.0f} km")
    path_latitude, path_longitude = to_degrees(iterates).T
    axes.plot(
        path_longitude,
        path_latitude,
        ".-",
        color="tab:orange",
        markersize=4,
        label="Frank-Wolfe from a point of the rim",
    )
    for point, marker, label in ((iterates[-1], "*", "constrained mean"), (rival, "x", "unconstrained mean")):
        at_latitude, at_longitude = to_degrees(point)
        axes.plot(at_longitude, at_latitude, marker, color="tab:red", markersize=9, label=label)
    middle_latitude, middle_longitude = to_degrees(center)
    axes.set_xlim(max(-180.0, middle_longitude - 60), min(180.0, middle_longitude + 40))
    axes.set_ylim(max(-90.0, middle_latitude - 25), min(90.0, middle_latitude + 30))
    axes.set_aspect(1 / max(0.1, np.cos(np.radians(middle_latitude))))
    axes.set(xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    axes.legend(loc="lower left", fontsize=8)
    figure.savefig(path, dpi=120)


def _circle(center: Array, radius: float) -> Array:
    """Return 361 points at the given angle from the centre, [361, 3]."""
    helper = np.eye(3)[int(np.argmin(np.abs(center)))]
    first = np.cross(center, helper)
    first /= np.linalg.norm(first)
    second = np.cross(center, first)
    angles = np.linspace(0, 2 * np.pi, 361)[:, None]
    circle: Array = np.cos(radius) * center + np.sin(radius) * (np.cos(angles) * first + np.sin(angles) * second)
    return circle
