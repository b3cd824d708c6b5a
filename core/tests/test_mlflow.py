"""The MLflow recorder against real stores; MLflow takes seconds to import, so one subprocess does it all."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a dozen commands that import MLflow, and the first schema of several stores

SESSION = """
import contextlib, io, json, os, signal, sys, threading, time
from pathlib import Path
from iclr26_core import cli
from mlflow import MlflowClient

home = Path({home!r})

def run(*arguments, **variables):
    os.environ.update(variables)
    os.chdir(home)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            return cli.main(list(arguments))
        finally:
            for name in variables:
                del os.environ[name]

def interrupt_when_logging(out):
    while not list(out.glob("*/steps.jsonl")):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)

def both_at_once(seed):
    os._exit(run("run", "descent", "--track", "mlflow", "--out", "main", "--steps", "5", "--seed", str(seed + 1)))

codes = {{}}
children = [os.fork() or both_at_once(seed) for seed in range(2)]
codes["race"] = [os.waitpid(one, 0)[1] for one in children]
codes["ok"] = run("run", "descent", "--track", "mlflow", "--out", "main", "--steps", "2500", "--label", "l" * 7000)
codes["failed"] = run("run", "descent", "--out", "main", "--fail", ICLR26_TRACK="mlflow")
codes["reproduce"] = run("reproduce", "descent", "--track", "mlflow", "--out", "main")
codes["variable"] = run("run", "descent", "--track", "mlflow", "--out", "other",
                        MLFLOW_TRACKING_URI=f"sqlite:///{{home}}/main/mlflow.db")
codes["option"] = run("run", "descent", "--track", "mlflow", "--out", "other", "--tracking-uri",
                      f"sqlite:///{{home}}/main/mlflow.db", MLFLOW_TRACKING_URI="bogus://nowhere")
codes["bogus"] = run("run", "descent", "--track", "mlflow", "--out", "bogus", "--tracking-uri", "bogus://nowhere")
threading.Thread(target=interrupt_when_logging, args=(home / "stopped",), daemon=True).start()
codes["interrupted"] = run("run", "descent", "--track", "mlflow", "--out", "stopped", "--steps", "100000",
                           "--pause", "0.01", "--tracking-uri", f"sqlite:///{{home}}/main/mlflow.db")

client = MlflowClient(tracking_uri=f"sqlite:///{{home}}/main/mlflow.db")
(experiment,) = client.search_experiments(filter_string="name LIKE 'iclr26/%'")
runs = []
for one in client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"]):
    files = [file.path for folder in (None, "plots") for file in client.list_artifacts(one.info.run_id, folder)]
    history = [(m.step, m.value) for m in client.get_metric_history(one.info.run_id, "loss")]
    runs.append(dict(id=one.info.run_id, name=one.info.run_name, status=one.info.status, params=one.data.params,
                     metrics=one.data.metrics, tags=one.data.tags, files=files, history=history))
