"""The questions for other harnesses: VLMEvalKit's TSV, a task folder for lmms-eval, OpenAI's batch format."""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.prompts import prompt_set
from ..running.api import data_url

if TYPE_CHECKING:
    from ..human_mme import HumanMME

COLUMNS = ("index", "image", "question", "answer", "category", "l2-category")
TASK = """dataset_path: json
dataset_kwargs:
  data_files:
    test: {questions}
  token: False
task: human_mme
test_split: test
output_type: generate_until
doc_to_visual: !function utils.doc_to_visual
doc_to_text: !function utils.doc_to_text
doc_to_target: gold
process_results: !function utils.process_results
generation_kwargs:
  max_new_tokens: 2048
  temperature: 0
  do_sample: false
metric_list:
  - metric: human_mme_average
    aggregation: !function utils.average
    higher_is_better: true
metadata:
  - version: 1.0
"""
UTILS = '''"""Functions of the lmms-eval task human_mme; the work is done by iclr26-human-mme."""

import functools

from iclr26_human_mme import HumanMME, prompt_set

ROOT = {root!r}
PROMPTS = prompt_set({prompts!r})


@functools.cache
def bench():
    return HumanMME.load(ROOT)


@functools.cache
def by_key():
    return {{question.key: question for question in bench()}}


def doc_to_visual(doc):
    return [by_key()[doc["key"]].image()]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return by_key()[doc["key"]].prompt(PROMPTS)


def process_results(doc, results):
    return {{"human_mme_average": {{"key": doc["key"], "raw": results[0]}}}}


def average(results):
    return 100 * bench().evaluate({{each["key"]: each["raw"] for each in results}})["score"]
'''


def export_vlmevalkit(path: str | Path, bench: HumanMME, *, prompts: str = "iclr26") -> None:
    """Write a TSV of VLMEvalKit's columns: pictures as base64 PNG, gold as JSON, dimension and question type."""
    chosen = prompt_set(prompts)
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(COLUMNS)
        for index, q in enumerate(bench):
            buffer = io.BytesIO()
            q.image().save(buffer, format="PNG")
            picture = base64.b64encode(buffer.getvalue()).decode()
            writer.writerow([index, picture, q.prompt(chosen), json.dumps(q.gold), q.dimension, q.q_type])


def export_lmms_task(folder: str | Path, bench: HumanMME, root: str | Path, *, prompts: str = "iclr26") -> Path:
    """Write human_mme.yaml, utils.py and questions.jsonl; ``lmms_eval --include_path FOLDER --tasks human_mme`` runs it.

    Args:
        folder: to write
        bench: the questions
        root: where the task finds the data when it runs
        prompts: ``iclr26`` or ``official:PATH``
    """
    out = Path(folder).absolute()
    out.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"key": q.key, "q_type": q.q_type, "gold": json.dumps(q.gold)}) for q in bench]
    (out / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "human_mme.yaml").write_text(TASK.format(questions=json.dumps(str(out / "questions.jsonl"))))
    (out / "utils.py").write_text(UTILS.format(root=str(Path(root).absolute()), prompts=prompts))
    return out


def export_batch(
    path: str | Path, bench: HumanMME, model: str, *, prompts: str = "iclr26", max_new_tokens: int = 2048
) -> None:
    """Write OpenAI's batch format, one request per line: the key as custom_id, the picture as a data URL."""
    chosen = prompt_set(prompts)
    with Path(path).open("w", encoding="utf-8") as file:
        for q in bench:
            content = [{"type": "image_url", "image_url": {"url": data_url(q.image())}},
                       {"type": "text", "text": q.prompt(chosen)}]  # fmt: skip
            body = {"model": model, "messages": [{"role": "user", "content": content}], "temperature": 0,
                    "max_tokens": max_new_tokens}  # fmt: skip
            request = {"custom_id": q.key, "method": "POST", "url": "/v1/chat/completions", "body": body}
            file.write(json.dumps(request) + "\n")
