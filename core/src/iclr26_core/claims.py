"""A paper's claim, what was measured here, and the verdict that follows from the two.

Nobody writes a verdict down: it is computed. A claim says in which region its figure must lie; it holds when the
whole interval of the measured figure lies there, fails when it does not, and is not testable here without a figure.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from iclr26_core.errors import ClaimError

Verdict = Literal["holds", "fails", "not testable here"]
Scale = Literal["small", "paper"]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A measured figure with its interval.

    Args:
        value: the figure
        low: lower end of the interval; equal to ``value`` for a figure that is exact
        high: upper end
        n: on how many independent repetitions it rests
        unit: unit of the figure, ``"1"`` for a ratio
        interval: what the interval is, e.g. ``"95 % bootstrap over seeds"``

    Raises:
        ClaimError: the value lies outside of the interval, or one of them is NaN
    """

    value: float
    low: float
    high: float
    n: int
    unit: str = "1"
    interval: str = "95 %"

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ClaimError(f"an estimate needs low <= value <= high (got {self.low}, {self.value}, {self.high})")
        if self.n < 1:
            raise ClaimError(f"an estimate needs n >= 1 repetitions (got {self.n})")

    def __str__(self) -> str:
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.low == self.high:
            return f"{self.value:.4g}{unit}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]{unit}"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim of a paper beside what was measured here.

    Args:
        id: short name, the same in every version of the package
        statement: what the paper says
        paper: the paper's figure, as text; ``"no figure"`` if it gives none
        source: where in the paper it stands
        scale: ``small`` (minutes on two cores) or ``paper``
        measured: the figure measured here, or None where it cannot be measured
        at_least: the claim needs the figure to be at least this
        at_most: the claim needs the figure to be at most this
        needs: what the measurement would need, if ``measured`` is None
        seeds: the seeds it was measured with
        detail: what was compared, in a sentence
        plot: name of an artifact that shows it
        seconds: how long it took; filled in by ``iclr26 reproduce``

    Raises:
        ClaimError: neither a figure nor what it would need; or a figure without a region
    """

    id: str
    statement: str
    paper: str
    source: str
    scale: Scale = "small"
    measured: Estimate | None = None
    at_least: float = -math.inf
    at_most: float = math.inf
    needs: str = ""
    seeds: tuple[int, ...] = ()
    detail: str = ""
    plot: str | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.measured is None and not self.needs:
            raise ClaimError(f"claim {self.id!r} has no measured figure: say in `needs` what measuring it takes")
        if self.measured is not None and self.at_least == -math.inf and self.at_most == math.inf:
            raise ClaimError(f"claim {self.id!r} would hold for every figure: give at_least or at_most")
        if not self.at_least <= self.at_most:
            raise ClaimError(f"claim {self.id!r} needs at_least <= at_most (got {self.at_least} and {self.at_most})")

    @property
    def verdict(self) -> Verdict:
        """Whether the whole interval lies in the region that the claim needs."""
        if self.measured is None:
            return "not testable here"
        return "holds" if self.at_least <= self.measured.low and self.measured.high <= self.at_most else "fails"

    @property
    def region(self) -> str:
        """The region in words, e.g. ``">= 0"``."""
        bounds = [(">=", self.at_least), ("<=", self.at_most)]
        return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if math.isfinite(bound))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the verdict as plain types for a record."""
        return {**dataclasses.asdict(self), "verdict": self.verdict, "region": self.region}


@dataclass(frozen=True)
class Reproduction:
    """What ``iclr26 reproduce`` is asked for.

    Attributes:
        scale: small is minutes on two cores; paper needs the hardware and data that the claims name.
    """

    scale: Scale = "small"
