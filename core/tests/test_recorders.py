"""Recorders: they follow runs through hooks, and one that fails is reported and never ends a run."""

import json

import pytest
from iclr26_core import Plugins, execute, record
from iclr26_core.options import Options

FOLLOWER = """
from iclr26_core import hookimpl
seen = []
@hookimpl
def iclr26_run_started(run): seen.append(("started", run.record.run_id, run.record.status))
@hookimpl
def iclr26_run_metrics(run, step, metrics): seen.append(("metrics", step, dict(metrics)))
@hookimpl
def iclr26_claim_judged(run, claim): seen.append(("claim", claim.id, claim.verdict))
@hookimpl
def iclr26_run_finished(run): seen.append(("finished", run.record.status, run.record.wall_s > 0))
"""
HOOKS = {
    "iclr26_run_started": "run",
    "iclr26_run_metrics": "step",
    "iclr26_claim_judged": "claim",
    "iclr26_run_finished": "run",
}


def failing(hook: str, how: str) -> str:
    return f"from iclr26_core import hookimpl\n@hookimpl\ndef {hook}({HOOKS[hook]}):\n    {how}\n"


@pytest.fixture
def minimise(descent_here, imported):
    def run(**fields) -> record.Record:
        config = execute.load_target("descent.work:Minimise")(**fields)
        return execute.run_job("descent", "minimise", config, options=Options(device="cpu"), among=Plugins())

    return run


def test_a_third_partys_recorder_follows_a_run_and_a_reproduction(minimise, install):
    import importlib

    module = install("follower", FOLLOWER)
    ran = minimise(steps=2)
    seen = importlib.import_module(f"{module}.plugin").seen
    assert [event[0] for event in seen] == ["started", "metrics", "metrics", "finished"]
    assert seen[0] == ("started", ran.run_id, "interrupted")
    assert seen[1][1:] == (0, {"loss": pytest.approx(0.64)})
    assert seen[-1] == ("finished", "ok", True)
    seen.clear()
    execute.reproduce("descent", options=Options(device="cpu"), among=Plugins())
    assert [event[1:] for event in seen[1:-1]] == [
        ("above", "holds"),
        ("well-above", "fails"),
        ("large", "not testable here"),
    ]


def test_a_recorder_hears_of_failure_and_of_interruption(minimise, install):
    import importlib

    module = install("follower", FOLLOWER)
    with pytest.raises(RuntimeError):
        minimise(fail=True)
    seen = importlib.import_module(f"{module}.plugin").seen
    assert seen[-1] == ("finished", "failed", True)


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook != "iclr26_claim_judged"])
@pytest.mark.parametrize("how", ["raise RuntimeError('no disk')", "raise SystemExit(0)"])
def test_a_recorder_that_fails_is_reported_and_the_run_ends_ok(hook, how, minimise, install, caplog):
    module = install("culprit", failing(hook, how))
    ran = minimise(steps=2)
    kept = record.read(Options().out / ran.run_id)
    assert (ran.status, kept.status, len(kept.metrics)) == ("ok", "ok", 2)
    steps = (Options().out / ran.run_id / "steps.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in steps] == [0, 1]
    messages = [line.getMessage() for line in caplog.records]
    assert len(messages) == (2 if hook == "iclr26_run_metrics" else 1)
    error = "RuntimeError: no disk" if "Runtime" in how else "SystemExit: 0"
    assert messages[0] == f"recorder {module}.plugin failed in {hook}: {error}"


def test_a_recorder_that_fails_at_a_claim_costs_no_claim(descent_here, imported, install, caplog):
    install("culprit", failing("iclr26_claim_judged", "raise ValueError(claim.id)"))
    ran = execute.reproduce("descent", options=Options(device="cpu"), among=Plugins())
    assert (ran.status, len(ran.claims)) == ("ok", 3)
    assert [line.getMessage().rpartition(": ")[2] for line in caplog.records] == ["above", "well-above", "large"]


def test_a_recorder_that_fails_at_the_start_is_left_out_of_the_rest(minimise, install, caplog):
    source = FOLLOWER.replace("def iclr26_run_started(run): ", "def iclr26_run_started(run): 1 / 0; ")
    module = install("culprit", source)
    minimise(steps=50)
    import importlib

    assert importlib.import_module(f"{module}.plugin").seen == []
    assert len(caplog.records) == 1


def test_the_command_reports_a_failing_recorder_on_stderr(descent, descent_site, site, install, tmp_path):
    install("culprit", failing("iclr26_run_finished", "raise RuntimeError('no disk')"))
    done = descent("run", "descent", PYTHONPATH=f"{descent_site}:{site}")
    assert done.returncode == 0
    assert "iclr26: recorder iclr26_culprit.plugin failed in iclr26_run_finished: RuntimeError: no disk" in done.stderr
    assert "iclr26" not in done.stdout


def test_keyboard_interrupt_in_a_recorder_interrupts_the_run(minimise, install):
    install("culprit", failing("iclr26_run_metrics", "raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        minimise()
    ((_, left),) = record.records(Options().out)
    assert left.status == "interrupted"


def test_an_interruption_while_recorders_start_leaves_a_finished_record(minimise, install):
    install("culprit", failing("iclr26_run_started", "raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        minimise()
    ((_, left),) = record.records(Options().out)
    assert left.status == "interrupted"
    assert left.wall_s is not None
