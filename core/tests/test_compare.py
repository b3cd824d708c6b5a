"""``iclr26 compare``: its figures, what it may set side by side, that it goes on, and what it says when it cannot."""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from iclr26_core.compare.statistics import mean_interval
from iclr26_core.record import Record, records
from rivals import WAVE, collective, is_alive, rivals, runs

SEEDS = (0, 1, 2)
OPTIONS = ("--out", "out", "--seeds", "0,1,2")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, Any]:
    """A comparison of ``good`` and ``bad``, made once: the command and how it ended."""
    command = rivals(tmp_path_factory.mktemp("compared"), good=0.3, bad=1.5)
    return command, command("compare", "optimizer", *OPTIONS, "--metric", "extra_good")


@pytest.fixture
def again(compared: tuple[Command, Any], tmp_path: Path) -> Command:
    """The command, with a copy of the finished comparison's runs."""
    shutil.copytree(compared[0].folder / "out", tmp_path / "out")
    return dataclasses.replace(compared[0], folder=tmp_path)


def result(command: Command, out: str = "out") -> dict[str, Any]:
    """Return the newest comparison's ``compare.json``."""
    folder, _ = collective(command.folder / out)
    return json.loads((folder / "compare.json").read_text(encoding="utf-8"))


def rows(group: dict[str, Any], metric: str = "final_loss") -> dict[str, dict[str, Any]]:
    found = next(found for found in group["metrics"] if found["name"] == metric)
    return {row["label"]: row for row in found["rows"]}


def methods(group: dict[str, Any]) -> list[str]:
    return sorted({row["method"] for row in rows(group).values()})


def rewrite(out: Path, name: str, change: Callable[[Record], dict[str, Any]]) -> None:
    """Change fields of the records of a method's runs, as if they had come out otherwise."""
    for folder, record in records(out):
        if record.method["name"] == name:
            dataclasses.replace(record, **change(record)).write(folder)


def test_figures_are_those_of_the_runs(compared: tuple[Command, Any]) -> None:
    command, done = compared
    assert done.returncode == 0, done.stderr
    [group] = result(command)["groups"]
    found = rows(group)
    assert list(found) == ["bad", "sgd of bad", "adam of bad", "good", "sgd of good", "adam of good"]
    expected = mean_interval([0.3 + 1.5 * WAVE[seed] for seed in SEEDS])
    assert found["good"]["mean"] == pytest.approx(dataclasses.asdict(expected))
    expected = mean_interval([0.3 + 0.5 * WAVE[seed] - 1 for seed in SEEDS])
    assert found["good"]["difference"] == pytest.approx(dataclasses.asdict(expected))
    assert group["reference"] == "sgd of bad"
    verdicts = {label: row["verdict"] for label, row in found.items()}
    assert verdicts == {
        "bad": "worse", "sgd of bad": "–", "adam of bad": "worse", "good": "better", "sgd of good": "equal",
        "adam of good": "worse",
    }  # fmt: skip


def test_shared_metrics_come_first_and_others_when_asked_for(compared: tuple[Command, Any]) -> None:
    [group] = result(compared[0])["groups"]
    assert [metric["name"] for metric in group["metrics"]] == ["final_loss", "seconds_per_step", "extra_good"]


def test_tables_are_on_stdout_and_talk_is_not(compared: tuple[Command, Any]) -> None:
    _, done = compared
    assert "final_loss ↓ on data (" in done.stdout
    assert "0.425" in done.stdout
    assert "good run, seed 1" in done.stderr
    assert "seed 1" not in done.stdout


def test_files_are_in_the_run_of_the_comparison(compared: tuple[Command, Any]) -> None:
    folder, record = collective(compared[0].folder / "out")
    assert record.status == "ok"
    assert record.job == "compare"
    assert record.artifacts == ["compare.json", "compare.md", "compare.svg"]
    page = (folder / "compare.md").read_text(encoding="utf-8")
    assert "| good | 0.425 |" in page
    assert "![" in page
    assert "(compare.svg)" in page
    assert {run.parent for run in runs(folder.parent)} == {record.run_id}


