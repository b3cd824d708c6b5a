"""What a reader of a comparison must know before believing it, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from iclr26_core.compare.figures import Block, Comparison, Row, systems
from iclr26_core.record import Record

TIMED = ("s", "1/s", "ms", "µs")
MACHINE = ("platform", "machine", "cores", "device")


def caveats(comparison: Comparison, seeds: Sequence[int]) -> Iterator[str]:
    """Yield one sentence per doubt: missing seeds or units, values without spread, several machines."""
    if not comparison.group.declared:
        yield "the runs do not say what their input was, so they are beside their own baselines only"
    if comparison.reference is None:
        yield "the chosen baseline is not among them: no differences"
    if len({_machine(record) for runs in comparison.group.members.values() for record in runs.values()}) > 1:
        for block in comparison.blocks:
            if block.metric.unit in TIMED:
                yield f"the runs are of several machines: {block.metric.name} cannot be compared"
    for block in comparison.blocks:
        yield from _of_block(block, seeds)
        yield from _other_units(comparison, block)
        if comparison.reference and not any(row.system is comparison.reference for row in block.rows):
            yield f"{comparison.reference.label} has no {block.metric.name}: no differences"


def _of_block(block: Block, seeds: Sequence[int]) -> Iterator[str]:
    name = block.metric.name
    for labels, sentence in (
        (_where(block, lambda row: len(row.values) < 2), "an interval takes 2 seeds"),
        (_where(block, lambda row: 2 <= len(row.values) < len(seeds)), "not every seed has a value"),
        (_where(block, lambda row: not all(map(math.isfinite, row.values.values()))), "some values are not finite"),
        (_where(block, _constant), "the same for every seed: its interval is no evidence"),
    ):
        if labels:
            whose = "every row" if len(labels) == len(block.rows) else ", ".join(labels)
            yield f"{name} of {whose}: {sentence}"


def _where(block: Block, applies: Callable[[Row], bool]) -> list[str]:
    return [row.system.label for row in block.rows if applies(row)]


def _constant(row: Row) -> bool:
    return len(row.values) > 1 and len(set(row.values.values())) == 1


def _other_units(comparison: Comparison, block: Block) -> Iterator[str]:
    for system in systems(comparison.group):
        for seed in system.runs:
            unit = system.metrics(seed).get(block.metric.name, {}).get("unit", block.metric.unit)
            if unit != block.metric.unit:
                yield f"{system.label} gives {block.metric.name} in {unit}, not {block.metric.unit}: left out"
                break


def _machine(record: Record) -> tuple[object, ...]:
    return tuple(record.environment.get(key) for key in MACHINE)
