"""Scores of one set of replies: per question, type, component and dimension, with coverage and intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..human_mme import (
    COMPONENTS,
    DIMENSIONS,
    RollUp,
    box_conventions,
    iou,
    question_metrics,
    roll_up,
    zero_metrics,
)
from ..running.responses import Response, read_responses
from .parsing import parse
from .text import Scorers

if TYPE_CHECKING:
    from ..data.question import Question
    from ..human_mme import HumanMME

SIDED = ("hand", "foot", "eye")


@dataclass(frozen=True)
class Scores:
    """What a set of replies is worth.

    Attributes:
        per_question: by key: types, whether answered, parsed answer, metrics
        rolled: averages, see :class:`iclr26_human_mme.human_mme.RollUp`
        coverage: share of the questions with a reply
        refusals: replies that a content filter stopped, or that are empty
        truncated: replies that the token limit stopped
        confusions: by part: how often a wrong box lies on the other side's part
        conventions: how often which box convention fitted best
        exact_match: share of short answers equal to gold after normalising
        intervals: 95 % bootstrap intervals of dimensions and average
        settings: parsing, missing, weighting, models
        notes: why the figures are not official, if they are not
    """

    per_question: dict[str, dict[str, Any]]
    rolled: RollUp
    coverage: float
    refusals: int
    truncated: int
    confusions: dict[str, dict[str, int]]
    conventions: dict[str, int]
    exact_match: float
    intervals: dict[str, tuple[float, float]]
    settings: dict[str, Any]
    name: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def average(self) -> float:
        """Mean of the dimensions, in [0, 100]."""
        return self.rolled.average

    @property
    def dimensions(self) -> dict[str, float]:
        """Scores by dimension, in [0, 100]."""
        return self.rolled.dimensions

    @property
    def components(self) -> dict[str, float]:
        """Scores by component, in [0, 100]."""
        return self.rolled.components

    @property
    def per_type(self) -> dict[str, dict[str, float]]:
        """Mean of every metric by question type."""
        return self.rolled.per_type

    def to_json(self) -> str:
        """Return everything as JSON; NaN is null."""
        content = {
            "name": self.name, "average": self.average, "dimensions": self.dimensions, "components": self.components,
            "by_dimension": self.rolled.by_dimension, "per_type": self.per_type, "counts": self.rolled.counts,
            "coverage": self.coverage, "refusals": self.refusals, "truncated": self.truncated,
            "confusions": self.confusions, "conventions": self.conventions, "exact_match": self.exact_match,
            "intervals": self.intervals, "settings": self.settings, "notes": self.notes,
            "per_question": self.per_question,
        }  # fmt: skip
        return json.dumps(_finite(content), indent=1)

    def to_markdown(self) -> str:
        """Return the dimensions, components and counts as Markdown tables."""
        lines = ["| dimension | score | 95 % | components |", "|---|---|---|---|"]
        for name in DIMENSIONS:
            parts = ", ".join(f"{part} {value:.1f}" for part, value in self.rolled.by_dimension.get(name, {}).items())
            lines.append(f"| {name} | {_shown(self.dimensions.get(name))} | {self._interval(name)} | {parts} |")
        lines.append(f"| average | {_shown(self.average)} | {self._interval('average')} | |")
        lines += ["", "| component | score |", "|---|---|"]
        lines += [f"| {name} | {_shown(self.components.get(name))} |" for name in COMPONENTS]
        lines += ["", f"coverage {self.coverage:.1%}, refusals {self.refusals}, cut off {self.truncated}; "
                      f"parsing {self.settings['parsing']}, missing {self.settings['missing']}, "
                      f"weighting {self.settings['weighting']}"]  # fmt: skip
        return "\n".join([*lines, *self.notes])

    def _interval(self, name: str) -> str:
        low, high = self.intervals.get(name, (math.nan, math.nan))
        return "" if math.isnan(low) else f"{low:.1f} to {high:.1f}"


def score(
    bench: HumanMME,
    responses: Mapping[str, Any] | str | Path,
    *,
    parsing: str = "official",
    missing: str = "zero",
    weighting: str = "type",
    scorers: Scorers | None = None,
    strip_think: bool | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    name: str = "",
) -> Scores:
    """Return the scores of replies.

    Args:
        bench: the questions
        responses: replies by key (text, None or Response), a responses.jsonl, or the folder of a run
        parsing: ``official`` or ``lenient``
        missing: ``zero`` counts an unanswered question as wrong, ``skip`` leaves it out as the authors do
        weighting: ``type`` or ``question``, see :func:`iclr26_human_mme.human_mme.roll_up`
        scorers: models for short answers; None takes ``Scorers.default()``
        strip_think: see :func:`parse`
        bootstrap: resamples of questions for the intervals; 0 leaves them out
        seed: of the resamples
        name: of the model, for tables

    Raises:
        ValueError: a parsing, missing or weighting that there is not
    """
    if missing not in ("zero", "skip"):
        raise ValueError(f"missing must be zero or skip (got {missing!r})")
    scorers = scorers or default_scorers()
    replies = as_responses(responses)
    parsed = {
        q.key: parse(replies[q.key].raw, q.a_type, mode=parsing, strip_think=strip_think)
        for q in bench
        if q.key in replies and replies[q.key].answered
    }
    scorers.prepare(*short_answers(bench, parsed))
    per_question: dict[str, dict[str, Any]] = {}
    rows = []
    for q in bench:
        answered = q.key in parsed
        metrics = question_metrics(q, parsed[q.key], scorers) if answered else zero_metrics(q)
        per_question[q.key] = {
            "q_type": q.q_type, "a_type": q.a_type, "answered": answered, "parsed": parsed.get(q.key),
            "metrics": metrics,
        }  # fmt: skip
        if answered or missing == "zero":
            rows.append((q.q_type, q.a_type, metrics))
    given = [replies[q.key] for q in bench if q.key in replies]
    return Scores(
        per_question=per_question,
        rolled=roll_up(rows, weighting=weighting),
        coverage=len(parsed) / len(bench),
        refusals=sum(each.refused for each in given),
        truncated=sum(each.finish_reason == "length" for each in given),
        confusions=confusions(bench.questions, parsed),
        conventions=conventions(bench.questions, parsed),
        exact_match=exact_match(bench.questions, parsed),
        intervals=intervals(rows, weighting, bootstrap, seed) if bootstrap else {},
        settings={"parsing": parsing, "missing": missing, "weighting": weighting,
                  "encoder": scorers.encoder.name, "bert": scorers.bert.name},
        name=name,
        notes=scorers.notes,
    )  # fmt: skip


_DEFAULT: list[Scorers] = []


def default_scorers() -> Scorers:
    """Return ``Scorers.default()``, made once."""
    if not _DEFAULT:
        _DEFAULT.append(Scorers.default())
    return _DEFAULT[0]


def as_responses(responses: Mapping[str, Any] | str | Path) -> dict[str, Response]:
    """Return responses by key, from replies, a file or a run's folder."""
    if isinstance(responses, (str, Path)):
        return read_responses(Path(responses))
    return {key: r if isinstance(r, Response) else Response(key=key, raw=r) for key, r in responses.items()}


