"""What a user sees: progress on stderr, tables on stdout, on a terminal and off one."""

import os
import pty
import subprocess
import sys

import pytest
from iclr26_core import table
from iclr26_core.progress import progress
from iclr26_core.record import Record

BAR = """
import time
from iclr26_core.progress import progress
for _ in progress(range(40), label="training"):
    time.sleep(0.02)
"""


def new(**fields) -> Record:
    method = {"name": "ours", "package": "p", "version": "1"}
    return Record(run_id="r", method=method, job="j", config={}, seed=0, **fields)


def metric(value: float, **fields) -> dict:
    return {"value": value, "unit": "1", "higher_is_better": None, "n": None, "stderr": None, **fields}


def test_progress_off_a_terminal_is_one_line_per_stage(capsys):
    assert list(progress([1, 2, 3], label="fitting")) == [1, 2, 3]
    assert list(progress(iter("ab"), label="reading", total=2)) == ["a", "b"]
    assert list(progress(iter("ab"), label="reading")) == ["a", "b"]
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[0] == "fitting: 3 steps"
    assert lines[1].startswith("fitting: 3 steps in ")
    assert lines[2] == "reading: 2 steps"
    assert lines[4] == "reading: some steps"
    assert len(lines) == 6


def test_progress_on_a_terminal_is_a_bar_with_rate_and_time_left():
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BAR],
        stderr=theirs,
        stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(ours)
    assert process.communicate()[0] == b""
    assert process.returncode == 0
    text = shown.decode()
    assert "training" in text
    assert "40/40" in text
    assert "/s" in text
    assert "0:00:0" in text


def test_a_table_of_metrics_shows_method_and_baselines_with_units_and_directions(capsys):
    metrics = {"loss": metric(0.123456, higher_is_better=False, stderr=0.01), "time [W]": metric(2, unit="s")}
    kept = new(metrics=metrics, baselines={"sgd": {"loss": metric(float("inf"), higher_is_better=False)}, "none": {}})
    table.print_metrics(kept)
    printed = capsys.readouterr().out
    assert "loss ↓" in printed
    assert "time [W] [s]" in printed
    rows = [line.split() for line in printed.splitlines() if line.strip().startswith(("ours", "sgd", "none"))]
    assert rows == [["ours", "0.1235", "±", "0.01", "2"], ["sgd", "inf", "–"]]


def test_a_table_off_a_terminal_folds_nothing(capsys):
    names = [f"a_metric_with_a_long_name_{number}" for number in range(40)]
    table.print_metrics(new(metrics={name: metric(1.5) for name in names}))
    heading = next(line for line in capsys.readouterr().out.splitlines() if "method" in line)
    assert [name in heading for name in names] == [True] * 40


def test_a_run_without_metrics_prints_no_table(capsys):
    table.print_metrics(new())
    assert capsys.readouterr().out == ""


def test_numbers_are_right_aligned_and_words_are_not(capsys):
    table.print_table(["name", "value", "verdict"], [["a", "1.5", "holds"], ["b", "10.25", "fails"]])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert any("  1.5" in line and line.endswith("holds") for line in lines)


@pytest.mark.parametrize("count", [0, 1])
def test_progress_over_nothing_ends(count, capsys):
    assert list(progress(range(count), label="x")) == list(range(count))
    assert f"x: {count} steps in" in capsys.readouterr().err
