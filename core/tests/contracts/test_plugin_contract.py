"""The plugins' contract accepts a package and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from iclr26_core.testing import PluginContract
from verdict import failing, names_of

INIT = '''
"""Tells long texts from short ones."""

def __getattr__(name):
    if name != "LongText":
        raise AttributeError(name)
    from {package}.detector import LongText

    return LongText
'''
PLUGIN = """
from iclr26_core import Job, Method, hookimpl

@hookimpl
def iclr26_methods():
    job = Job(name="score", target="{package}.job:score", config="{package}.config:ScoreConfig", summary="Scores")
    return [
        Method(
            name="{name}", kind="detector", target="{package}:LongText", jobs=(job,), claims="{package}.claims:claims",
            summary="Scores a text by its length", title="Long texts", paper="https://example.org/long",
            baselines=("constant",),
        )
    ]
"""
DETECTOR = '''
class LongText:
    """Scores a text by its length."""

    def fit(self, examples, labels):
        return self

    def score(self, examples):
        return [float(len(example)) for example in examples]
'''
CONFIG = '''
from dataclasses import dataclass

@dataclass(frozen=True)
class ScoreConfig:
    """What to score.

    Args:
        text: the text
        repeat: how often it is repeated
    """

    text: str = "a claim"
    repeat: int = 10
'''
JOB = """
from {package} import LongText

def score(config, run):
    run.input("text", config.text.encode())
    value, = LongText().score([config.text * config.repeat])
    run.metric("length", value)
    run.metric("length", 1.0, of="constant")
"""
CLAIMS = """
from iclr26_core import Claim, Estimate

def claims(run):
    for length in (1, 2):
        yield Claim(
            id=f"longer-{{length}}", statement="Longer texts score higher", paper="always", source="Table 1",
            measured=Estimate(value=1.0, low=1.0, high=1.0, n=1, unit="1"), at_least=0.0, scale=run.scale, seeds=(0,),
        )
"""
FILES = {
    "__init__.py": INIT,
    "plugin.py": PLUGIN,
    "detector.py": DETECTOR,
    "config.py": CONFIG,
    "job.py": JOB,
    "claims.py": CLAIMS,
}
METADATA = "Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
Edits = Mapping[str, tuple[str, str]]


def install(folder: Path, name: str, edits: Edits, *, distribution: str | None = None) -> None:
    """Write a distribution into a folder of the path: its files, with one text in each replaced by another."""
    package = f"plugin_{name.replace('-', '_')}"
    (folder / package).mkdir()
    for file, template in FILES.items():
        old, new = edits.get(file, ("", ""))
        assert old in template
        text = template.replace(old, new, 1) if old else template
        (folder / package / file).write_text(textwrap.dedent(text).format(package=package, name=name))
    distribution = distribution or f"iclr26-{name}"
    info = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(distribution=distribution))
    (info / "entry_points.txt").write_text(f"[iclr26.v1]\n{name} = {package}.plugin\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that this process and those it starts import from; the working folder is another."""
    folder, work = tmp_path / "site", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.chdir(work)
    return folder


