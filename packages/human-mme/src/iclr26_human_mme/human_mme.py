"""Human-MME: A Holistic Evaluation Benchmark for Human-Centric Multimodal Large Language Models.

Liu et al., ICLR 2026, https://arxiv.org/abs/2509.26165. 19,945 questions on photos of people in 21 question types are
answered in a fixed format; boxes are scored by IoU in whichever box convention fits best, choices by equality, short
answers by a composite of three similarities, rankings by Kendall's tau, "is there such a person" by F1. Metrics of
question types are averaged into five components, components into eight dimensions, dimensions into one figure.

Names: q_type is the question type, a_type the answer type, gold the reference answer; boxes are (x1, y1, x2, y2).
Departures: per-question metrics are those of the authors' code, quirks included; the roll-up to components and
dimensions is not in their code and is reconstructed here. An unanswered question counts 0 unless ``missing="skip"``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .data.question import Question, load_questions
from .data.validate import Problem, validate

if TYPE_CHECKING:
    from .scoring.text import Scorers

DIMENSIONS = {
    "FU": ("face_choice", "face_grounding"),
    "BU": ("cloth_choice", "body_grounding", "open_clothing"),
    "HU": ("hoi_choice", "hoi_grounding", "open_hoi"),
    "MIU": ("multiface", "multiclothing", "multihoi"),
    "MPR": (
        "identify-choice", "common_choice", "identify-grounding", "identify-blank", "identify-open_grounding",
        "identify-tf_grounding", "identify-tf_blank",
    ),
    "ID": ("intention",),
    "CD": ("causal",),
    "ED": ("emotion",),
}  # fmt: skip
DIMENSION_OF = {q_type: dimension for dimension, types in DIMENSIONS.items() for q_type in types}
COMPONENTS = ("bbox", "choice", "short", "ranking", "judgment")
METRIC_OF = {"bbox": "iou", "choice": "accuracy", "short": "composite_score", "ranking": "tau"}
IOU_ACCURATE, COMPOSITE_ACCURATE = 0.5, 0.75  # the authors' code
Box = Sequence[float]
Metrics = dict[str, float]


def iou(a: Box, b: Box) -> float:
    """Return intersection over union; 0 unless the intersection has positive width and height."""
    left, top, right, bottom = max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])
    if not (left < right and top < bottom):
        return 0.0
    shared = (right - left) * (bottom - top)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / union if union > 0 else 0.0


def box_conventions(guess: Box | None, gold: Box, width: int, height: int) -> dict[str, float]:
    """Return the IoU of a guess under every convention that it may be in; empty for what is no box."""
    if guess is None or len(guess) != 4 or any(k is None or math.isnan(k) for k in guess):
        return {}
    if all(0 <= k <= 1 for k in guess):
        return {"normalised": iou(guess, gold)}
    found = {"pixels": iou(_divided(guess, width, height), gold)}
    longest, shortest = max(width, height), min(width, height)
    if longest > 1920 or shortest > 1080:
        scale = min(1920 / longest, 1080 / shortest)
        found["pixels of the scaled view"] = iou(_divided(guess, width * scale, height * scale), gold)
    if all(0 <= k <= 1000 for k in guess):
        found["per mille"] = iou(_divided(guess, 1000, 1000), gold)
    return found


def best_format_iou(guess: Box | None, gold: Box, width: int, height: int) -> float:
    """Return the IoU of a guess with a normalised gold box, in whichever box convention it is highest.

    Example:
        >>> best_format_iou((250, 250, 750, 750), (0.25, 0.25, 0.75, 0.75), 1920, 1080)
        1.0
    """
    return max(box_conventions(guess, gold, width, height).values(), default=0.0)


def ranking_scores(order: Sequence[str], gold: Sequence[str]) -> tuple[float, float, float]:
    """Return tau and rho, both mapped to [0, 1], and nDCG with relevance 4, 3, 2, 1 of an order of four letters."""
    from scipy.stats import kendalltau, spearmanr  # type: ignore[import-untyped]

    positions = [list(order).index(letter) for letter in gold]
    ideal = list(range(len(gold)))
    gain = {letter: len(gold) - place for place, letter in enumerate(gold)}
    discounted = [sum(gain[x] / math.log2(i + 2) for i, x in enumerate(each)) for each in (order, gold)]
    tau, rho = kendalltau(ideal, positions)[0], spearmanr(ideal, positions)[0]
    return (float(tau) + 1) / 2, (float(rho) + 1) / 2, discounted[0] / discounted[1]


def judgment_f1(pairs: Iterable[tuple[bool, bool]]) -> float:
    """Return F1 of (there is one, the model says so) pairs, "there is one" being positive; 0 if undefined."""
    both = list(pairs)
    right = sum(have and said for have, said in both)
    wrong = sum(have != said for have, said in both)
    return 2 * right / (2 * right + wrong) if right + wrong else 0.0


def question_metrics(question: Question, parsed: Mapping[str, Any], text: Scorers) -> Metrics:
    """Return the metrics of one parsed reply, as the authors' code computes them.

    Args:
        question: with its gold answer
        parsed: what :func:`iclr26_human_mme.parse` gives
        text: scorers that have prepared this reply (see ``Scorers.prepare``)
    """
    metrics: Metrics = {"analysis_len": float(len(parsed.get("analysis", "")))}
    kind, gold = question.a_type, question.gold
    if kind == "choice":
        metrics["accuracy"] = float(parsed["choice"] == gold)
    elif kind == "bbox":
        metrics |= _box_metrics(question, parsed["bbox"], gold)
    elif kind == "blank":
        metrics |= _blank_metrics(question, parsed["answer"], text)
    elif kind == "tf_bbox":
        metrics |= {"have": float(gold[0] != -1), "pred_have": float(parsed["bbox"][0] != -1)}
        metrics |= _box_metrics(question, parsed["bbox"], gold) if gold[0] != -1 else {}
    elif kind == "tf_blank":
        said = parsed["answer"] is not None and parsed["answer"].lower() != "unknown"
        metrics |= {"have": float(gold != "unknown"), "pred_have": float(said)}
        metrics |= _blank_metrics(question, parsed["answer"], text) if gold != "unknown" else {}
    elif kind == "open_hoi":
        box = best_format_iou(parsed["bbox"], gold["bbox"], *question.size)
        scores = text.composite(parsed["name"], gold["name"])
        metrics |= {"iou": box, "accuracy": float(box >= IOU_ACCURATE), **scores}
        metrics["object_accuracy"] = _at_least(scores["composite_score"], COMPOSITE_ACCURATE)
    elif kind == "sequence":
        order = parsed["answer"]
        metrics["accuracy"] = float(list(order) == list(gold))
        if sorted(filter(None, order)) == ["A", "B", "C", "D"]:
            metrics["tau"], metrics["rho"], metrics["ndcg"] = ranking_scores(order, gold)
    elif kind == "double_choice":
        past, future = (float(parsed[when] == gold[when]) for when in ("past", "future"))
        metrics |= {"past_accuracy": past, "future_accuracy": future, "accuracy": past * future}
    return metrics


def zero_metrics(question: Question) -> Metrics:
    """Return the metrics of a question without an answer: nothing right, nobody said to be there."""
    names = {
        "choice": ["accuracy"], "bbox": ["iou", "accuracy"], "blank": ["accuracy", *TEXT_METRICS],
        "open_hoi": ["iou", "accuracy", "object_accuracy", *TEXT_METRICS],
        "sequence": ["accuracy", "tau", "rho", "ndcg"], "double_choice": ["past_accuracy", "future_accuracy", "accuracy"],
    }  # fmt: skip
    kind, gold = question.a_type, question.gold
    if kind in names:
        return dict.fromkeys(names[kind], 0.0)
    have = gold != "unknown" and gold[0] != -1
    return {"have": float(have), "pred_have": 0.0, **dict.fromkeys(names[kind[3:]] if have else [], 0.0)}


TEXT_METRICS = ("bert_f1", "cos_sim", "kw_coverage", "composite_score")


@dataclass(frozen=True)
class RollUp:
    """Figures of one set of answers, all in [0, 1] but ``dimensions``, ``components`` and ``average``, in [0, 100].

    Attributes:
        per_type: mean of every metric by question type
        counts: questions of every type
        by_dimension: components of every dimension; None where nothing is defined
        dimensions: unweighted mean of a dimension's components
        components: mean over all types that have the component
        average: unweighted mean of the dimensions
    """

    per_type: dict[str, dict[str, float]]
    counts: dict[str, int]
    by_dimension: dict[str, dict[str, float]]
    dimensions: dict[str, float]
    components: dict[str, float]
    average: float
    notes: tuple[str, ...] = field(default=())


def roll_up(rows: Iterable[tuple[str, str, Mapping[str, float]]], *, weighting: str = "type") -> RollUp:
    """Return averages by type, component and dimension of (q_type, a_type, metrics) rows.

    Args:
        rows: one per scored question
        weighting: ``type`` averages types of a component equally, ``question`` by their number of questions

    Raises:
        ValueError: another weighting
    """
    if weighting not in ("type", "question"):
        raise ValueError(f"weighting must be type or question (got {weighting!r})")
    kept = list(rows)
    kinds = {q_type: a_type for q_type, a_type, _ in kept}
    values: dict[str, dict[str, list[float]]] = {}
    counts: dict[str, int] = {}
    for q_type, _, metrics in kept:
        counts[q_type] = counts.get(q_type, 0) + 1
        for name, value in metrics.items():
            values.setdefault(q_type, {}).setdefault(name, []).append(value)
    by_dimension = {}
    for dimension, types in DIMENSIONS.items():
        found = components_of([t for t in types if t in counts], kinds, values, weighting)
        if found:
            by_dimension[dimension] = {name: 100 * value for name, value in found.items()}
    dimensions = {name: _mean(list(parts.values())) for name, parts in by_dimension.items()}
    whole = components_of(list(counts), kinds, values, weighting)
    return RollUp(
        per_type={t: {name: _mean(v) for name, v in found.items()} for t, found in values.items()},
        counts=counts,
        by_dimension=by_dimension,
        dimensions=dimensions,
        components={name: 100 * value for name, value in whole.items()},
        average=_mean(list(dimensions.values())),
    )


def components_of(
    types: Sequence[str], kinds: Mapping[str, str], values: Mapping[str, Mapping[str, Sequence[float]]], weighting: str
) -> dict[str, float]:
    """Return the components, in [0, 1], that some question types have together."""
    found = {}
    for component, metric in METRIC_OF.items():
        having = [t for t in types if metric in values[t] and (component != "choice" or kinds[t] in _CHOICES)]
        having = [t for t in having if not any(math.isnan(v) for v in values[t][metric])]
        if having:
            weights = [len(values[t][metric]) if weighting == "question" else 1 for t in having]
            found[component] = sum(
                w * _mean(values[t][metric]) for w, t in zip(weights, having, strict=True)
            ) / sum(weights)
    judged = [t for t in types if "have" in values[t]]
    if judged:
        pairs = [pair for t in judged for pair in zip(values[t]["have"], values[t]["pred_have"], strict=True)]
        found["judgment"] = judgment_f1((bool(have), bool(said)) for have, said in pairs)
    return {name: found[name] for name in COMPONENTS if name in found}


class HumanMME:
    """The questions of a folder, and the scores of answers to them.

    Args:
        questions: as :meth:`load` reads them

    Example:
        >>> from iclr26_human_mme import HumanMME, pip_people
        >>> import tempfile
        >>> root = pip_people.build(tempfile.mkdtemp())
        >>> bench = HumanMME.load(root, types=["face_choice"])
        >>> bench.evaluate({question.key: f"Answer: {question.gold}" for question in bench})["score"]
        1.0
    """

    def __init__(self, questions: Sequence[Question], *, roots: Sequence[Path] = ()) -> None:
        if not questions:
            raise ValueError("a benchmark needs at least one question (got 0): is final_qa unpacked?")
        seen: set[str] = set()
        for question in questions:
            if question.key in seen:
                raise ValueError(f"every question needs its own key (got {question.key!r} twice): rename one folder")
            seen.add(question.key)
        self.questions = list(questions)
        self.roots = tuple(roots)

    @classmethod
    def load(
        cls,
        root: str | Path,
        *,
        qa_dir: str | Path | None = None,
        image_roots: Sequence[str | Path] = (),
        types: Sequence[str] | None = None,
        dimensions: Sequence[str] | None = None,
        limit: int | None = None,
        seed: int = 0,
    ) -> HumanMME:
        """Return the benchmark in an unpacked Human-MME_data folder, or in any folder of this layout.

        Args:
            root: holds ``final_qa`` and ``final_labeling``
            qa_dir: the questions, where they are not in ``root/final_qa``
            image_roots: further folders that photos are looked for in, also by file name alone
            types: only these question types
            dimensions: only these dimensions
            limit: at most so many questions of every type, drawn by ``seed``
            seed: of the draw

        Raises:
            FileNotFoundError: a folder that is missing, with how to get it
            ValueError: no question, a question that cannot be read, or one key twice
        """
        wanted = _wanted_types(types, dimensions)
        questions, roots = load_questions(root, qa_dir, image_roots, wanted, DIMENSION_OF)
        if limit is not None:
            questions = _stratified(questions, limit, seed)
        return cls(questions, roots=roots)

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def examples(self, split: str = "test") -> list[Question]:
        """Return the questions in a fixed order; the benchmark has one split, ``test``."""
        if split != "test":
            raise ValueError(f"split must be test, the only one there is (got {split!r})")
        return list(self.questions)

    def evaluate(self, predictions: Mapping[str, Any], *, scorers: Scorers | None = None) -> dict[str, float]:
        """Return ``score``, the average in [0, 1], ``coverage`` and every dimension, of raw replies by key.

        Raises:
            ValueError: a key that no question has, or a reply that is neither text nor None
        """
        from .scoring.scores import score

        known = {question.key for question in self.questions}
        unknown = sorted(set(predictions) - known)
        if unknown:
            raise ValueError(f"predictions must be of questions here, like {min(known)!r} (got {unknown[0]!r})")
        for key, reply in predictions.items():
            if reply is not None and not isinstance(reply, str):
                raise ValueError(f"a prediction must be the text of a reply (got {reply!r} for {key!r})")
        scores = score(self, dict(predictions), scorers=scorers, bootstrap=0)
        named = {name: value / 100 for name, value in scores.dimensions.items()}
        return {"score": scores.average / 100, "coverage": scores.coverage, **named}

    def validate(self) -> list[Problem]:
        """Return what is wrong with photos, sizes and gold answers; an empty list is good."""
        return validate(self.questions)

    def fingerprint(self) -> str:
        """Return the sha256 over sorted keys and the hashes of their qa.json files."""
        import hashlib

        digest = hashlib.sha256()
        for question in sorted(self.questions, key=lambda each: each.key):
            digest.update(f"{question.key} {question.sha256}\n".encode())
        return digest.hexdigest()

    def to_datasets(self) -> Any:
        """Return a ``datasets.Dataset`` with key, types, text, gold (JSON) and photo paths; needs ``datasets``."""
        import json

        try:
            from datasets import Dataset  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ImportError("to_datasets needs the datasets library: pip install datasets") from error
        rows = [
            {"key": q.key, "q_type": q.q_type, "a_type": q.a_type, "dimension": q.dimension, "text": q.text,
             "gold": json.dumps(q.gold), "images": [str(path) for path in q.images]}
            for q in self.questions
        ]  # fmt: skip
        return Dataset.from_list(rows)


_CHOICES = ("choice", "double_choice")


def _divided(box: Box, width: float, height: float) -> tuple[float, float, float, float]:
    return box[0] / width, box[1] / height, box[2] / width, box[3] / height


def _at_least(value: float, bound: float) -> float:
    return math.nan if math.isnan(value) else float(value >= bound)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _box_metrics(question: Question, guess: Box, gold: Box) -> Metrics:
    value = best_format_iou(guess, gold, *question.size)
    accurate = float(value >= IOU_ACCURATE)
    name = question.attr_name
    return {"iou": value, "accuracy": accurate, f"iou_{name}": value, f"accuracy_{name}": accurate}


def _blank_metrics(question: Question, answer: str | None, text: Scorers) -> Metrics:
    scores = text.composite(answer, question.gold)
    closed = text.closed(answer, question.gold, question.attr_name)
    if closed is None:
        return {**scores, "accuracy": _at_least(scores["composite_score"], COMPOSITE_ACCURATE)}
    right, probability = closed
    return {**scores, "accuracy": right, "prob": probability, f"accuracy_{question.attr_name}": right}


def _wanted_types(types: Sequence[str] | None, dimensions: Sequence[str] | None) -> set[str] | None:
    for given, known, what in ((types, DIMENSION_OF, "types"), (dimensions, DIMENSIONS, "dimensions")):
        for name in given or ():
            if name not in known:
                raise ValueError(f"{what} must be of {', '.join(known)} (got {name!r})")
    if not types and not dimensions:
        return None
    return set(types or DIMENSION_OF) & {t for d in (dimensions or DIMENSIONS) for t in DIMENSIONS[d]}


def _stratified(questions: Sequence[Question], limit: int, seed: int) -> list[Question]:
    import random

    if limit < 1:
        raise ValueError(f"limit must be >= 1 question of every type (got {limit})")
    by_type: dict[str, list[Question]] = {}
    for question in questions:
        by_type.setdefault(question.q_type, []).append(question)
    kept = {
        question.key
        for name, found in sorted(by_type.items())
        for question in random.Random(f"{seed} {name}").sample(found, min(limit, len(found)))
    }
    return [question for question in questions if question.key in kept]
