"""The jobs of ``iclr26 run tracedet``: detect (record, fit, score, measure) and score (with a fitted detector)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from iclr26_core import Run
from iclr26_core.errors import UsageError
from iclr26_lm import TraceStore

from . import results
from .comparison import Fitted, fit_and_score, make_detector, one_thread, summary
from .config import DetectConfig, ScoreConfig
from .detector import TraceDetDetector
from .material import Material, from_store, load_model, record_answers, record_tiny
from .questions import read_questions
from .scalars import SCALARS
from .splits import grouped_split

QUICK_FACTS = 240  # facts whose answers the job ``score`` takes when it is given nothing


def detect(config: DetectConfig, run: Run) -> None:
    """Record traces or take recorded ones, fit every method on some groups, and report figures of others."""
    material = _material(config, run)
    share = float(material.labels.mean())
    run.say(f"{len(material.labels)} labelled traces, {share:.1%} hallucinated")
    split = grouped_split(material.groups.tolist(), val=config.val_share, test=config.test_share, seed=run.seed)
    _refuse_one_class(material, split)
    found: dict[str, Fitted] = {}
    figures: dict[str, Any] = {}
    canvas = config.detector.canvas or max(int(material.traces.entry(name)["G"]) for name in material.traces.ids)
    checkpoints = run.out / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    with one_thread():
        for name in config.methods:
            run.say(f"fitting {name}")
            detector = make_detector(
                name, config.detector, variant=config.variant, canvas=canvas, seed=run.seed, device=run.device
            )
            shown = _shown(name, config.variant)
            found[shown] = fit_and_score(name, detector, material, split, checkpoint=checkpoints / f"{name}.pt")
            figures[shown] = summary(
                material, split.test, found[shown].scores, seed=run.seed, probability=name not in SCALARS
            )
            results.keep_metrics(run, shown, found[shown], figures[shown], len(split.test))
        _write(config, run, material, split, found, figures)
    run.print(f"variant {config.variant}; {len(split.train)} / {len(split.val)} / {len(split.test)} traces to train, "
              f"validate, test; of a kind: its hallucinated answers against all faithful ones")  # fmt: skip
    run.print(results.kinds_table(figures) + "\n")


def score(config: ScoreConfig, run: Run) -> None:
    """Score recorded traces with a fitted detector."""
    folder = Path(config.traces) if config.traces else run.out / "traces"
    if not config.traces:
        record_tiny(folder, form="short", facts=QUICK_FACTS, device=run.device)
    store = TraceStore.open(folder)
    run.input("traces", _manifests(folder))
    with one_thread():
        detector = _loaded(config, run, folder)
        scores, weights = detector.score(store), detector.explain(store)
    with (run.out / "scores.jsonl").open("w", encoding="utf-8") as file:
        for name, value, row in zip(store.ids, scores, weights, strict=True):
            passes = int(store.entry(name)["T"])
            line = {"id": name, "score": float(value), "weights": [round(float(w), 6) for w in row[:passes]]}
            file.write(json.dumps(line) + "\n")
    run.artifact("scores.jsonl")
    run.metric("mean_score", float(scores.mean()), n=len(scores))
    run.print(f"{len(scores)} traces scored: {run.out / 'scores.jsonl'}")


def _material(config: DetectConfig, run: Run) -> Material:
    folder = Path(config.traces) if config.traces else run.out / "traces"
    if config.model:
        run.input(config.input, Path(config.input))
        _record_own(config, run, folder)
    elif not config.traces:
        run.say("the tiny diffusion model answers questions about its facts")
        record_tiny(folder, form=config.form, facts=config.facts, resume=run.resumed, device=run.device)
    if not config.model:
        run.input("traces", _manifests(folder))
    if config.labels:
        run.input("labels", Path(config.labels))
    material, left_out = from_store(folder, Path(config.labels) if config.labels else None)
    if left_out:
        run.say(f"{left_out} traces without a label are left out")
    return material


def _record_own(config: DetectConfig, run: Run, folder: Path) -> None:
    questions = read_questions(Path(config.input))
    model, tokenizer = load_model(Path(config.model), config.decode, run.device)
    run.say(f"{model.family} model of {config.model} answers {len(questions)} questions")
    with TraceStore.writer(folder, resume=run.resumed) as writer:
        record_answers(
            model,
            tokenizer,
            questions,
            writer,
            length=config.gen_length,
            settings=config.decode,
            match=config.match,
            seed=run.seed,
            progress=lambda batches: run.progress(batches, label="answering"),
        )


def _write(config: DetectConfig, run: Run, material: Material, split: Any, found: Any, figures: Any) -> None:
    detector: TraceDetDetector = found["tracedet"].detector
    weights = detector.explain(material.traces)
    diagnostics = {
        name: fitted.detector.diagnostics(material.part(split.test))
        for name, fitted in found.items()
        if isinstance(fitted.detector, TraceDetDetector)
    }
    for name, values in diagnostics.items():
        run.say(f"{name}: mean p {values['mean_keep']:.4f}, spread of embeddings over passes "
                f"{values['embedding_spread']:.4f}")  # fmt: skip
    results.write_scores(run, material, split, found["tracedet"].scores, weights)
    results.save_model(run, detector)
    content = {
        "variant": config.variant,
        "seed": run.seed,
        "sizes": {part: len(getattr(split, part)) for part in ("train", "val", "test")},
        "methods": figures,
        "diagnostics": diagnostics,
        "epochs": {name: len(f.detector.history) for name, f in found.items() if hasattr(f.detector, "history")},
    }
    results.write_json(run, "metrics.json", content)
    results.plot(run, material, split.test, detector)


def _shown(name: str, variant: str) -> str:
    return "tracedet-reference" if name == "tracedet-paper" and variant == "paper" else name


def _loaded(config: ScoreConfig, run: Run, folder: Path) -> TraceDetDetector:
    if config.detector:
        return TraceDetDetector.load(config.detector, device=run.device)
    if config.traces:
        raise UsageError("detector must be a folder that a run left as model/ (got ''): pass --detector DIR")
    material, _ = from_store(folder)
    return TraceDetDetector(seed=run.seed, device=run.device, epochs=20).fit(
        material.traces, material.labels, groups=material.groups.tolist()
    )


def _refuse_one_class(material: Material, split: Any) -> None:
    for part in ("train", "val", "test"):
        labels = material.labels[getattr(split, part)]
        if len(np.unique(labels)) < 2:
            raise UsageError(
                f"the {part} part must hold both classes (got {int(labels.sum())} hallucinated of {len(labels)}): "
                "add questions, or --labels"
            )


def _manifests(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("manifest*.jsonl")))