def short_answers(bench: HumanMME, parsed: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the (reply, gold) pairs and the (reply, gold, attribute) triples that similarities are needed of."""
    pairs: list[Any] = []
    closed: list[Any] = []
    for q in bench:
        if q.key not in parsed:
            continue
        if q.a_type == "open_hoi":
            pairs.append((parsed[q.key]["name"], q.gold["name"]))
        elif q.a_type == "blank" or (q.a_type == "tf_blank" and q.gold != "unknown"):
            pairs.append((parsed[q.key]["answer"], q.gold))
            closed.append((parsed[q.key]["answer"], q.gold, q.attr_name))
    return pairs, closed


def intervals(rows: Sequence[Any], weighting: str, resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return 95 % bootstrap intervals: questions are redrawn within their type, each with all its metrics."""
    rng = np.random.default_rng(seed)
    by_type: dict[str, list[Any]] = {}
    for row in rows:
        by_type.setdefault(row[0], []).append(row)
    drawn = {name: _resampled(found, resamples, rng) for name, found in by_type.items()}
    samples: dict[str, list[np.ndarray[Any, Any]]] = {}
    for dimension, types in DIMENSIONS.items():
        parts = [(drawn[t], len(by_type[t])) for t in types if t in drawn]
        if parts:
            samples[dimension] = _component_samples(parts, weighting)
    means = {name: np.nanmean(np.stack(parts), axis=0) * 100 for name, parts in samples.items() if parts}
    if means:
        means["average"] = np.mean(np.stack(list(means.values())), axis=0)
    return {name: (float(np.percentile(v, 2.5)), float(np.percentile(v, 97.5))) for name, v in means.items()}


def _resampled(rows: Sequence[Any], resamples: int, rng: np.random.Generator) -> dict[str, np.ndarray[Any, Any]]:
    """Return, by component, (resamples,) means, and for judgment the (resamples, 2) counts of right and wrong."""
    count, a_type = len(rows), rows[0][1]
    wanted = {"bbox": "iou", "short": "composite_score", "ranking": "tau"}
    if a_type in ("choice", "double_choice"):
        wanted["choice"] = "accuracy"
    weights = np.stack([np.bincount(rng.integers(0, count, count), minlength=count) for _ in range(resamples)])
    found = {}
    for component, metric in wanted.items():
        has = np.array([metric in row[2] for row in rows])
        values = np.array([row[2].get(metric, 0.0) for row in rows])
        if has.any() and not np.isnan(values[has]).any():
            total = weights[:, has].sum(1)
            found[component] = np.where(total > 0, weights[:, has] @ values[has] / np.maximum(total, 1), np.nan)
    if "have" in rows[0][2]:
        have = np.array([row[2]["have"] for row in rows]) > 0
        said = np.array([row[2]["pred_have"] for row in rows]) > 0
        found["judgment"] = np.stack([weights @ (have & said), weights @ (have != said)], axis=1)
    return found


def _component_samples(parts: Sequence[Any], weighting: str) -> list[np.ndarray[Any, Any]]:
    found = []
    for component in COMPONENTS[:-1]:
        having = [(each[component], n) for each, n in parts if component in each]
        if having:
            weights = [n if weighting == "question" else 1 for _, n in having]
            found.append(np.average(np.stack([values for values, _ in having]), axis=0, weights=weights))
    judged = [each["judgment"] for each, _ in parts if "judgment" in each]
    if judged:
        right, wrong = np.sum(judged, axis=0).T
        found.append(2 * right / np.maximum(2 * right + wrong, 1))
    return found


def confusions(questions: Sequence[Question], parsed: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return, by sided part (left_hand, …), how wrong boxes fall: on the other side, on the same part, elsewhere.

    A wrong box is one below IoU 0.5; it belongs to the part of the same photo whose gold box it overlaps most.
    """
    parts: dict[Any, dict[str, Any]] = {}
    for q in questions:
        if q.a_type == "bbox" and len(q.images) == 1:
            parts.setdefault(q.images[0], {})[q.attr_name.replace("_", " ")] = q.gold
    found: dict[str, dict[str, int]] = {}
    for q in questions:
        name = q.attr_name.replace("_", " ")
        if q.a_type != "bbox" or q.key not in parsed or not name.startswith(("left ", "right ")):
            continue
        counts = found.setdefault(name, {"questions": 0, "wrong": 0, "other side": 0})
        counts["questions"] += 1
        box = _as_normalised(parsed[q.key]["bbox"], q)
        if iou(box, q.gold) < 0.5:
            counts["wrong"] += 1
            overlaps = {part: iou(box, gold) for part, gold in parts[q.images[0]].items()}
            best = max(overlaps, key=lambda part: overlaps[part])
            counts["other side"] += overlaps[best] > 0 and best == _other_side(name)
    return found


def conventions(questions: Sequence[Question], parsed: Mapping[str, Any]) -> dict[str, int]:
    """Return how often which box convention gave the highest IoU above 0."""
    found: dict[str, int] = {}
    for q in questions:
        guess = parsed.get(q.key, {}).get("bbox")
        gold = q.gold["bbox"] if q.a_type == "open_hoi" else q.gold
        if guess is not None and gold[0] != -1:
            fits = box_conventions(guess, gold, *q.size)
            if fits and max(fits.values()) > 0:
                best = max(fits, key=lambda name: fits[name])
                found[best] = found.get(best, 0) + 1
    return found


def exact_match(questions: Sequence[Question], parsed: Mapping[str, Any]) -> float:
    """Return the share of answered short answers that equal gold but for case, spaces and a final period."""
    hits = [
        _plain(parsed[q.key]["answer"] or "") == _plain(q.gold)
        for q in questions
        if q.a_type in ("blank", "tf_blank") and q.key in parsed
    ]
    return sum(hits) / len(hits) if hits else math.nan


def _as_normalised(guess: Sequence[float], q: Question) -> tuple[float, ...]:
    width, height = q.size
    fits = box_conventions(guess, q.gold, width, height)
    best = max(fits, key=lambda name: fits[name]) if fits else "normalised"
    scale = min(1920 / max(q.size), 1080 / min(q.size))
    by = {"pixels": (width, height), "per mille": (1000, 1000),
          "pixels of the scaled view": (width * scale, height * scale)}.get(best, (1, 1))  # fmt: skip
    return guess[0] / by[0], guess[1] / by[1], guess[2] / by[0], guess[3] / by[1]


def _other_side(name: str) -> str:
    return name.replace("left ", "right ", 1) if name.startswith("left ") else name.replace("right ", "left ", 1)


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".")


def _shown(value: float | None) -> str:
    return "n/a" if value is None or math.isnan(value) else f"{value:.1f}"


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
