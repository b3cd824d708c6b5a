"""Result files of the authors' script: key → {response: {…, raw}, ground_truth, q_type, a_type}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.question import normalise_key
from ..running.responses import Response
from ..scoring.parsing import PLACES, parse

if TYPE_CHECKING:
    from ..human_mme import HumanMME


def import_official(path: str | Path) -> dict[str, Response]:
    """Return the responses in a results_<model>.json; null is an error, and backslashes in keys are slashes.

    Raises:
        ValueError: the file is no such JSON, or two keys are the same question
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        found: dict[str, Response] = {}
        for key, result in content.items():
            name = normalise_key(key)
            if name in found:
                raise ValueError(f"{name} is there twice, again as {key!r}")
            raw = None if result is None else result["response"]["raw"]
            found[name] = Response(name, raw, None, error="null in the authors' file" if result is None else None)
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} must be a results_<model>.json of the authors' script: {error}") from error
    return found


def export_official(
    path: str | Path, bench: HumanMME, responses: Mapping[str, Response], *, prefix: str = "./final_qa"
) -> None:
    """Write responses as the authors' script would, parsed in their way, for use with their metrics."""
    content: dict[str, Any] = {}
    for q in bench:
        response = responses.get(q.key)
        answered = response is not None and response.answered
        content[f"{prefix}/{q.key}"] = (
            {"response": _response(response.raw or "", q.a_type), "ground_truth": q.gold, "q_type": q.q_type,
             "a_type": q.a_type}
            if answered and response is not None else None
        )  # fmt: skip
    Path(path).write_text(json.dumps(content, indent=1), encoding="utf-8")


def official_metrics(q: Any, metrics: Mapping[str, float]) -> dict[str, Any]:
    """Return the metrics of one question under the authors' names, with ``tf_correct``: merely that it answered."""
    names = {"have": "have_bbox" if q.a_type == "tf_bbox" else "have_answer", "pred_have": "pred_have_bbox"}
    found: dict[str, Any] = {names.get(name, name): value for name, value in metrics.items()}
    if "pred_have" in metrics:
        found["tf_correct"] = bool(metrics["pred_have"])
    return found


def _response(raw: str, a_type: str) -> dict[str, Any]:
    parsed = parse(raw, a_type)
    if a_type == "open_hoi":
        parsed["box"] = parsed.pop("bbox")
    if a_type == "sequence":
        parsed |= dict(zip(PLACES, parsed["answer"], strict=True))
    if a_type == "double_choice":
        parsed["answer"] = [parsed["past"], parsed["future"]]
    return {**parsed, "raw": raw}
