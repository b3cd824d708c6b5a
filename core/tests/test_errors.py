"""Errors: one tree, drawn in its docstring, every class with its exit code."""

import inspect
import re

import pytest
from iclr26_core import errors
from iclr26_core.errors import Iclr26Error, Interrupted, MissingExtra, did_you_mean

CLASSES = {name: one for name, one in inspect.getmembers(errors, inspect.isclass) if one.__module__ == errors.__name__}
BUILT_INS = {
    "UsageError": ValueError,
    "ConfigError": ValueError,
    "OutputError": OSError,
    "MethodNotFound": LookupError,
    "MissingExtra": ImportError,
    "ClaimError": ValueError,
    "Interrupted": KeyboardInterrupt,
}


def drawn() -> dict[str, int]:
    """Return the names and exit codes of the tree in the module's docstring."""
    return {name: int(code) for name, code in re.findall(r"([A-Z]\w+) (?:\(\w+\))? *(\d) ", errors.__doc__)}


def test_the_drawn_tree_is_the_tree():
    assert drawn() == {name: one.exit_code for name, one in CLASSES.items()}


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_has_an_exit_code_and_one_root(name):
    assert CLASSES[name].exit_code in (1, 2, 3)
    assert issubclass(CLASSES[name], (Iclr26Error, Interrupted))
    assert not issubclass(Interrupted, Exception)  # so that a job's `except Exception` lets an interruption through


@pytest.mark.parametrize(("name", "built_in"), BUILT_INS.items())
def test_errors_are_subclasses_of_the_built_in_that_fits(name, built_in):
    assert issubclass(CLASSES[name], built_in)


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"MissingExtra", "Interrupted"}))
def test_the_command_exits_with_the_errors_code_and_prints_one_line(name, monkeypatch, capsys):
    from iclr26_core import cli, commands

    def failing(parsed):
        raise CLASSES[name]("what is wrong (got this): what is right")

    monkeypatch.setattr(commands, "doctor", failing)
    assert cli.main(["doctor"]) == CLASSES[name].exit_code
    assert capsys.readouterr().err == f"iclr26: {name}: what is wrong (got this): what is right\n"


def test_a_missing_extra_prints_the_pip_command():
    error = MissingExtra("matplotlib", package="iclr26-clipped-sgd", extra="plot")
    assert str(error) == "matplotlib is not installed: pip install 'iclr26-clipped-sgd[plot]'"
    assert (error.module, error.package, error.extra) == ("matplotlib", "iclr26-clipped-sgd", "plot")


def test_the_closest_names_are_suggested_closest_first():
    assert did_you_mean("tracdet", ["vas", "tracedet", "tgmm"]) == ": did you mean 'tracedet'?"
    assert did_you_mean("latr", ["later", "lata"]).startswith(": did you mean 'later' or 'lata'")
    assert did_you_mean("zzz", ["vas"]) == ""
    assert did_you_mean("x", []) == ""
