"""The federation's contracts, and the jobs through the command line."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from iclr26_clipped_sgd import ClippedSGD, ConstantSchedule, PowerSchedule
from iclr26_core.record import records
from iclr26_core.testing import OptimizerContract, PluginContract
from iclr26_core.testing.offline import iclr26

PACKAGE = Path(__file__).parents[1]
SMALL = ("--run.K", "60", "--run.reps", "6", "--run.tune_reps", "3", "--run.checkpoints", "5")


class TestPlugin(PluginContract):
    method = "clipped-sgd"
    quick = SMALL


class TestPowerSchedule(OptimizerContract):
    method = "clipped-sgd"

    def make(self, params: list[torch.Tensor]) -> torch.optim.Optimizer:
        return ClippedSGD(params, PowerSchedule(lr=0.5, clip=1.0))


class TestConstantSchedule(OptimizerContract):
    method = "clipped-sgd"

    def make(self, params: list[torch.Tensor]) -> torch.optim.Optimizer:
        return ClippedSGD(params, ConstantSchedule(lr=0.1, clip=1.0))


def the_run(out: Path) -> Path:
    ((folder, record),) = records(out)
    assert record.status == "ok", record.error
    return folder


@pytest.mark.slow
def test_same_seed_gives_the_same_result_file(tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        assert iclr26(tmp_path / name, "run", "clipped-sgd", *SMALL, "--seed", "3").returncode == 0
        texts.append((the_run(tmp_path / name) / "result.json").read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_interrupted_run_resumes_to_the_same_result_file(tmp_path: Path) -> None:
    settings = ("--run.K", "60", "--run.reps", "16", "--run.tune_reps", "3", "--run.checkpoints", "5", "--seed", "3")
    assert iclr26(tmp_path / "whole", "run", "clipped-sgd", *settings).returncode == 0
    whole = the_run(tmp_path / "whole")
    # an interrupted run: its record says so, some blocks are there, results are not
    cut = tmp_path / "cut" / whole.name
    cut.parent.mkdir()
    whole.rename(cut)
    expected = (cut / "result.json").read_bytes()
    record = json.loads((cut / "record.json").read_text())
    (cut / "record.json").write_text(json.dumps(record | {"status": "interrupted", "wall_s": None}))
    for name in ("result.json", "curves.csv", "tuned-adam.json"):
        (cut / name).unlink()
    blocks = sorted((cut / "blocks").glob("*/block-*.npz"))
    kept = {path: path.stat().st_mtime_ns for path in blocks[::2]}
    for path in blocks[1::2]:
        path.unlink()
    assert iclr26(tmp_path / "cut", "run", "clipped-sgd", *settings, "--resume").returncode == 0
    assert the_run(tmp_path / "cut") == cut
    assert (cut / "result.json").read_bytes() == expected
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "finished blocks were computed again"


def test_csv_file_of_the_user_is_trained_on(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(80, 3, generator=generator)
    with (tmp_path / "mine.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["a", "b", "c", "label"])
        rows.writerows([*map(float, row), "yes" if row[0] + row[1] > 0 else "no"] for row in features)
    options = (
        "--problem.name",
        "csv_logistic",
        "--problem.path",
        str(tmp_path / "mine.csv"),
        "--problem.target",
        "label",
    )
    done = iclr26(tmp_path / "out", "run", "clipped-sgd", *options, *SMALL)
    assert done.returncode == 0, done.stderr
    record = json.loads((the_run(tmp_path / "out") / "record.json").read_text())
    assert list(record["inputs"]) == [str(tmp_path / "mine.csv")]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--noise.tail", "1.0"), "noise.tail must be > 1 (got 1.0)"),
        (("--run.delta", "2"), "run.delta must be in (0, 1) (got 2.0)"),
        (("--alpha", "3"), "alpha must be in (1, 2]"),
        (("--problem.name", "csv_logistic"), "csv_logistic needs problem.path"),
        (("--run.rep", "3"), "did you mean 'run.reps'"),
    ],
)
def test_bad_configuration_is_refused_with_exit_code_2(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    done = iclr26(tmp_path, "run", "clipped-sgd", *options)
    assert done.returncode == 2
    assert told in done.stderr


def test_tail_report_of_own_model_finds_the_tail_that_was_put_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mymodel.py").write_text(
        "import torch\n"
        "def make():\n"
        "    model = torch.nn.Linear(8, 1, bias=False)\n"
        "    law = torch.distributions.StudentT(1.5)\n"
        "    torch.manual_seed(0)\n"
        "    batches = [law.sample((8,)) for _ in range(4000)]\n"
        "    return model, (lambda m, b: (m.weight[0] * b).sum()), batches\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = iclr26(
        tmp_path / "out", "run", "clipped-sgd", "tail", "--model", "mymodel:make", "--batches", "4000", "--steps", "0"
    )
    assert done.returncode == 0, done.stderr
    metric = records(tmp_path / "out")[0][1].metrics["tail_index"]
    assert abs(metric["value"] - 1.5) < 3 * metric["stderr"]
    assert "heavy-tailed" in done.stdout


@pytest.mark.slow
def test_example_reproduces_the_table_of_the_specification(tmp_path: Path) -> None:
    config = str(PACKAGE / "examples" / "quadratic_pareto.toml")
    done = iclr26(tmp_path, "run", "clipped-sgd", "simulate", "--config", config)
    assert done.returncode == 0, done.stderr
    methods = json.loads((the_run(tmp_path) / "result.json").read_text())["methods"]
    rows = list(methods.values())
    last = [row["last"]["quantiles"]["0.95"] for row in rows[::2]]
    average = [row["average"]["quantiles"]["0.95"] for row in rows[::2]]
    plain = [row["last"]["quantiles"]["0.95"] for row in rows[1::2]]
    assert last == pytest.approx([9.4e-4, 1.7e-3, 5.8e-3, 4.0e-4, 1.9e-3, 1.04e-3], rel=0.4)
    assert average == pytest.approx([1.40e-3, 6.0e-4, 3.9e-4, 1.32e-2, 8.2e-3, 3.4e-3], rel=0.4)
    for here, there in zip(plain, [4.9e-3, 2.9e-3, 2.8e-2, 3.4e-3, 4.3e-3, 3.6e-2], strict=True):
        assert there / 3 <= here <= there * 3
    for row in (0, 3, 5):
        assert last[row] <= 0.5 * plain[row]
    assert last[0] < average[0]
    assert last[3] < average[3]
    assert average[1] < last[1]
    assert average[2] < last[2]


@pytest.mark.slow
def test_digits_example_reaches_nine_in_ten() -> None:
    done = subprocess.run([sys.executable, str(PACKAGE / "examples" / "digits.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    accuracy = float(done.stdout.partition("test accuracy ")[2].split()[0])
    assert accuracy >= 0.90
