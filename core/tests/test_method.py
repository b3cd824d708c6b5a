"""The descriptor: every field is checked, and the refusal names it and its value."""

import dataclasses

import pytest
from iclr26_core import KINDS, Job, Method
from iclr26_core.errors import MethodNotFound, PluginError, UsageError
from iclr26_core.method import load_target

JOB = {"name": "train", "target": "package.job:train", "config": "package.config:Train"}
METHOD = {
    "name": "clipped-sgd",
    "kind": "optimizer",
    "target": "package:ClippedSGD",
    "jobs": (Job(**JOB), Job(**{**JOB, "name": "tail"})),
    "claims": "package.claims:claims",
    "summary": "One line",
    "title": "A title",
    "paper": "https://example.org",
}
NAMES = ["", "Clipped", "clipped_sgd", "clipped sgd", "-clipped", "clipped-", "a--b", None, 3, "méthode"]
TARGETS = ["", "package", "package:", ":name", "package.name", "package:a.b", "pack-age:a", "a:b:c", None, 3, "a:b\n"]
LINES = ["", None, 3, "two\nlines", b"bytes"]
TUPLES = ["text", ["a"], None, (3,), ("",), ("two\nlines",)]
WRONG_METHOD = {
    "name": NAMES,
    "kind": ["optimiser", "", None, ["optimizer"]],
    "target": TARGETS,
    "jobs": [(), [Job(**JOB)], (JOB,), None, (Job(**JOB), Job(**JOB))],
    "claims": TARGETS,
    "summary": LINES,
    "title": LINES,
    "paper": LINES,
    "accepts": TUPLES,
    "gpu": ["yes", "", None, True],
    "baselines": TUPLES,
    "tags": TUPLES,
    "status": ["beta", "", None],
}
WRONG_JOB = {
    "name": NAMES,
    "target": TARGETS,
    "config": TARGETS,
    "summary": ["two\nlines", None, 3],
    "resumable": ["no", None, 1],
}


def each(wrong):
    return [(field, value) for field, values in wrong.items() for value in values]


@pytest.mark.parametrize(("field", "value"), each(WRONG_METHOD))
def test_a_wrong_field_of_a_method_is_named_with_its_value(field, value):
    with pytest.raises(ValueError) as caught:
        Method(**{**METHOD, field: value})
    assert f"Method.{field}" in str(caught.value)
    if field != "jobs" or not value:
        assert f"got {value!r}" in str(caught.value) or f"got {value[0]!r}" in str(caught.value)


@pytest.mark.parametrize(("field", "value"), each(WRONG_JOB))
def test_a_wrong_field_of_a_job_is_named_with_its_value(field, value):
    with pytest.raises(ValueError) as caught:
        Job(**{**JOB, field: value})
    assert f"Job.{field}" in str(caught.value)
    assert f"got {value!r}" in str(caught.value)


def test_every_field_has_a_wrong_value_above():
    assert set(WRONG_METHOD) == {field.name for field in dataclasses.fields(Method)}
    assert set(WRONG_JOB) == {field.name for field in dataclasses.fields(Job)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_accepted(kind):
    assert Method(**{**METHOD, "kind": kind}).kind == kind


def test_a_close_kind_is_suggested():
    with pytest.raises(ValueError, match="did you mean 'optimizer'"):
        Method(**{**METHOD, "kind": "optimiser"})


def test_fields_are_keywords_and_frozen():
    method = Method(**METHOD)
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.name = "other"
    with pytest.raises(TypeError):
        Method("clipped-sgd", "optimizer")
    assert hash(method) == hash(Method(**METHOD))


def test_the_first_job_is_the_default():
    method = Method(**METHOD)
    assert method.job() is method.jobs[0]
    assert method.job("tail") is method.jobs[1]
    with pytest.raises(UsageError, match="clipped-sgd has no job 'tial': did you mean 'tail'"):
        method.job("tial")
    with pytest.raises(UsageError, match="it has train, tail"):
        method.job("zzz")


def test_load_returns_what_the_target_names():
    assert Method(**{**METHOD, "target": "iclr26_core.method:Method"}).load() is Method


def test_a_target_that_is_not_there_names_the_closest():
    with pytest.raises(MethodNotFound, match=r"iclr26_core\.method has no 'Metod': did you mean 'Method'"):
        load_target("iclr26_core.method:Metod")
    with pytest.raises(PluginError, match="no_such_module cannot be imported: ModuleNotFoundError") as caught:
        load_target("no_such_module:name")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_missing_extra_met_at_import_keeps_its_pip_command(imported, install, site):
    from iclr26_core.errors import MissingExtra

    module = install("plots")
    (site / module / "work.py").write_text(
        "from iclr26_core.errors import MissingExtra\n"
        "raise MissingExtra('matplotlib', package='iclr26-plots', extra='plot')"
    )
    with pytest.raises(MissingExtra, match=r"matplotlib is not installed: pip install 'iclr26-plots\[plot\]'"):
        load_target(f"{module}.work:run")
