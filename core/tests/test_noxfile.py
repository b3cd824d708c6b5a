"""What the workspace's noxfile decides: which members a change needs, and whether a release has something to say."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def noxfile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_change_in_a_method_needs_that_member_and_the_wheels_and_registry_only(noxfile: ModuleType) -> None:
    chosen = noxfile.affected(["packages/clipped-sgd/src/iclr26_clipped_sgd/noise.py"])
    assert chosen == {"members": ["clipped-sgd"], "sessions": ["registry", "wheels"]}


@pytest.mark.parametrize("path", ["core/src/iclr26_core/run.py", "uv.lock", "pyproject.toml", "noxfile.py", ".ci/run"])
def test_change_in_what_all_share_needs_every_member(noxfile: ModuleType, path: str) -> None:
    assert noxfile.affected([path])["members"] == noxfile.MEMBERS


def test_change_in_the_documentation_needs_nothing(noxfile: ModuleType) -> None:
    assert noxfile.affected(["docs/architecture.md", "README.md"]) == {"members": [], "sessions": []}


def test_unknown_base_needs_everything(noxfile: ModuleType) -> None:
    assert noxfile.changed_since("0" * 40) is None
    assert noxfile.affected(None)["members"] == noxfile.MEMBERS


def test_change_in_a_library_needs_the_members_that_depend_on_it(
    noxfile: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noxfile, "_needs", lambda member: {"iclr26-clipped-sgd"} if member == "core" else set())
    assert noxfile.affected(["packages/clipped-sgd/README.md"])["members"] == ["core", "clipped-sgd"]


@pytest.mark.parametrize(
    ("changelog", "notes"),
    [
        ("# C\n\n## Unreleased\n\n- new\n- more\n\n## 1.0.0\n\n- first\n", "- new\n- more"),
        ("# C\n\n## Unreleased\n\n## 1.0.0\n\n- first\n", ""),
        ("# C\n\n## Unreleased\n", ""),
        ("# C\n\n## 1.0.0\n\n- first\n", ""),
    ],
)
def test_only_what_stands_under_unreleased_is_new(noxfile: ModuleType, changelog: str, notes: str) -> None:
    assert noxfile.unreleased(changelog) == notes
