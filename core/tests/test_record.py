"""The record: strict JSON, written whole or not at all, read only in its own schema."""

import json
import math
import multiprocessing
import os
import stat
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from iclr26_core import Record, execute, record
from iclr26_core.claims import Estimate
from iclr26_core.errors import UsageError
from iclr26_core.folder import is_running
from iclr26_core.method import Job, Method
from iclr26_core.options import Options
from iclr26_core.recorders import notify, recorders
from iclr26_core.run import Run


def new(**fields) -> Record:
    method = {"name": "m", "package": "p", "version": "1"}
    return Record(**{"run_id": "m-j-1", "method": method, "job": "j", "config": {}, "seed": 0, **fields})


def strictly(text: str):
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def run(tmp_path) -> Iterator[Run]:
    """A run outside of any command, as a host application would make one."""
    from iclr26_core.hooks import manager

    job = Job(name="j", target="a:b", config="a:b")
    method = Method(
        name="m", kind="detector", target="a:b", jobs=(job,), claims="a:b", summary="s", title="t", paper="p"
    )
    options = Options(out=tmp_path, device="cpu")
    followers = recorders(options, manager())
    made = Run(method=method, record=new(), out=tmp_path, options=options, recorders=followers)
    yield made
    notify(followers, "iclr26_run_finished", run=made)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.1, 1e-300, 1.7976931348623157e308, 0.0, -0.0])
def test_every_metric_survives_strict_json(value, run, tmp_path):
    run.metric("m", value, stderr=value)
    run.metric("m", value, of="baseline")
    run.log(0, m=value)
    run.record.write(tmp_path)
    content = strictly((tmp_path / "record.json").read_text())
    line = strictly((tmp_path / "steps.jsonl").read_text())
    kept = [
        content["metrics"]["m"]["value"],
        content["metrics"]["m"]["stderr"],
        content["baselines"]["baseline"]["m"]["value"],
        line["m"],
    ]
    for number in map(float, kept):
        assert (math.isnan(number) and math.isnan(value)) or number == value
    assert record.read(tmp_path).metrics == content["metrics"]


def test_what_was_written_is_read_back(tmp_path):
    written = new(
        config={"path": Path("a/b"), "pair": (1, 2), "nested": {"x": [math.inf, None, True, "é"]}},
        claims=[{"id": "c"}],
        error={"type": "E", "message": "m \udcff", "traceback": "t"},
        status="failed",
        wall_s=1.5,
    )
    written.write(tmp_path)
    again = record.read(tmp_path)
    assert again.config == {"path": "a/b", "pair": [1, 2], "nested": {"x": ["Infinity", None, True, "é"]}}
    assert again.error == written.error
    again.write(tmp_path)
    assert vars(record.read(tmp_path)) == vars(again)


class Scalar:
    """What numpy's and torch's scalars have in common."""

    def __init__(self, value) -> None:
        self.value = value

    def item(self):
        return self.value

    def __float__(self) -> float:
        return float(self.value)


def test_scalars_of_numerical_libraries_are_kept_as_numbers(tmp_path):
    numpy = pytest.importorskip("numpy")
    claim = Estimate(value=numpy.float32(0.5), low=numpy.float32(0.5), high=numpy.float64(0.5), n=numpy.int64(3))
    written = new(claims=[{"measured": vars(claim), "seeds": (numpy.int64(1),), "flag": numpy.bool_(True)}])
    written.write(tmp_path)
    measured = {"value": 0.5, "low": 0.5, "high": 0.5, "n": 3, "unit": "1", "interval": "95 %"}
    assert record.read(tmp_path).claims == [{"measured": measured, "seeds": [1], "flag": True}]


def test_a_scalar_is_a_number_in_steps_and_metrics(run, tmp_path):
    run.log(Scalar(3), loss=Scalar(0.5))
    run.metric("loss", Scalar(math.nan), n=3)
    assert strictly((tmp_path / "steps.jsonl").read_text()) == {"step": 3, "loss": 0.5}
    assert strictly(record.to_json(run.record.metrics))["loss"]["value"] == "NaN"


def test_what_json_cannot_hold_is_refused_and_leaves_the_old_record(tmp_path):
    new(seed=1).write(tmp_path)
    with pytest.raises(TypeError, match="Fraction is not JSON serializable"):
        new(seed=2, config={"x": Fraction(1, 3)}).write(tmp_path)
    assert record.read(tmp_path).seed == 1
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]


def rewrite(folder: Path) -> None:
    for seed in range(200):
        new(seed=seed, config={"text": "x" * (1000 * (seed % 7))}).write(folder)


