"""The descriptor of Human-MME; imports nothing but the core."""

from __future__ import annotations

from iclr26_core import Job, Method, hookimpl

HERE = "iclr26_human_mme"


def _job(name: str, config: str, summary: str) -> Job:
    return Job(name=name, target=f"{HERE}.job:{name}", config=f"{HERE}.config:{config}", summary=summary)


@hookimpl
def iclr26_methods() -> list[Method]:
    """Return the one method of this package."""
    return [
        Method(
            name="human-mme",
            kind="benchmark",
            target="iclr26_human_mme:HumanMME",
            jobs=(
                _job("demo", "DemoConfig", "build the mini data set, score dummy models on it, write the page"),
                _job("infer", "InferConfig", "ask a model every question; goes on where an earlier process ended"),
                _job("score", "ScoreConfig", "score the replies of a run: dimensions, components, page"),
                _job("leaderboard", "LeaderboardConfig", "runs beside the published rows"),
                _job("validate", "ValidateConfig", "find what is wrong with a folder of questions"),
                _job("export", "ExportConfig", "questions for VLMEvalKit, lmms-eval or batches, replies for the authors"),
                _job("annotate", "AnnotateConfig", "label photos with a face detector"),
                _job("generate", "GenerateConfig", "make questions from labels"),
            ),
            claims="iclr26_human_mme.claims:claims",
            summary="human-centric benchmark for multimodal models: loader, resumable runs, exact metrics, leaderboard",
            title="Human-MME: A Holistic Evaluation Benchmark for Human-Centric Multimodal Large Language Models",
            paper="https://arxiv.org/abs/2509.26165",
            accepts=("an unpacked Human-MME_data folder", "a vision-language model of transformers",
                     "an OpenAI-compatible endpoint", "results of the authors' script"),  # fmt: skip
            gpu="optional",
            baselines=("random", "constant"),
            tags=("vision-language models", "evaluation", "people", "lmms-eval", "VLMEvalKit"),
            status="experimental",
        )
    ]
