"""The life of a run through the real command: its record whatever happens, its folder, and going on with it."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from iclr26_core import Plugins, execute, folder, record
from iclr26_core.errors import Iclr26Error, OutputError, UsageError
from iclr26_core.options import Options

FREE = 10 * 2**20 - 1
Usage = namedtuple("Usage", ["total", "used", "free"])
LONG = ["--steps", "100000", "--pause", "0.01"]


def strictly(path: Path) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{path} holds {constant}, which is not JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def steps(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]


def only(out: Path) -> Path:
    (found,) = out.glob("*/record.json")
    return found.parent


def test_a_run_leaves_its_record_steps_and_artifacts_and_prints_data_on_stdout_only(descent, tmp_path):
    done = descent("run", "descent", "--seed", "7", "--device", "cpu", "--start.x", "2")
    assert done.returncode == 0
    run = only(tmp_path / "runs")
    content = strictly(run / "record.json")
    assert content["schema"] == "iclr26.record.v1"
    assert content["run_id"] == run.name
    assert content["method"] == {"name": "descent", "package": "iclr26-descent", "version": "1.0"}
    assert (content["job"], content["seed"], content["status"], content["error"]) == ("minimise", 7, "ok", None)
    assert content["config"]["start"] == {"x": 2.0, "y": -1.0}
    assert content["config"]["clip"] == "Infinity"
    loss = content["metrics"]["loss"]
    assert loss == {"value": loss["value"], "unit": "1", "higher_is_better": False, "n": 3, "stderr": 0.01}
    assert loss["value"] == pytest.approx(4 * 0.8**6)
    assert content["baselines"]["momentum"]["loss"]["value"] == "Infinity"
    assert content["baselines"]["heavy"]["loss"]["value"] == "NaN"
    assert content["artifacts"] == ["plots/x.txt"]
    assert content["wall_s"] > 0
    assert content["peak_memory_bytes"] > 2**20
    assert content["environment"]["device"] == "cpu"
    assert [step["step"] for step in steps(run)] == [0, 1, 2]
    assert steps(run)[0]["loss"] == pytest.approx(4 * 0.8**2)

    table = done.stdout
    assert table.startswith("x is small\n")
    for text in (
        "method",
        "loss ↓",
        "seconds [s]",
        "descent",
        "0.25",
        "momentum",
        "inf",
        "heavy",
        "nan",
        "± 0.01",
        "–",
    ):
        assert text in table
    assert "started from step 0" in done.stderr
    assert f"ok: {run / 'record.json'}" in done.stderr

    listed = descent("runs")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert run.name in listed.stdout
    assert json.loads(descent("runs", "--json").stdout)["run_id"] == run.name


def test_signals_leave_interrupted_and_resume_goes_on_in_the_same_folder(descent, tmp_path, wait):
    out = tmp_path / "runs"
    processes = {}
    for number, seed in ((signal.SIGINT, "1"), (signal.SIGTERM, "2"), (signal.SIGKILL, "3")):
        processes[number] = descent.start("run", "descent", *LONG, "--seed", seed)
    wait(lambda: len([path for path in out.glob("*/steps.jsonl") if path.read_text().count("\n") > 5]) == 3)

    runs = {found.seed: (where, found) for where, found in record.records(out)}
    assert {found.status for _, found in runs.values()} == {"interrupted"}
    assert all(folder.is_running(where) for where, _ in runs.values())
    assert descent("runs").stdout.count(" running ") == 3

    for number, process in processes.items():
        process.send_signal(number)
    errors = {number: process.communicate(timeout=60)[1] for number, process in processes.items()}
    codes = {number: process.returncode for number, process in processes.items()}
    assert codes == {signal.SIGINT: 1, signal.SIGTERM: 1, signal.SIGKILL: -signal.SIGKILL}
    assert "iclr26: Interrupted: SIGINT" in errors[signal.SIGINT]
    assert "iclr26: Interrupted: SIGTERM" in errors[signal.SIGTERM]

    ended = {found.seed: found for _, found in record.records(out)}
    assert {found.status for found in ended.values()} == {"interrupted"}
    assert ended[1].wall_s > 0
    assert ended[2].wall_s > 0
    assert ended[3].wall_s is None  # killed without a chance to say so
    assert all(found.environment["python"] for found in ended.values())
    assert not any(folder.is_running(where) for where, _ in runs.values())
    assert "running" not in descent("runs").stdout

    where = runs[3][0]
    before = steps(where)
    strictly(where / "record.json")
    process = descent.start("run", "descent", *LONG, "--seed", "3", "--resume")
    wait(lambda: len(steps(where)) > len(before) + 3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert len(list(out.glob("*/record.json"))) == 3
    logged = [step["step"] for step in steps(where)]
    assert logged[len(before)] >= before[-1]["step"]  # it went on and did not start anew
    assert record.read(where).started_at == runs[3][1].started_at


def test_a_run_that_raises_leaves_failed_with_the_error_and_exits_1(descent, tmp_path):
    done = descent("run", "descent", "--fail")
    assert done.returncode == 1
    assert done.stdout == ""
    content = strictly(only(tmp_path / "runs") / "record.json")
    assert content["status"] == "failed"
    assert content["error"]["type"] == "RuntimeError"
    assert content["error"]["message"] == "the step 3 went wrong: é \udcff"
    assert content["error"]["traceback"].startswith("Traceback (most recent call last):")
    assert "work.py" in content["error"]["traceback"]
    assert content["wall_s"] > 0
    assert "iclr26: RuntimeError: the step 3 went wrong" in done.stderr
    assert "RuntimeError: the step 3 went wrong" in descent("runs", PYTHONIOENCODING="utf-8:replace").stdout


@pytest.mark.parametrize("code", [0, 3])
def test_a_job_that_calls_sys_exit_has_failed(code, descent_here):
    config = execute.load_target("descent.work:Leave")(code=code)
    with pytest.raises(Iclr26Error, match=rf"descent leave called sys.exit\({code}\)"):
        execute.run_job("descent", "leave", config, among=Plugins())
    ((_, left),) = record.records(descent_here)
    assert (left.status, left.error["type"]) == ("failed", "SystemExit")


def test_eight_runs_at_once_into_one_folder_are_all_valid(descent, tmp_path):
    done = descent.python("""
        import os
        from iclr26_core import cli, config, execute, table

        def child(seed):
            os._exit(cli.main(["run", "descent", "--steps", "200", "--seed", str(seed)]))

        children = [os.fork() or child(seed) for seed in range(8)]
        assert [os.waitpid(one, 0)[1] for one in children] == [0] * 8
    """)
    assert done.returncode == 0, done.stderr
    found = record.records(tmp_path / "runs")
    assert sorted(one.seed for _, one in found) == list(range(8))
    for where, one in found:
        strictly(where / "record.json")
        assert one.status == "ok"
        assert [step["step"] for step in steps(where)] == list(range(200))
        assert not list(where.glob(".record.json.*"))


@pytest.fixture
def work(descent_here):
    """Run ``descent minimise`` in this process."""

    def run(*, resume: bool = False, seed: int = 0, **fields) -> record.Record:
        config = execute.load_target("descent.work:Minimise")(**fields)
        options = Options(resume=resume, seed=seed, device="cpu")
        return execute.run_job("descent", "minimise", config, options=options, among=Plugins())

    return run


def unfinished(work, **fields) -> str:
    """Return the id of a new run that failed, made to look like one that was killed before the failure."""
    with pytest.raises(RuntimeError, match="went wrong"):
        work(fail=True, **fields)
    where, left = record.records(Options().out)[-1]
    left.config["fail"], left.status, left.error = False, "interrupted", None
    left.write(where)
    return left.run_id


def test_resume_takes_the_newest_unfinished_run_of_the_same_work(work, capsys):
    ids = [unfinished(work), unfinished(work), unfinished(work, steps=4), unfinished(work, seed=5)]
    assert len(set(ids)) == 4
    assert work(resume=True).run_id == ids[1]
    assert "started from step 3" in capsys.readouterr().err
    assert work(resume=True).run_id == ids[0]
    fresh = work(resume=True).run_id
    assert fresh not in ids
    assert "nothing to resume" in capsys.readouterr().err
    assert work(resume=True, steps=4).run_id == ids[2]
    assert work(resume=True, seed=5).run_id == ids[3]


def test_resume_leaves_a_run_alone_that_is_running(work, descent_here):
    first, second = unfinished(work), unfinished(work)
    with folder.FileLock(descent_here / second / ".lock"):
        assert work(resume=True).run_id == first
        assert work(resume=True).run_id not in (first, second)
    assert work(resume=True).run_id == second


def test_resume_does_not_need_the_process_that_failed_to_be_gone(work):
    """A notebook keeps the exception of a failed run, and with it every frame; the run's lock must be free."""
    with pytest.raises(RuntimeError) as kept:
        work(fail=True)
    ((where, left),) = record.records(Options().out)
    assert not folder.is_running(where)
    with pytest.raises(RuntimeError):
        work(fail=True, resume=True)
    assert [one.run_id for _, one in record.records(Options().out)] == [left.run_id]
    assert kept.value.__traceback__ is not None


