"""Runs that may be set side by side: those whose inputs have equal fingerprints, seed by seed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from iclr26_core.record import Record

Prints = tuple[str, ...]


@dataclass
class Group:
    """Methods on the same input: ``members`` maps a method to its records by seed."""

    members: dict[str, dict[int, Record]] = field(default_factory=dict)

    @property
    def prints(self) -> dict[int, Prints]:
        """The fingerprints of the inputs by seed."""
        return {seed: prints(record) for runs in self.members.values() for seed, record in runs.items()}

    @property
    def declared(self) -> bool:
        """Whether the runs say what their input was."""
        return all(self.prints.values())

    @property
    def title(self) -> str:
        """The input in words, with the start of its fingerprint, or how it changes from seed to seed."""
        runs = next(iter(self.members.values()))
        if not self.declared:
            return f"an input that {', '.join(self.members)} does not declare"
        first = next(iter(runs.values()))
        names = {name: {record.inputs.get(name, "")[:8] for record in runs.values()} for name in first.inputs}
        parts = [f"{name} ({found.pop() if len(found) == 1 else 'per seed'})" for name, found in names.items()]
        return ", ".join(parts)


def groups(found: Iterable[Record]) -> list[Group]:
    """Return the records in groups of equal inputs, in the order in which they come; a method may be in several.

    An input counts by its fingerprint; its name may differ between methods. A method whose inputs are different for
    every seed (a split that is drawn, say) stays together, and another method is beside it only if it has the same
    inputs at each seed that both have. Runs that do not declare an input are beside their own baselines only.
    """
    by_method: dict[str, list[Record]] = {}
    for record in found:
        by_method.setdefault(record.method["name"], []).append(record)
    made: list[Group] = []
    for name, runs in by_method.items():
        for unit in _units(runs):
            candidate = Group({name: {record.seed: record for record in sorted(unit, key=lambda r: r.seed)}})
            partner = next((group for group in made if _comparable(group, candidate)), None)
            if partner is None:
                made.append(candidate)
            else:
                partner.members |= candidate.members
    return made


def prints(record: Record) -> Prints:
    """Return the fingerprints of a run's inputs, whatever their names."""
    return tuple(sorted(record.inputs.values()))


def _units(runs: list[Record]) -> list[list[Record]]:
    """Return one method's runs, apart where their inputs are, unless the inputs are different for every seed."""
    by_input: dict[Prints, list[Record]] = {}
    for record in runs:
        by_input.setdefault(prints(record), []).append(record)
    if () not in by_input and all(len(unit) == 1 for unit in by_input.values()):
        return [runs]
    return list(by_input.values())


def _comparable(group: Group, other: Group) -> bool:
    if not (group.declared and other.declared) or set(group.members) & set(other.members):
        return False
    mine, theirs = group.prints, other.prints
    common = set(mine) & set(theirs)
    if common:
        return all(mine[seed] == theirs[seed] for seed in common)
    return len({*mine.values(), *theirs.values()}) == 1
