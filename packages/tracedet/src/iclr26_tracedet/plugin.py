"""The descriptor of TraceDet; imports nothing but the core."""

from __future__ import annotations

from iclr26_core import Job, Method, hookimpl


@hookimpl
def iclr26_methods() -> list[Method]:
    """Return the one method of this package."""
    return [
        Method(
            name="tracedet",
            kind="detector",
            target="iclr26_tracedet:TraceDetDetector",
            jobs=(
                Job(
                    name="detect",
                    target="iclr26_tracedet.job:detect",
                    config="iclr26_tracedet.config:DetectConfig",
                    summary="record denoising traces, fit detectors, score held-out answers, beside baselines",
                    resumable=True,
                ),
                Job(
                    name="score",
                    target="iclr26_tracedet.job:score",
                    config="iclr26_tracedet.config:ScoreConfig",
                    summary="score recorded traces with a fitted detector",
                ),
            ),
            claims="iclr26_tracedet.claims:claims",
            summary="hallucination detection for diffusion language models from the denoising trace",
            title="TraceDet: Hallucination Detection from the Decoding Trace of Diffusion Large Language Models",
            paper="https://arxiv.org/abs/2510.01274",
            accepts=("a trace store", "a masked diffusion language model and questions", "arrays of entropies"),
            gpu="optional",
            baselines=(
                "tracedet-paper",
                "nomask",
                "lstm",
                "flat-lr",
                "mean-entropy",
                "first-entropy",
                "last-entropy",
                "perplexity",
            ),
            tags=("hallucination", "diffusion language models", "LLaDA", "Dream", "information bottleneck"),
            status="experimental",
        )
    ]