def test_a_job_that_cannot_be_resumed_says_which_can(descent_here):
    with pytest.raises(UsageError, match=r"descent leave cannot be resumed \(jobs that can: minimise\)"):
        execute.run_job("descent", "leave", options=Options(resume=True), among=Plugins())
    assert record.records(descent_here) == []


def test_reproduce_cannot_be_resumed(descent):
    done = descent("reproduce", "descent", "--resume")
    assert done.returncode == 2
    assert "reproduce cannot be resumed" in done.stderr


def unwritable(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0o500)
    folders = {"below a file": tmp_path / "file" / "runs", "a file": tmp_path / "file"}
    if Path("/proc/self").exists():
        folders["kernel"] = Path("/proc/self/runs")
    if os.geteuid() != 0:  # root may write anywhere
        folders["read-only"] = tmp_path / "closed"
    return folders


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(work, tmp_path, monkeypatch):
    for out in unwritable(tmp_path).values():
        monkeypatch.setenv("ICLR26_OUT", str(out))
        with pytest.raises(
            OutputError, match=f"cannot write to the output folder {out}: .*: choose another with --out"
        ):
            work(witness=tmp_path / "begun")
    assert not (tmp_path / "begun").exists()


def test_the_command_refuses_a_folder_that_cannot_be_written_with_exit_code_2(descent, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for track in ("none", "mlflow"):
        done = descent(
            "run", "descent", "--out", tmp_path / "file" / "runs", "--witness", tmp_path / "begun", "--track", track
        )
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert "cannot write to the output folder" in line
        assert "choose another with --out" in line
    assert not (tmp_path / "begun").exists()


def test_a_disk_without_a_free_byte_is_refused_before_the_work(descent, descent_site, tmp_path):
    def no_byte() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    command = ["-m", "iclr26_core.cli", "run", "descent", "--steps", "1", "--witness", str(tmp_path / "begun")]
    done = subprocess.run(
        [sys.executable, "-B", *command],
        env=descent.environment(),
        cwd=tmp_path,
        preexec_fn=no_byte,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot write to the output folder" in done.stderr
    assert not (tmp_path / "begun").exists()
    assert list((tmp_path / "runs").iterdir()) == []  # no folder of a run that never was


def test_a_disk_that_is_almost_full_is_refused_before_the_work(work, tmp_path, monkeypatch):
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda path: Usage(2**40, 2**40 - FREE, FREE))
    with pytest.raises(OutputError, match="less than 10 MiB are free"):
        work(witness=tmp_path / "begun")
    assert not (tmp_path / "begun").exists()
    assert list(Options().out.iterdir()) == []


def test_a_folder_that_is_there_already_is_not_touched(work, descent_here, monkeypatch):
    """Should two runs ever draw the same name, the second must not remove the folder of the first."""
    theirs = descent_here / "descent-minimise-taken"
    theirs.mkdir(parents=True)
    (theirs / "record.json").write_text("theirs")
    monkeypatch.setattr(execute, "new_run_id", lambda name, job: theirs.name)
    with pytest.raises(OutputError):
        work()
    assert (theirs / "record.json").read_text() == "theirs"


def test_runs_of_a_folder_that_cannot_be_locked_are_listed(work, descent_here, capsys):
    run_id = unfinished(work)
    left = record.read(descent_here / run_id)
    left.wall_s = None
    left.write(descent_here / run_id)
    (descent_here / run_id / ".lock").unlink()
    (descent_here / run_id / ".lock").mkdir()
    assert not folder.is_running(descent_here / run_id)


def test_a_closed_pipe_ends_the_command_quietly(descent):
    process = descent.start("show", "descent")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 1
    process.stderr.close()


def test_show_names_paper_jobs_and_commands(descent):
    shown = descent("show", "descent")
    assert (shown.returncode, shown.stderr) == (0, "")
    for text in ("descent 1.0 (iclr26-descent), optimizer, stable", "Méthode générale", "minimise a quadratic"):
        assert text in shown.stdout
    assert "(can be resumed)" in shown.stdout
    assert "iclr26 reproduce descent" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "needed"),
    [
        (["run", "descnt"], 3, "did you mean 'descent'"),
        (["show", "tracedet"], 3, "tracedet is not installed: pip install iclr26-tracedet"),
        (["reproduce", "zzzzz"], 3, "there is no method 'zzzzz'"),
        (["run", "descent", "minimize"], 2, "descent has no job 'minimize': did you mean 'minimise'?"),
        (["run", "descent", "zzz"], 2, "it has minimise, leave"),
        (["list", "--kind", "optimiser"], 2, "did you mean 'optimizer'"),
        (["frobnicate"], 2, "invalid choice: 'frobnicate'"),
        (["run"], 2, "NAME"),
        (["run", "descent", "leave", "--resume"], 2, "descent leave cannot be resumed"),
        (["run", "descent", "--device", "cpu", "--no-such-option"], 2, "unknown option 'no_such_option'"),
    ],
)
def test_a_wrong_command_says_what_is_right(arguments, code, needed, descent_site, monkeypatch, capsys):
    from iclr26_core import cli, discovered

    monkeypatch.syspath_prepend(descent_site)
    discovered.cache_clear()
    try:
        got = cli.main(arguments)
    except SystemExit as left:
        got = left.code
    finally:
        discovered.cache_clear()
    assert got == code
    assert needed in capsys.readouterr().err


def test_a_method_whose_job_cannot_be_imported_is_broken(iclr26, install, site, tmp_path):
    module = install("culprit")
    (site / module / "work.py").write_text("import no_such_library")
    done = iclr26("run", "culprit")
    assert done.returncode == 3
    assert done.stderr == (
        f"iclr26: PluginError: {module}.work cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_library'\n"
    )
    (site / module / "work.py").write_text("x = 1")
    done = iclr26("run", "culprit")
    assert done.returncode == 3
    assert f"{module}.work has no 'Config'" in done.stderr


def test_a_config_of_another_class_is_refused(descent_here):
    with pytest.raises(UsageError, match=r"config of descent minimise must be a Minimise \(got \{'steps': 1\}\)"):
        execute.run_job("descent", "minimise", {"steps": 1}, among=Plugins())
