"""The descriptor of clipped SGD; imports nothing but the core."""

from __future__ import annotations

from iclr26_core import Job, Method, hookimpl


@hookimpl
def iclr26_methods() -> list[Method]:
    """Return the one method of this package."""
    return [
        Method(
            name="clipped-sgd",
            kind="optimizer",
            target="iclr26_clipped_sgd:ClippedSGD",
            jobs=(
                Job(
                    name="train",
                    target="iclr26_clipped_sgd.job:train",
                    config="iclr26_clipped_sgd.config:TrainConfig",
                    summary="repeat a convex problem under heavy-tailed noise, beside tuned baselines",
                    resumable=True,
                ),
                Job(
                    name="simulate",
                    target="iclr26_clipped_sgd.job:simulate",
                    config="iclr26_clipped_sgd.config:SimulateConfig",
                    summary="one schedule per setting: last iterate, average, and SGD with the same steps",
                    resumable=True,
                ),
                Job(
                    name="tail",
                    target="iclr26_clipped_sgd.job:tail",
                    config="iclr26_clipped_sgd.config:TailConfig",
                    summary="is the gradient noise of a model heavy-tailed, and which clip level follows",
                ),
            ),
            claims="iclr26_clipped_sgd.claims:claims",
            summary="SGD with a clipping schedule whose last iterate is good with high probability",
            title="High-Probability Bounds for the Last Iterate of Clipped SGD",
            paper="https://openreview.net/forum?id=4sGEvpwyxN",
            accepts=("any torch parameters", "a CSV file for logistic regression", "a model, loss and loader"),
            gpu="optional",
            baselines=("sgd", "sgd-clip", "nsgd", "adam"),
            tags=("convex", "heavy tails", "gradient clipping", "high probability"),
        )
    ]
