"""The descriptor: what ``iclr26 list`` and ``iclr26 show`` say, and where the rest is found."""

from __future__ import annotations

from iclr26_core import Job, Method, hookimpl


@hookimpl
def iclr26_methods() -> list[Method]:
    """Return the method that this package brings."""
    return [
        Method(
            name="wavefront",
            kind="decoder",
            target="iclr26_wavefront:WavefrontDecoder",
            jobs=(
                Job(
                    name="decode",
                    target="iclr26_wavefront.job:decode",
                    config="iclr26_wavefront.config:DecodeConfig",
                    summary="continue days, months and numbers with a model that has seen them with errors",
                ),
            ),
            claims="iclr26_wavefront.claims:claims",
            summary="Decodes the most likely token at every step",
            title="The Curious Case of Neural Text Degeneration",
            paper="https://arxiv.org/abs/1904.09751",
            accepts=("a model that returns logits (B, S, V), or an object with logits, and prompts (B, P)",),
            baselines=("sampling",),
            tags=("greedy",),
            status="experimental",
        )
    ]
