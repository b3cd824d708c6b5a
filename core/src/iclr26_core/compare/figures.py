"""The numbers of a comparison: per group and metric, one row per method or baseline, with its paired difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from iclr26_core.compare.groups import Group
from iclr26_core.compare.statistics import Mean, mean_interval, paired_difference
from iclr26_core.kinds import Metric
from iclr26_core.record import Record


@dataclass(frozen=True, eq=False)
class System:
    """A method (``of`` is None) or one of its baselines, with the record of every seed."""

    label: str
    method: str
    of: str | None
    runs: dict[int, Record]

    def metrics(self, seed: int) -> dict[str, dict[str, Any]]:
        """Return its metrics in one run."""
        record = self.runs[seed]
        return record.metrics if self.of is None else record.baselines.get(self.of, {})

    def named(self, name: str) -> bool:
        """Return whether a user who says this name means this system."""
        return name in (self.label, self.of or self.method, f"{self.method}/{self.of}")


@dataclass(frozen=True)
class Row:
    """A system's figures for one metric: value per seed, their mean, the difference to the reference."""

    system: System
    values: dict[int, float]
    mean: Mean
    difference: Mean | None
    verdict: str


@dataclass(frozen=True)
class Block:
    """The rows of one metric."""

    metric: Metric
    rows: list[Row]


@dataclass(frozen=True)
class Comparison:
    """One group with its figures; ``reference`` is what differences are to, None where the group does not have it."""

    group: Group
    reference: System | None
    blocks: list[Block]


def systems(group: Group) -> list[System]:
    """Return every method of a group, followed by its baselines."""
    pairs: list[tuple[str, str | None]] = []
    for method, runs in group.members.items():
        baselines = dict.fromkeys(name for record in runs.values() for name in record.baselines)
        pairs += [(method, None), *((method, name) for name in baselines)]
    names = [of or method for method, of in pairs]
    return [
        System(of if names.count(of) == 1 else f"{of} of {method}", method, of, group.members[method])
        if of
        else System(method, method, None, group.members[method])
        for method, of in pairs
    ]


def reference(found: Sequence[System], wanted: str | None) -> System | None:
    """Return the system of this name; without a name the first baseline, else the first method."""
    if wanted is not None:
        return next((system for system in found if system.named(wanted)), None)
    return next((system for system in found if system.of), found[0])


def metrics_of(found: Sequence[System]) -> dict[str, Metric]:
    """Return the metrics that the systems have, with unit and direction as first recorded."""
    known: dict[str, Metric] = {}
    for system in found:
        for seed in system.runs:
            for name, kept in system.metrics(seed).items():
                known.setdefault(name, Metric(name, kept["unit"], kept["higher_is_better"]))
    return known


def compared(
    group: Group, *, shared: Sequence[Metric], wanted: Sequence[str] = (), baseline: str | None = None
) -> Comparison:
    """Return a group's figures; metrics that no system has are left out.

    Args:
        group: runs on the same input
        shared: metrics of the kind, which come first
        wanted: names of more metrics
        baseline: what differences are to; None is the first baseline
    """
    found = systems(group)
    known = metrics_of(found)
    chosen = {metric.name: metric for metric in shared if metric.name in known}
    chosen |= {name: known[name] for name in wanted if name in known and name not in chosen}
    against = reference(found, baseline)
    blocks = [Block(metric, _rows(found, metric, against)) for metric in chosen.values()]
    return Comparison(group, against, [block for block in blocks if block.rows])


def _rows(found: Sequence[System], metric: Metric, against: System | None) -> list[Row]:
    values = {system: _values(system, metric) for system in found}
    zero = values[against] if against else {}
    rows = []
    for system, own in values.items():
        if own:
            difference = None if system is against else paired_difference(own, zero)
            rows.append(Row(system, own, mean_interval(list(own.values())), difference, _verdict(difference, metric)))
    return rows


def _values(system: System, metric: Metric) -> dict[int, float]:
    """Return the values by seed that are in the metric's unit."""
    kept = {seed: system.metrics(seed).get(metric.name) for seed in system.runs}
    return {seed: float(found["value"]) for seed, found in kept.items() if found and found["unit"] == metric.unit}


def _verdict(difference: Mean | None, metric: Metric) -> str:
    """Return whether a difference's whole interval lies on the better or on the worse side of zero."""
    if difference is None or difference.low is None or difference.high is None:
        return "–"
    if difference.low <= 0 <= difference.high:
        return "equal" if difference.low == difference.high else "unclear"
    higher = difference.low > 0
    if metric.higher_is_better is None:
        return "higher" if higher else "lower"
    return "better" if higher == metric.higher_is_better else "worse"
