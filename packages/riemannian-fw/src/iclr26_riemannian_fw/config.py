"""Options of `iclr26 run riemannian-fw`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class ManifoldConfig:
    """Where the points live.

    Attributes:
        name: The manifold; points are rows of n numbers, n x n matrices for the SPD ones.
    """

    name: Literal["sphere", "lorentz", "poincare", "spd", "log-euclidean", "euclidean"] = "sphere"


@dataclass(frozen=True)
class SetConfig:
    """The constraint.

    Attributes:
        kind: A geodesic ball, or the SPD interval between `lower` and `upper` of the .npz file.
        radius: Radius of the ball (radians on the sphere; 0.0785 is 500 km on the earth).
        center: Coordinates of the centre (normalised on the sphere, matrices row by row); empty for the hub, `center`
            of the .npz file, or I.
        hub: IATA code of the airport at the centre, where the data are airports.
    """

    kind: Literal["ball", "interval"] = "ball"
    radius: float = 500.0 / 6371.0088
    center: list[float] = field(default_factory=list)
    hub: str = "ATL"

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not (self.radius > 0 and math.isfinite(self.radius)):
            raise ValueError(f"set.radius must be > 0 and finite (got {self.radius})")


@dataclass(frozen=True)
class ObjectiveConfig:
    """What to minimise.

    Attributes:
        name: frechet_mean and weighted_frechet of points; quadratic_sphere ||A (x - target)||^2 / 2; free_energy
            tr(H X) + T tr(X log X).
        data: A .csv (header; latitude and longitude in degrees, or one column per coordinate; `weight` if weighted) or
            .npz file (points and weights; A and target; H); empty for the US airports or a random example.
        temperature: T of free_energy.
        rows: Rows of the random A (n = 500); 1000 puts the optimum on the boundary, 250 inside.
    """

    name: Literal["frechet_mean", "weighted_frechet", "quadratic_sphere", "free_energy"] = "frechet_mean"
    data: str = ""
    temperature: float = 1.0
    rows: int = 1000

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not self.temperature >= 0:
            raise ValueError(f"objective.temperature must be >= 0 (got {self.temperature})")
        if self.rows < 1:
            raise ValueError(f"objective.rows must be >= 1 (got {self.rows})")
        if self.data and not self.data.endswith((".csv", ".npz")):
            raise ValueError(f"objective.data must be a .csv or .npz file (got {self.data!r})")


@dataclass(frozen=True)
class SolverConfig:
    """How to minimise.

    Attributes:
        step: Step rule.
        smoothness: L; needed by "short", the first guess of "backtracking".
        max_iter: Most iterations.
        tol: Stop when the certificate is at most this.
    """

    step: Literal["backtracking", "short", "open-loop", "line-search"] = "backtracking"
    smoothness: float | None = None
    max_iter: int = 500
    tol: float = 1e-8

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.smoothness is not None and not self.smoothness > 0:
            raise ValueError(f"solver.smoothness must be > 0 (got {self.smoothness})")
        if self.max_iter < 1:
            raise ValueError(f"solver.max_iter must be >= 1 (got {self.max_iter})")
        if not self.tol > 0:
            raise ValueError(f"solver.tol must be > 0 (got {self.tol})")


@dataclass(frozen=True)
class SolveConfig:
    """Minimise over a set, certify the result, compare with the baselines.

    Attributes:
        manifold: Where the points live.
        set: The constraint.
        objective: What to minimise; the default is the Frechet mean of 3376 airports within 500 km of Atlanta.
        solver: How.
        baselines: What to run beside it; pymanopt-penalty needs the extra `pymanopt`.
        tables: Print the two tables of figures that were measured for the paper's examples; auto: with airports only.
    """

    manifold: ManifoldConfig = field(default_factory=ManifoldConfig)
    set: SetConfig = field(default_factory=SetConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    solver: SolverConfig = field(default_factory=SolverConfig)
    baselines: list[Literal["projected-gradient", "geoopt-penalty", "pymanopt-penalty"]] = field(
        default_factory=lambda: ["projected-gradient", "geoopt-penalty"]
    )
    tables: Literal["auto", "yes", "no"] = "auto"


@dataclass(frozen=True)
class TablesConfig:
    """Convergence on the paper's first example and on projection problems with known answers.

    Attributes:
        size: n of the sphere example.
        starts: Starts per projection problem; medians are printed.
    """

    size: int = 500
    starts: int = 5

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.size < 3 or self.starts < 1:
            raise ValueError(f"size must be >= 3 and starts >= 1 (got {self.size} and {self.starts})")
