"""The package as a whole: public names, examples in docstrings, questions, metrics and splits."""

import doctest
import importlib

import iclr26_tracedet
import numpy as np
import pytest
from iclr26_tracedet import auroc, auroc_interval, grouped_split, matches, read_labels, read_questions
from sklearn.metrics import roc_auc_score

MODULES = ["detector", "inputs", "losses", "metrics", "questions", "recording", "splits", "tracedet"]


def test_every_public_name_loads_and_is_listed():
    for name in iclr26_tracedet.__all__:
        assert getattr(iclr26_tracedet, name) is not None
    assert iclr26_tracedet.__all__ == sorted(iclr26_tracedet._HOMES)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        iclr26_tracedet.nothing  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(f"iclr26_tracedet.{name}"))
    assert result.failed == 0
    assert result.attempted > 0


def test_auroc_agrees_with_scikit_learn_also_with_ties():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 2, 200), rng.integers(0, 9, 200) / 9.0
    assert auroc(labels, scores) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    low, high = auroc_interval(labels, scores)
    assert low < auroc(labels, scores) < high


def test_no_group_is_in_two_parts():
    groups = np.random.default_rng(0).integers(0, 30, 200)
    split = grouped_split(groups.tolist(), seed=1)
    train, val, test = (set(groups[part].tolist()) for part in (split.train, split.val, split.test))
    assert not train & val
    assert not (train | val) & test
    assert sum(len(part) for part in (split.train, split.val, split.test)) == 200


def test_answers_match_as_whole_words():
    assert matches("The capital is  PARIS!", ["paris"])
    assert not matches("parisian", ["paris"])
    assert not matches("anything", [""])


def test_bad_question_files_name_the_line(tmp_path):
    path = tmp_path / "qa.jsonl"
    path.write_text('{"id": 1, "prompt": "p", "answers": ["a"]}\n{"id": 1, "prompt": "p", "answers": []}\n')
    with pytest.raises(ValueError, match="line 2: id '1' is there twice"):
        read_questions(path)
    path.write_text('{"id": 1, "label": 2}\n')
    with pytest.raises(ValueError, match=r"line 1: label must be 1, 0 or -1 \(got 2\)"):
        read_labels(path)