def test_what_is_there_is_not_run_again(again: Command) -> None:
    before = result(again)["groups"]
    done = again("compare", "good,bad", *OPTIONS, "--metric", "extra_good")
    assert done.returncode == 0, done.stderr
    assert len(runs(again.folder / "out")) == 6
    found = rows(result(again)["groups"][0])
    assert {label: row["mean"] for label, row in found.items()} == {
        label: row["mean"] for label, row in rows(before[0]).items()
    }


def test_the_order_is_that_of_the_command_whatever_was_there(again: Command) -> None:
    """The first baseline is what differences are to, so it must not depend on which runs are made now."""
    for folder, record in records(again.folder / "out"):
        if record.method["name"] == "bad" and record.seed == 0:
            shutil.rmtree(folder)
    done = again("compare", "bad,good", *OPTIONS)
    assert done.returncode == 0, done.stderr
    [group] = result(again)["groups"]
    assert (group["reference"], list(group["runs"]), list(group["runs"]["bad"])) == (
        "sgd of bad", ["bad", "good"], ["0", "1", "2"],
    )  # fmt: skip


def test_another_configuration_seed_or_version_is_run(again: Command) -> None:
    out = again.folder / "out"
    again("compare", "good", "--out", "out", "--seeds", "0", "--", "--data", "iris")
    assert [run.config["data"] for run in runs(out)][6:] == ["iris"]
    again("compare", "good", "--out", "out", "--seeds", "0,3", "--", "--data", "wine")
    assert [run.seed for run in runs(out)][7:] == [3]
    rewrite(out, "good", lambda record: {"method": {**record.method, "version": "0.9"}})
    again("compare", "good", "--out", "out", "--seeds", "0")
    assert [run.method["version"] for run in runs(out)][8:] == ["1.0"]


@pytest.mark.parametrize(
    ("baseline", "reference"),
    [("adam", "adam of good"), ("bad/sgd", "sgd of bad"), ("bad", "bad"), ("sgd of bad", "sgd of bad")],
)
def test_baseline_can_be_chosen(again: Command, baseline: str, reference: str) -> None:
    done = again("compare", "good,bad", *OPTIONS, "--baseline", baseline)
    assert done.returncode == 0, done.stderr
    [group] = result(again)["groups"]
    assert group["reference"] == reference
    assert rows(group)[reference]["difference"] is None