print(json.dumps(dict(codes=codes, experiment=experiment.name, runs=runs)))
"""


@pytest.fixture(scope="module")
def session(descent_site, tmp_path_factory, command_of) -> dict:
    home = tmp_path_factory.mktemp("mlflow")
    done = command_of(descent_site, home).python(SESSION.format(home=str(home)), PYTHONWARNINGS="default")
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout.splitlines()[-1]), "home": home, "stderr": done.stderr}


@pytest.fixture(scope="module")
def runs(session) -> dict[str, dict]:
    names = ["race 1", "race 2", "ok", "failed", "reproduce", "claim 1", "claim 2", "claim 3"]
    return dict(zip([*names, "variable", "option", "interrupted"], session["runs"], strict=True))


def test_every_command_ends_with_its_code(session):
    expected = {"ok": 0, "failed": 1, "reproduce": 0, "variable": 0, "option": 0, "bogus": 0, "interrupted": 1}
    assert session["codes"] == {**expected, "race": [0, 0]}, session["stderr"]


def test_the_default_store_is_sqlite_below_out_with_its_artifacts(session, runs):
    assert session["experiment"] == "iclr26/descent"
    assert list((session["home"] / "main" / "mlartifacts").rglob("record.json"))
    assert not (session["home"] / "mlruns").exists()


def test_the_option_wins_over_the_variable_and_the_variable_over_the_default(session, runs):
    assert runs["variable"]["status"] == runs["option"]["status"] == "FINISHED"
    assert len(list((session["home"] / "other").glob("*/record.json"))) == 2
    assert not (session["home"] / "other" / "mlflow.db").exists()


def test_two_first_runs_at_once_make_one_store(runs):
    race = [runs["race 1"], runs["race 2"]]
    assert [run["status"] for run in race] == ["FINISHED", "FINISHED"]
    assert {run["params"]["seed"] for run in race} == {"1", "2"}


def test_config_seed_and_method_are_parameters_and_tags(runs):
    params, tags = runs["ok"]["params"], runs["ok"]["tags"]
    assert params["steps"] == "2500"
    assert params["start.x"] == "1.0"
    assert params["variants.1.name"] == "heavy"
    assert params["clip"] == "inf"
    assert params["seed"] == "0"
    assert params["label"] == "l" * 6000  # MLflow's limit
    assert (tags["iclr26.package"], tags["iclr26.version"], tags["iclr26.job"]) == ("iclr26-descent", "1.0", "minimise")
    assert tags["iclr26.run_id"] == runs["ok"]["name"]


def test_all_steps_arrive_in_batches_of_at_most_1000(runs):
    history = runs["ok"]["history"]
    assert [step for step, _ in history] == [*range(2500), 2499]  # the steps, then the result at the last of them
    assert dict(history)[1] == pytest.approx(0.8**4)


def test_the_result_is_what_mlflow_shows(runs):
    metrics = runs["race 1"]["metrics"]
    assert metrics["loss"] == pytest.approx(0.8**10)
    assert metrics["seconds"] == 0.25
    assert metrics["momentum/loss"] > 1e300  # MLflow keeps infinity as the largest double
    assert "heavy/loss" in metrics


def test_artifacts_and_the_record_arrive(runs):
    assert sorted(runs["ok"]["files"]) == ["record.json", "x.txt"]


def test_statuses_are_mlflows_own(runs):
    assert runs["ok"]["status"] == "FINISHED"
    assert runs["failed"]["status"] == "FAILED"
    assert runs["failed"]["files"] == ["record.json"]
    assert runs["interrupted"]["status"] == "KILLED"
    assert runs["interrupted"]["history"]


def test_each_claim_is_a_nested_run_with_its_verdict(runs):
    parent, claims = runs["reproduce"], [runs[f"claim {number}"] for number in (1, 2, 3)]
    assert parent["tags"]["iclr26.job"] == "reproduce"
    assert {claim["tags"]["mlflow.parentRunId"] for claim in claims} == {parent["id"]}
    verdicts = {claim["name"]: claim["tags"]["iclr26.verdict"] for claim in claims}
    assert verdicts == {"above": "holds", "well-above": "fails", "large": "not testable here"}
    measured = next(claim["metrics"] for claim in claims if claim["name"] == "above")
    assert measured == {"measured.value": 0.4, "measured.low": 0.3, "measured.high": 0.5}
    assert {claim["status"] for claim in claims} == {"FINISHED"}


def test_a_store_that_cannot_be_reached_is_reported_once_and_the_run_ends_ok(session):
    lines = [line for line in session["stderr"].splitlines() if line.startswith("iclr26: recorder mlflow")]
    assert len(lines) == 1, lines
    assert "bogus" in lines[0]
    (kept,) = (session["home"] / "bogus").glob("*/record.json")
    assert json.loads(kept.read_text())["status"] == "ok"


def test_mlflow_is_imported_only_when_asked_for(descent):
    code = """
        import sys
        from iclr26_core import cli
        assert cli.main(["run", "descent"{more}]) == 0
        print([name for name in ("mlflow", "torch", "numpy") if name in sys.modules])
    """
    assert descent.python(code.format(more="")).stdout.splitlines()[-1] == "[]"


def test_a_missing_mlflow_prints_the_pip_command_before_the_work(descent, tmp_path):
    done = descent.python(f"""
        import sys
        sys.modules["mlflow"] = None  # as if it were not installed
        from iclr26_core import cli
        sys.exit(cli.main(["run", "descent", "--track", "mlflow", "--witness", {str(tmp_path / "begun")!r}]))
    """)
    assert done.returncode == 1
    assert "mlflow is not installed: pip install 'iclr26-core[mlflow]'" in done.stderr
    assert not Path(tmp_path / "begun").exists()
