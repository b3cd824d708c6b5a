"""The examples run, and their answers are certified."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
FOUND = {
    "airports": "500.000 km",
    "digits_caps": "all certified to 1e-8: True",
    "poincare_embedding": "(radius 3)",
    "spd_ball_mean": "distance 1.000000 (radius 1)",
    "which_sets_are_strongly_convex": "strongly convex",
}


def test_every_example_is_listed() -> None:
    """One expectation per file."""
    assert sorted(FOUND) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_example_runs_and_its_certificates_are_below_1e_8(name: str) -> None:
    """In a fresh process, as its docstring says; the gap of the embedding is not a certificate."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert FOUND[name] in done.stdout
    certificates = [float(x) for x in re.findall(r"([0-9.e+-]+) \((?:fw-gap-exact|cat0)\)", done.stdout)]
    assert all(value <= 1e-8 for value in certificates)
    assert certificates or name in {"digits_caps", "which_sets_are_strongly_convex"}
