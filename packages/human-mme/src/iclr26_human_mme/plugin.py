"""The descriptor: what ``iclr26 list`` and ``iclr26 show`` say, and where the rest is found."""

from __future__ import annotations

from iclr26_core import Job, Method, hookimpl


@hookimpl
def iclr26_methods() -> list[Method]:
    """Return the method that this package brings."""
    return [
        Method(
            name="human-mme",
            kind="benchmark",
            target="iclr26_human_mme:HumanMmeBenchmark",
            jobs=(
                Job(
                    name="score",
                    target="iclr26_human_mme.job:score",
                    config="iclr26_human_mme.config:ScoreConfig",
                    summary="score a file of answers; without one, those of a calculator without precedence",
                ),
            ),
            claims="iclr26_human_mme.claims:claims",
            summary="Scores answers to arithmetic questions that need the order of operations",
            title="Measuring Massive Multitask Language Understanding",
            paper="https://arxiv.org/abs/2009.03300",
            accepts=('JSON lines, {"id": "…", "answer": 42} each',),
            baselines=("last-number", "most-frequent-answer"),
            tags=("arithmetic",),
            status="experimental",
        )
    ]
