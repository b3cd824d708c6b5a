"""The job ``score``: score a file of answers beside the rules that any model should beat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from iclr26_core import Run

from .baselines import Answerer, last_number, left_to_right, most_frequent_answer
from .config import ScoreConfig
from .human_mme import HumanMmeBenchmark
from .question import Question

METHOD = "human-mme"
Figures = dict[str, dict[str, float]]


def score(config: ScoreConfig, run: Run) -> None:
    """Score the answers on the test split, and the baselines on the same questions."""
    benchmark = HumanMmeBenchmark(size=config.size, seed=config.questions_seed)
    questions = benchmark.examples("test")
    run.input("questions", "\n".join(f"{each.id} {each.question}" for each in questions).encode())
    run.say(f"{len(questions)} questions; the first is {questions[0].question}")
    if config.answers is None:
        run.say("no --answers: those of a calculator without precedence")
    given = answered(questions, left_to_right) if config.answers is None else read(config.answers)
    for system, figures in measure(benchmark, given).items():
        of = None if system == run.method.name else system
        for name, value in figures.items():
            run.metric(name, value, of=of, higher_is_better=True)


def measure(benchmark: HumanMmeBenchmark, given: dict[str, Any]) -> Figures:
    """Return the metrics of the given answers and of the baselines, by system, on the test split."""
    questions = benchmark.examples("test")
    answers = {
        METHOD: given,
        "last-number": answered(questions, last_number),
        "most-frequent-answer": answered(questions, most_frequent_answer(benchmark.examples("validation"))),
    }
    return {system: benchmark.evaluate(predictions, split="test") for system, predictions in answers.items()}


def answered(questions: list[Question], answerer: Answerer) -> dict[str, Any]:
    """Return somebody's answers by the question's id."""
    return {question.id: answerer(question.question) for question in questions}


def read(path: Path) -> dict[str, Any]:
    """Return the answers in a file of JSON lines; ValueError names a line that is no ``{"id": …, "answer": …}``."""
    answers: dict[str, Any] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            content = json.loads(line)
            answers[content["id"]] = content["answer"]
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f'{path}, line {number} must be {{"id": "…", "answer": 42}} (got {line!r})') from error
    return answers
