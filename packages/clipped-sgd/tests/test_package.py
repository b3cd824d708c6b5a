"""The package as a whole: lazy import, public names, the trainer check, and the examples in docstrings."""

import doctest
import importlib
import subprocess
import sys
from types import SimpleNamespace

import iclr26_clipped_sgd
import pytest
from iclr26_clipped_sgd import check_trainer_args

MODULES = [
    "averaging",
    "baselines",
    "clipped_sgd",
    "tails.noise",
    "schedules.practical",
    "simulation.problems",
    "schedules.schedule",
    "tails.tail",
]


def test_importing_the_package_loads_no_heavy_module():
    code = "import sys, iclr26_clipped_sgd; print([m for m in ('torch','numpy','scipy','sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_every_public_name_loads_and_is_listed():
    for name in iclr26_clipped_sgd.__all__:
        assert getattr(iclr26_clipped_sgd, name).__doc__
    assert set(iclr26_clipped_sgd.__all__) <= set(dir(iclr26_clipped_sgd))
    assert iclr26_clipped_sgd.__all__ == sorted(iclr26_clipped_sgd._HOMES)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        iclr26_clipped_sgd.nothing  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    module = importlib.import_module(f"iclr26_clipped_sgd.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0


def test_trainer_arguments_must_not_clip():
    with pytest.raises(ValueError, match=r"max_grad_norm must be 0 or None \(got 1.0\)"):
        check_trainer_args(SimpleNamespace(max_grad_norm=1.0))
    for harmless in (0.0, None):
        check_trainer_args(SimpleNamespace(max_grad_norm=harmless))