README = "test_readme_examples_print_what_the_readme_says"  # see test_readme_examples.py
QUICK = "test_quick_run_leaves_a_record_with_baselines"
RUNS = {QUICK, "test_default_run_works_offline"}
COMMANDS = {*RUNS, "test_every_claim_is_judged", "test_unknown_option_is_refused_with_exit_code_2"}
NETWORK = """run.input("text", __import__("socket").create_connection(("192.0.2.1", 80), 5).recv(1))"""
NETWORK_BY_CODE = """__import__("socket").socket().connect_ex(("192.0.2.1", 80))"""
BROKEN: dict[str, tuple[Edits, set[str]]] = {
    "heavy-plugin": (
        {"plugin.py": ("from iclr26_core", "import numpy\nfrom iclr26_core")},
        {"test_plugin_module_and_package_import_nothing_heavy"},
    ),
    "heavy-package": (
        {"__init__.py": ("def __getattr__", "import numpy\n\ndef __getattr__")},
        {"test_plugin_module_and_package_import_nothing_heavy"},
    ),
    "no-target": (
        {"detector.py": ("class LongText", "class ShortText")},
        {"test_targets_import_and_fulfil_the_kind", QUICK},
    ),
    "no-score": ({"detector.py": ("def score", "def rate")}, {"test_targets_import_and_fulfil_the_kind", QUICK}),
    "no-job": ({"job.py": ("def score", "def rate")}, {"test_targets_import_and_fulfil_the_kind", QUICK}),
    "no-claims-function": (
        {"claims.py": ("def claims", "def claim")},
        {"test_targets_import_and_fulfil_the_kind", "test_every_claim_is_judged"},
    ),
    "no-default": (
        {"config.py": ('text: str = "a claim"', "text: str")},
        {"test_configs_are_documented_dataclasses_with_defaults", QUICK},
    ),
    "undocumented": (
        {"config.py": ("repeat: how often it is repeated", "")},
        {"test_configs_are_documented_dataclasses_with_defaults"},
    ),
    "no-config": (
        {"config.py": ("class ScoreConfig", "class Config")},
        {
            "test_configs_are_documented_dataclasses_with_defaults",
            QUICK,
            "test_unknown_option_is_refused_with_exit_code_2",
        },
    ),
    "no-claims": ({"claims.py": ("in (1, 2)", "in ()")}, {"test_every_claim_is_judged"}),
    "one-claim-twice": ({"claims.py": ("in (1, 2)", "in (1, 1)")}, {"test_every_claim_is_judged"}),
    "network": ({"job.py": ('run.input("text", config.text.encode())', NETWORK)}, RUNS),
    "network-by-code": ({"job.py": ('run.input("text", config.text.encode())', NETWORK_BY_CODE)}, {QUICK}),
    "no-baseline": ({"job.py": ('of="constant"', 'of="other"')}, RUNS),
    "no-metrics": ({"job.py": ('run.metric("length", value)', "")}, RUNS),
    "default-fails": (
        {"job.py": ("value, =", "assert config.repeat < 10\n    value, =")},
        {"test_default_run_works_offline"},
    ),
}


def contract_of(name: str) -> type[PluginContract]:
    return type("Broken", (PluginContract,), {"method": name, "quick": ("--repeat", "2")})


def test_good_plugin_passes_every_test(site: Path, tmp_path: Path) -> None:
    install(site, "good", {})
    assert not failing(contract_of("good"), tmp_path)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_plugin_fails_where_it_is_broken(name: str, site: Path, tmp_path: Path) -> None:
    edits, expected = BROKEN[name]
    install(site, name, edits)
    light = names_of(PluginContract) - COMMANDS
    assert failing(contract_of(name), tmp_path, only=light | expected).keys() == expected


def test_network_is_refused_by_the_kit_and_not_by_chance(site: Path, tmp_path: Path) -> None:
    install(site, "network-again", BROKEN["network"][0])
    failed = failing(contract_of("network-again"), tmp_path, only={"test_quick_run_leaves_a_record_with_baselines"})
    assert "no network in a conformance test" in str(failed)


def test_distribution_of_another_name_is_rejected(site: Path, tmp_path: Path) -> None:
    install(site, "misnamed", {}, distribution="iclr26-other")
    failed = failing(contract_of("misnamed"), tmp_path, only=names_of(PluginContract) - COMMANDS)
    assert failed.keys() == {"test_names_agree_with_distribution_and_registry"}


def test_distribution_of_a_third_party_may_have_any_name(site: Path, tmp_path: Path) -> None:
    install(site, "third", {}, distribution="long-texts")
    assert not failing(contract_of("third"), tmp_path, only=names_of(PluginContract) - COMMANDS)


def test_method_of_another_name_than_its_entry_point_is_rejected(site: Path, tmp_path: Path) -> None:
    install(site, "renamed", {"plugin.py": ('name="{name}"', 'name="other-name"')})
    found = names_of(PluginContract) - COMMANDS - {README}
    assert failing(contract_of("renamed"), tmp_path, only=found).keys() == found


@pytest.mark.parametrize(
    ("registry", "accepted"),
    [
        ('kind = "detector"\nsummary = "Scores a text by its length"\npaper = "https://example.org/long"', True),
        ('kind = "detector"\nsummary = "An older summary"\npaper = "https://example.org/long"', False),
    ],
)
def test_registry_of_the_workspace_has_to_agree(registry: str, accepted: bool, site: Path, tmp_path: Path) -> None:
    name = f"registered-{accepted}".lower()
    install(site, name, {})
    Path("registry.toml").write_text(f"[methods.{name}]\n{registry}\n")
    only = {"test_names_agree_with_distribution_and_registry"}
    assert (not failing(contract_of(name), tmp_path, only=only)) is accepted


def test_every_test_of_the_contract_rejects_something() -> None:
    rejecting: set[Any] = set().union(*(expected for _, expected in BROKEN.values()))
    assert rejecting | {"test_names_agree_with_distribution_and_registry"} == names_of(PluginContract) - {README}
