"""Inputs: US airports, the paper's random quadratic, and the user's .csv and .npz files."""

from __future__ import annotations

import csv
import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from iclr26_core.errors import UsageError
from numpy.typing import NDArray
from torch import Tensor

EARTH_RADIUS_KM = 6371.0088


@dataclass(frozen=True)
class Airports:
    """The airports of vega_datasets.

    Attributes:
        codes: IATA codes.
        points: unit vectors, [3376, 3].
        path: the file they come from.
    """

    codes: list[str]
    points: Tensor
    path: Path

    def at(self, code: str) -> Tensor:
        """Return the unit vector of one airport.

        Raises:
            UsageError: if no airport has this code.
        """
        if code not in self.codes:
            raise UsageError(f"set.hub must be the IATA code of one of {len(self.codes)} airports (got {code!r})")
        return self.points[self.codes.index(code)]


def load_airports() -> Airports:
    """Return the 3376 airports; reads the file of vega_datasets without importing it (which would import pandas)."""
    spec = importlib.util.find_spec("vega_datasets")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("vega_datasets is not installed: pip install vega_datasets")
    path = Path(next(iter(spec.submodule_search_locations))) / "_data" / "airports.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    degrees = np.array([[float(row["latitude"]), float(row["longitude"])] for row in rows])
    return Airports([row["iata"] for row in rows], torch.from_numpy(to_unit_vectors(degrees)), path)


def to_unit_vectors(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit vectors [N, 3] of (latitude, longitude) in degrees [N, 2]."""
    latitude, longitude = np.radians(degrees).T
    x, y = np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude)
    vectors: NDArray[np.float64] = np.stack([x, y, np.sin(latitude)], axis=1)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def to_degrees(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (latitude, longitude) in degrees [..., 2] of unit vectors [..., 3]."""
    latitude = np.arctan2(points[..., 2], np.hypot(points[..., 0], points[..., 1]))
    both: NDArray[np.float64] = np.degrees(np.stack([latitude, np.arctan2(points[..., 1], points[..., 0])], axis=-1))
    return both


def load_arrays(path: Path) -> dict[str, Tensor]:
    """Return the float64 arrays of a .npz file, or `points` (and `weights`) of a .csv file with a header.

    Raises:
        UsageError: if the file cannot be read or holds something else than numbers.
    """
    if not path.is_file():
        raise UsageError(f"objective.data must be a file (got {str(path)!r}, which is none)")
    try:
        arrays = _read_npz(path) if path.suffix == ".npz" else _read_csv(path)
    except (ValueError, KeyError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise UsageError(f"{name} in {path} must be finite (got NaN or infinite entries)")
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _read_npz(path: Path) -> dict[str, NDArray[np.float64]]:
    with np.load(path, allow_pickle=False) as file:
        return {name: np.asarray(file[name], dtype=np.float64) for name in file.files}


def _read_csv(path: Path) -> dict[str, NDArray[np.float64]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise ValueError("it has no rows below the header")
    columns = list(rows[0])
    coordinates = ["latitude", "longitude"] if {"latitude", "longitude"} <= set(columns) else columns
    coordinates = [name for name in coordinates if name != "weight"]
    table = np.array([[float(row[name]) for name in coordinates] for row in rows])
    arrays = {"points": to_unit_vectors(table) if coordinates == ["latitude", "longitude"] else table}
    if "weight" in columns:
        arrays["weights"] = np.array([float(row["weight"]) for row in rows])
    return arrays


def random_quadratic(rows: int, size: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return (A, target, centre) of the paper's example 1: A Gaussian / sqrt(rows), d(target, centre) = 1."""
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(rows, size, generator=generator, dtype=torch.float64) / rows**0.5
    center, step = torch.linalg.qr(torch.randn(size, 2, generator=generator, dtype=torch.float64)).Q.T
    return A, np.cos(1.0) * center + np.sin(1.0) * step, center


def random_hamiltonian(size: int, seed: int) -> Tensor:
    """Return a symmetric [size, size] matrix with a spectrum around [-2, 2]: a small Hamiltonian."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(size, size, generator=generator, dtype=torch.float64)
    hamiltonian: Tensor = (noise + noise.mT) / (2 * size) ** 0.5
    return hamiltonian