def test_one_seed_has_no_interval_and_says_so(again: Command) -> None:
    done = again("compare", "good", "--out", "out", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    row = rows(result(again)["groups"][0])["good"]
    assert (row["mean"]["low"], row["mean"]["high"], row["verdict"]) == (None, None, "–")
    assert "note: final_loss of every row: an interval takes 2 seeds" in done.stdout


def test_a_failing_and_a_killed_run_are_rows_and_end_nothing(tmp_path: Path) -> None:
    command = rivals(tmp_path, good=0.3)
    done = command("compare", "good", *OPTIONS, FAIL="0", KILL="1")
    assert done.returncode == 0, done.stderr
    found = result(command)
    reasons = {failure["seed"]: failure["reason"] for failure in found["failures"]}
    assert reasons == {0: "RuntimeError: seed 0 fails", 1: "killed by SIGKILL"}
    assert rows(found["groups"][0])["good"]["values"].keys() == {"2"}
    assert "killed by SIGKILL" in done.stdout
    done = command("compare", "good", *OPTIONS)
    assert (done.returncode, result(command)["failures"]) == (0, [])
    statuses = [run.status for run in runs(tmp_path / "out")]
    assert statuses == ["ok"] * 3, "the job can be resumed, so the runs go on in their folders"


def test_nothing_to_compare_is_exit_code_1_with_the_reason(tmp_path: Path) -> None:
    command = rivals(tmp_path, good=0.3)
    done = command("compare", "good", "--out", "out", "--seeds", "0", FAIL="0")
    assert done.returncode == 1
    assert "nothing could be compared" in done.stderr
    assert "RuntimeError: seed 0 fails" in done.stderr
    assert len(result(command)["failures"]) == 1


@pytest.mark.slow
def test_time_limit_ends_a_run_and_what_it_started(tmp_path: Path, wait: Callable[..., None]) -> None:
    command = rivals(tmp_path, good=0.3)
    done = command("compare", "good", "--out", "out", "--seeds", "0,1", "--timeout", "15", HANG="0")
    assert done.returncode == 0, done.stderr
    [failure] = result(command)["failures"]
    assert (failure["seed"], failure["reason"]) == (0, "ran out of time after 15 s")
    [file] = tmp_path.glob("out/*/child.pid")
    wait(lambda: not is_alive(int(file.read_text())), 5)


def test_an_interrupted_comparison_leaves_the_truth_and_goes_on(tmp_path: Path, wait: Callable[..., None]) -> None:
    command = rivals(tmp_path, good=0.3)
    process = command.start("compare", "good", "--out", "out", "--seeds", "0,1", HANG="1")
    wait(lambda: list(tmp_path.glob("out/*/child.pid")))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert collective(tmp_path / "out")[1].status == "interrupted"
    assert sorted(run.status for run in runs(tmp_path / "out")) == ["interrupted", "ok"]
    [file] = tmp_path.glob("out/*/child.pid")
    wait(lambda: not is_alive(int(file.read_text())), 5)
    done = command("compare", "good", "--out", "out", "--seeds", "0,1")
    assert done.returncode == 0, done.stderr
    assert "1 of 2 runs are there already" in done.stderr
    assert [run.status for run in runs(tmp_path / "out")] == ["ok", "ok"]


def test_methods_on_other_inputs_are_in_tables_of_their_own(again: Command) -> None:
    rewrite(again.folder / "out", "good", lambda record: {"inputs": {"data": "b" * 64}})
    done = again("compare", "good,bad", *OPTIONS)
    assert done.returncode == 0, done.stderr
    groups = result(again)["groups"]
    assert [(methods(group), group["reference"]) for group in groups] == [(["good"], "sgd"), (["bad"], "sgd")]
    assert "final_loss ↓ on data (bbbbbbbb)" in done.stdout


def test_inputs_that_change_with_the_seed_stay_together(again: Command) -> None:
    for name in ("good", "bad"):
        rewrite(again.folder / "out", name, lambda record: {"inputs": {"split": f"{record.seed}" * 64}})
    again("compare", "good,bad", *OPTIONS)
    [group] = result(again)["groups"]
    assert (methods(group), group["input"]) == (["bad", "good"], "split (per seed)")


def test_methods_that_do_not_declare_their_input_are_apart(again: Command) -> None:
    for name in ("good", "bad"):
        rewrite(again.folder / "out", name, lambda record: {"inputs": {}})
    done = again("compare", "good,bad", *OPTIONS)
    assert [methods(group) for group in result(again)["groups"]] == [["good"], ["bad"]]
    assert "do not say what their input was" in done.stdout


def test_values_in_another_unit_are_left_out(again: Command) -> None:
    milliseconds = {"value": 450.0, "unit": "ms", "higher_is_better": False, "n": None, "stderr": None}
    rewrite(again.folder / "out", "bad", lambda record: {"metrics": {"seconds_per_step": milliseconds}})
    done = again("compare", "good,bad", *OPTIONS)
    assert list(rows(result(again)["groups"][0], "seconds_per_step")) == ["good"]
    assert "bad gives seconds_per_step in ms, not s: left out" in done.stdout


def test_values_that_are_not_finite_are_shown_without_an_interval(again: Command) -> None:
    infinite = {"value": float("inf"), "unit": "1", "higher_is_better": False, "n": None, "stderr": None}
    rewrite(again.folder / "out", "bad", lambda record: {"metrics": {"final_loss": infinite}})
    done = again("compare", "good,bad", *OPTIONS)
    assert done.returncode == 0, done.stderr
    row = rows(result(again)["groups"][0])["bad"]
    assert (row["mean"]["mean"], row["mean"]["low"], row["verdict"]) == ("Infinity", None, "–")
    assert "final_loss of bad: some values are not finite" in done.stdout


def test_runs_of_another_machine_are_merged(again: Command) -> None:
    """``far`` is not installed here; ``good`` has one seed here and the others there."""
    (again.folder / "out").rename(again.folder / "there")
    for folder, record in records(again.folder / "there"):
        if record.method["name"] == "bad":
            method = {**record.method, "name": "far", "package": "iclr26-far"}
            environment = {**record.environment, "device": "cuda (H200)"}
            dataclasses.replace(record, method=method, environment=environment).write(folder)
        elif record.job == "run" and record.seed == 2:
            dataclasses.replace(record, config={**record.config, "data": "iris"}).write(folder)
    done = again("compare", "good,far", *OPTIONS, "--records", "there")
    assert done.returncode == 0, done.stderr
    [group] = result(again)["groups"]
    assert [run.seed for run in runs(again.folder / "out")] == [2]
    assert {len(row["values"]) for row in rows(group).values()} == {3}
    assert rows(group)["far"]["verdict"] == "worse"
    assert "passed over good-run-" in done.stdout
    assert "its configuration is another" in done.stdout
    assert "of several machines: seconds_per_step cannot be compared" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("optimiser",), 2, "no kind or method 'optimiser': did you mean 'optimizer'"),
        (("god,bad",), 3, "no method 'god': did you mean 'good'"),
        (("tracedet",), 3, "pip install iclr26-tracedet"),
        (("agent",), 3, "no agent is installed: pip install iclr26-daac"),
        ((",",), 2, "needs a kind or the names of methods"),
        (("good", "--job", "othr"), 2, "no job 'othr': did you mean 'other'"),
        (("good", "--seeds", "0,x"), 2, "must be whole numbers"),
        (("good", "--seeds", "1,1"), 2, "must be different numbers"),
        (("good", "--timeout", "0"), 2, "must be a number of seconds > 0"),
        (("good", "--records", "nowhere"), 2, "nowhere, which is no folder"),
        (("good", "--", "--dta", "iris"), 2, "good run: unknown option 'dta': did you mean 'data'"),
        (("good", "--", "--seed", "1"), 2, "--seeds before the --"),
        (("good", "--", "--resume"), 2, "--resume is not for the jobs"),
        (("good", *OPTIONS, "--metric", "final_los"), 2, "no run has metric 'final_los': did you mean 'final_loss'"),
        (("good", *OPTIONS, "--baseline", "adm"), 2, "no run has baseline 'adm': did you mean 'adam'"),
    ],
)
def test_what_cannot_be_compared_is_refused(again: Command, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = again("compare", *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(runs(again.folder / "out")) == 6


def test_record_knows_its_parent_only_in_a_comparison(again: Command) -> None:
    again("run", "good", "--out", "alone")
    [(_, record)] = records(again.folder / "alone")
    assert record.parent is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow's own, from SQLAlchemy
def test_mlflow_nests_the_runs_in_the_comparison(tmp_path: Path) -> None:
    """Real sqlite: the runs have the comparison as parent and are in its experiment, where MLflow shows them nested."""
    mlflow = pytest.importorskip("mlflow")
    command = dataclasses.replace(rivals(tmp_path, good=0.3, bad=1.5), variables={"PYTHONWARNINGS": "default"})
    done = command("compare", "good,bad", "--out", "out", "--seeds", "0", "--", "--track", "mlflow")
    assert done.returncode == 0, done.stderr
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/out/mlflow.db")
    named = {experiment.name: experiment.experiment_id for experiment in client.search_experiments()}
    assert named.keys() == {"Default", "iclr26/comparison"}
    found = {run.data.tags["iclr26.name"]: run for run in client.search_runs([named["iclr26/comparison"]])}
    assert found.keys() == {"comparison", "good", "bad"}
    parent = found["comparison"]
    for name in ("good", "bad"):
        assert found[name].data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert found[name].info.status == "FINISHED"
    assert found["good"].data.metrics["final_loss"] == pytest.approx(0.45)
    assert [file.path for file in client.list_artifacts(parent.info.run_id)] == [
        "compare.json", "compare.md", "compare.svg", "record.json",
    ]  # fmt: skip
