"""What a comparison found out, and the same as plain types for ``compare.json``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from iclr26_core.compare.caveats import caveats
from iclr26_core.compare.figures import Comparison, Row
from iclr26_core.compare.gather import Failure

SCHEMA = "iclr26.comparison.v1"


@dataclass(frozen=True, kw_only=True)
class Result:
    """Everything that a comparison found out; ``question`` is what was asked, as plain types."""

    run_id: str
    question: dict[str, Any]
    comparisons: Sequence[Comparison]
    failures: Sequence[Failure]
    notes: Sequence[str]

    def caveats(self, comparison: Comparison) -> list[str]:
        """Return what to know before believing a group's figures."""
        return list(caveats(comparison, self.question["seeds"]))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain types."""
        return {
            "schema": SCHEMA,
            "run_id": self.run_id,
            **self.question,
            "groups": [{**_group(comparison), "caveats": self.caveats(comparison)} for comparison in self.comparisons],
            "failures": [dataclasses.asdict(failure) for failure in self.failures],
            "notes": list(self.notes),
        }


def _group(comparison: Comparison) -> dict[str, Any]:
    members = comparison.group.members
    return {
        "input": comparison.group.title,
        "inputs": {seed: record.inputs for runs in members.values() for seed, record in runs.items()},
        "runs": {name: {seed: record.run_id for seed, record in runs.items()} for name, runs in members.items()},
        "reference": comparison.reference.label if comparison.reference else None,
        "metrics": [
            {**dataclasses.asdict(block.metric), "rows": [_row(row) for row in block.rows]}
            for block in comparison.blocks
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "label": row.system.label,
        "method": row.system.method,
        "baseline": row.system.of,
        "values": row.values,
        "mean": dataclasses.asdict(row.mean),
        "difference": dataclasses.asdict(row.difference) if row.difference else None,
        "verdict": row.verdict,
    }
