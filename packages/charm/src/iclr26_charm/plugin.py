"""The descriptor: what ``iclr26 list`` and ``iclr26 show`` say, and where the rest is found."""

from __future__ import annotations

from iclr26_core import Job, Method, hookimpl


@hookimpl
def iclr26_methods() -> list[Method]:
    """Return the method that this package brings."""
    return [
        Method(
            name="charm",
            kind="detector",
            target="iclr26_charm:CharmDetector",
            jobs=(
                Job(
                    name="detect",
                    target="iclr26_charm.job:detect",
                    config="iclr26_charm.config:DetectConfig",
                    summary="find the wrong answers of a small classifier of handwritten digits",
                ),
            ),
            claims="iclr26_charm.claims:claims",
            summary="Finds a classifier's wrong answers in the probabilities that it gave",
            title="A Baseline for Detecting Misclassified and Out-of-Distribution Examples in Neural Networks",
            paper="https://arxiv.org/abs/1610.02136",
            accepts=("log-probabilities over the same classes, one array per answer",),
            baselines=("maximum-probability",),
            tags=("selective prediction",),
            status="experimental",
        )
    ]