def test_a_reader_never_sees_half_a_record(tmp_path):
    new(seed=0).write(tmp_path)
    writer = multiprocessing.get_context("fork").Process(target=rewrite, args=(tmp_path,))
    writer.start()
    seen = set()
    while writer.is_alive():
        text = (tmp_path / "record.json").read_text()
        content = strictly(text)
        assert len(content["config"].get("text", "")) in (0, 1000 * (content["seed"] % 7))
        seen.add(content["seed"])
    writer.join()
    assert writer.exitcode == 0
    assert len(seen) > 5
    assert record.read(tmp_path).seed == 199
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path):
    record.write_atomically(tmp_path / "file", "old")
    with pytest.raises(TypeError):
        record.write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_umask_decides_who_may_read(tmp_path):
    before = os.umask(0o027)
    try:
        new().write(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "record.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("content", [{"schema": "iclr26.record.v2"}, {}, [], [1], "text", None, 3])
def test_another_schema_is_refused_and_passed_over_in_a_listing(content, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "record.json").write_text(json.dumps(content))
    new().write(tmp_path / "b")
    with pytest.raises(ValueError, match=r"has schema .*, this core reads 'iclr26.record.v1'"):
        record.read(tmp_path / "a")
    assert [folder.name for folder, _ in record.records(tmp_path)] == ["b"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"schema": "iclr26.record.v1"}'])
def test_a_broken_record_is_passed_over_in_a_listing(content, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "record.json").write_bytes(content)
    (tmp_path / "c").mkdir()
    (tmp_path / "file").touch()
    assert record.records(tmp_path) == []
    assert record.records(tmp_path / "not there") == []


def test_fields_of_a_later_core_are_passed_over(tmp_path):
    content = {**vars(new()), "new_field": 1}
    (tmp_path / "record.json").write_text(json.dumps(content))
    assert vars(record.read(tmp_path)) == vars(new(started_at=content["started_at"]))


def test_records_are_listed_oldest_first_also_within_a_second(tmp_path):
    ids = [f"run-{name}" for name in "zyxw"]
    for run_id in ids:
        (tmp_path / run_id).mkdir()
        new(run_id=run_id).write(tmp_path / run_id)
        multiprocessing.Event().wait(0.002)
    assert [one.run_id for _, one in record.records(tmp_path)] == ids


def test_run_ids_differ_and_name_method_and_job():
    ids = {record.new_run_id("clipped-sgd", "train") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(one.startswith("clipped-sgd-train-2") for one in ids)


def test_same_work_is_method_job_config_and_seed():
    one = new(config={"x": math.nan, "pair": (1, 2), "path": Path("a")})
    assert one.same_work(new(config={"x": "NaN", "pair": [1, 2], "path": "a"}))
    assert not one.same_work(new(config={"x": math.inf, "pair": (1, 2), "path": Path("a")}))
    assert not new().same_work(new(seed=1))
    assert not new().same_work(new(job="k"))
    assert not new().same_work(new(method={"name": "n", "package": "p", "version": "1"}))
    assert new().same_work(new(method={"name": "m", "package": "p", "version": "2"}))


def test_an_artifact_is_a_file_below_the_runs_folder(run, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").touch()
    for path in ("sub/a.txt", Path("sub") / "a.txt", tmp_path / "sub" / "a.txt", "sub/../sub/a.txt"):
        assert run.artifact(path).samefile(tmp_path / "sub" / "a.txt")
    assert run.record.artifacts == ["sub/a.txt"]
    (tmp_path.parent / "outside.txt").touch()
    (tmp_path / "link").symlink_to(tmp_path.parent / "outside.txt")
    for path in ("missing.txt", "sub", "../outside.txt", tmp_path.parent / "outside.txt", "link"):
        with pytest.raises(UsageError, match="an artifact must be a file below the run's folder"):
            run.artifact(path)


def test_a_device_that_is_not_there_is_refused(run):
    pytest.importorskip("torch")
    run.chosen_device = "no-such-device"
    with pytest.raises(UsageError, match="--device no-such-device cannot be used"):
        run.device  # noqa: B018
    run.chosen_device = "cpu"
    assert run.device == "cpu"


def test_a_folder_without_a_lock_is_not_running(tmp_path):
    assert not is_running(tmp_path)
    assert not is_running(tmp_path / "not there")


def test_a_config_that_json_cannot_hold_is_refused_before_the_work(imported, install, site):
    module = install("odd")
    (site / module / "work.py").write_text(
        "import dataclasses, fractions\n"
        "@dataclasses.dataclass\nclass Config:\n    x: object = fractions.Fraction(1, 3)\n"
        "def run(config, run): raise AssertionError('it began')"
    )
    from iclr26_core import Plugins

    out = site.parent / "runs"
    with pytest.raises(TypeError, match="Fraction is not JSON serializable"):
        execute.run_job("odd", options=Options(out=out), among=Plugins())
    assert list(out.iterdir()) == []
