"""The package as its user meets it: discovery, the default job, exported names."""

import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path

import iclr26_riemannian_fw
import pytest
from iclr26_core.testing import PluginContract


class TestRiemannianFW(PluginContract):
    method = "riemannian-fw"
    # five cities around Brussels instead of 3376 airports, which test_job runs in process and the slow test by default
    quick = (
        "--tables=no",
        f"--objective.data={Path(__file__).parent / 'cities.csv'}",
        "--set.center=[0.6303, 0.0481, 0.7749]",
        "--set.radius=0.05",
    )


def test_every_exported_name_exists_and_nothing_else_is_offered():
    assert iclr26_riemannian_fw.__all__ == sorted(iclr26_riemannian_fw.__all__)
    for name in iclr26_riemannian_fw.__all__:
        assert getattr(iclr26_riemannian_fw, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'minimise'"):
        _ = iclr26_riemannian_fw.minimise


@pytest.mark.parametrize("name", ["frank_wolfe", "optimizer", "feasible.sets"])
def test_examples_in_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(f"iclr26_riemannian_fw.{name}"))
    assert result.failed == 0
    assert result.attempted > 0


def run(tmp_path, *options):
    command = [sys.executable, "-m", "iclr26_core.cli", "run", "riemannian-fw", "--out", str(tmp_path), *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_command_line_exits_with_one_when_it_does_not_converge(tmp_path):
    options = ("--tables", "no", "--solver.step", "open-loop", "--solver.max_iter", "1", "--solver.tol", "1e-12")
    done = run(tmp_path, *options, "--baselines", "[]")
    assert done.returncode == 1, done.stderr
    assert "raise solver.max_iter or solver.tol" in done.stderr
    (record,) = tmp_path.glob("*/record.json")
    assert json.loads(record.read_text())["status"] == "failed"
