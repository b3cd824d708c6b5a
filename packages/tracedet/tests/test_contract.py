"""The plugin's contract, and the jobs through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from iclr26_core.record import records
from iclr26_core.testing import PluginContract
from iclr26_core.testing.offline import iclr26
from iclr26_lm import STANDINS, TraceStore, tiny_diffusion, write_standin
from iclr26_tracedet import TraceDetDetector

SMALL = ("--facts", "480", "--detector.epochs", "1")


class TestPlugin(PluginContract):
    method = "tracedet"
    quick = SMALL


def the_run(out: Path) -> Path:
    ((folder, record),) = records(out)
    assert record.status == "ok", record.error
    return folder


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("quick")
    done = iclr26(out, "run", "tracedet", *SMALL, "--variant", "paper", "--seed", "3")
    assert done.returncode == 0, done.stderr
    return the_run(out), done


def test_run_leaves_scores_metrics_model_and_plot(quick_run):
    folder, done = quick_run
    scores = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert len(scores) == 480
    assert {row["part"] for row in scores} == {"train", "val", "test"}
    assert all(0.0 <= row["score"] <= 1.0 and len(row["weights"]) == 12 for row in scores)
    assert (folder / "explain.png").stat().st_size > 10_000
    for figures in metrics["methods"].values():
        low, high = figures["interval"]
        assert low <= figures["auroc"] <= high
    assert {"tracedet", "tracedet-reference", "nomask", "perplexity"} <= set(metrics["methods"])
    assert "confident-wrong" in metrics["methods"]["tracedet"]["kinds"]
    assert "confident-wrong" in done.stdout
    store = TraceStore.open(folder / "traces")
    loaded = TraceDetDetector.load(folder / "model")
    assert loaded.score(store) == pytest.approx([row["score"] for row in scores], abs=1e-6)


def test_split_is_by_entity(quick_run):
    folder, _ = quick_run
    store = TraceStore.open(folder / "traces")
    parts: dict[int, set[str]] = {}
    for line in (folder / "scores.jsonl").read_text().splitlines():
        row = json.loads(line)
        parts.setdefault(store.entry(row["id"])["meta"]["entity"], set()).add(row["part"])
    assert all(len(found) == 1 for found in parts.values())


@pytest.mark.slow
def test_recorded_traces_and_a_label_file_are_taken(quick_run, tmp_path):
    folder, _ = quick_run
    ids = TraceStore.open(folder / "traces").ids
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps({"id": name, "label": (i % 3) - 1}) + "\n" for i, name in enumerate(ids)))
    options = ("--traces", str(folder / "traces"), "--labels", str(labels), "--detector.epochs", "1")
    done = iclr26(tmp_path / "out", "run", "tracedet", *options)
    assert done.returncode == 0, done.stderr
    assert "160 traces without a label are left out" in done.stderr
    rows = [json.loads(line) for line in (the_run(tmp_path / "out") / "scores.jsonl").read_text().splitlines()]
    assert [row["label"] for row in rows] == [i % 3 - 1 for i in range(480) if i % 3]


def test_saved_model_scores_traces_in_the_job_score(quick_run, tmp_path):
    folder, _ = quick_run
    options = ("--detector", str(folder / "model"), "--traces", str(folder / "traces"))
    done = iclr26(tmp_path, "run", "tracedet", "score", *options)
    assert done.returncode == 0, done.stderr
    here, there = (
        [json.loads(line)["score"] for line in (place / "scores.jsonl").read_text().splitlines()]
        for place in (the_run(tmp_path), folder)
    )
    assert here == pytest.approx(there, abs=1e-6)


@pytest.mark.slow
def test_interrupted_recording_resumes_by_id(quick_run, tmp_path):
    folder, _ = quick_run
    cut = tmp_path / "out" / folder.name
    cut.mkdir(parents=True)
    record = json.loads((folder / "record.json").read_text())
    (cut / "record.json").write_text(json.dumps(record | {"status": "interrupted", "wall_s": None}))
    store = TraceStore.open(folder / "traces")
    with TraceStore.writer(cut / "traces") as writer:
        for name in store.ids[:300]:
            writer.append(name, store[name])
    kept = (cut / "traces" / "shard-00000.safetensors").stat().st_mtime_ns
    done = iclr26(tmp_path / "out", "run", "tracedet", *SMALL, "--variant", "paper", "--seed", "3", "--resume")
    assert done.returncode == 0, done.stderr
    assert (cut / "traces" / "shard-00000.safetensors").stat().st_mtime_ns == kept
    assert (cut / "scores.jsonl").read_bytes() == (folder / "scores.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("family", STANDINS)
def test_model_of_the_user_is_asked_its_questions(family, tmp_path):
    folder = write_standin(tmp_path / "model", family)
    labels = tmp_path / "labels.jsonl"
    questions = [{"id": f"q{i}", "prompt": f"what is the {w} of", "answers": ["x"]}
                 for i, w in enumerate(["capital", "river", "founder", "export", "us", "tell"] * 5)]  # fmt: skip
    (tmp_path / "qa.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    labels.write_text("".join(json.dumps({"id": f"q{i}", "label": i // 3 % 2}) + "\n" for i in range(30)))
    options = ("--model", str(folder), "--input", str(tmp_path / "qa.jsonl"), "--labels", str(labels))
    small = ("--gen_length", "4", "--decode.block", "4", "--detector.epochs", "1")
    refused = iclr26(tmp_path / "refused", "run", "tracedet", *options, *small)
    assert refused.returncode != 0
    assert "trust_remote_code" in refused.stderr
    done = iclr26(tmp_path / "out", "run", "tracedet", *options, *small, "--decode.trust_remote_code", "true")
    assert done.returncode == 0, done.stderr
    store = TraceStore.open(the_run(tmp_path / "out") / "traces")
    meta = store.entry("q0")["meta"]
    assert len(store) == 30
    assert meta["family"] == family
    assert meta["logits_shift"] is (family == "dream")
    assert (meta["temperature"], meta["schedule"]) == ((0.1, "dream") if family == "dream" else (0.0, "even"))


@pytest.mark.slow
def test_masked_language_model_in_a_folder_is_labelled_by_its_answers(tmp_path):
    """The tiny model as a folder of the user: a generic ForMaskedLM, labelled by matching reference answers."""
    from iclr26_lm.tiny import MODELS

    knowledge = tiny_diffusion().knowledge
    lines = [
        json.dumps({"id": fact.id, "prompt": knowledge.question(fact), "answers": [" ".join(fact.value)],
                    "group": str(fact.entity), "kind": fact.kind})
        for fact in knowledge.facts[:160]
    ]  # fmt: skip
    (tmp_path / "qa.jsonl").write_text("\n".join(lines) + "\n")
    options = ("--model", str(MODELS / "knowledge"), "--input", str(tmp_path / "qa.jsonl"), "--gen-length", "12")
    done = iclr26(tmp_path / "out", "run", "tracedet", *options, "--decode.batch", "64", "--detector.epochs", "1")
    assert done.returncode == 0, done.stderr
    folder = the_run(tmp_path / "out")
    for line in (folder / "scores.jsonl").read_text().splitlines():
        row = json.loads(line)
        said = TraceStore.open(folder / "traces").entry(row["id"])["meta"]["answer"]
        fact = next(fact for fact in knowledge.facts if fact.id == row["id"])
        assert row["label"] == int(" ".join(fact.value) not in said)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--model", "x"), "model and input belong together"),
        (("--detector.tau", "1.5"), "detector.tau must be in (0, 1)"),
        (("--variant", "other"), "variant must be"),
        (("--detector.lrr", "1"), "did you mean 'detector.lr'"),
        (("--val_share", "0.6", "--test_share", "0.5"), "leave some to train on"),
    ],
)
def test_bad_configuration_is_refused_with_exit_code_2(tmp_path, options, told):
    done = iclr26(tmp_path, "run", "tracedet", *options)
    assert done.returncode == 2
    assert told in done.stderr
