"""A package's README is held to its word: its examples run, and print what stands below them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from iclr26_core.testing import PluginContract
from verdict import failing

CHECK = "test_readme_examples_print_what_the_readme_says"
TESTS = """
from iclr26_core.testing import PluginContract

class Documented(PluginContract):
    method = "documented"
"""
PRINTS_TWO = "```python\nprint(1 + 1)\n```\n"


def verdict_on(readme: str | None, folder: Path) -> str:
    """Return the message with which the check of a package with this README fails, or nothing."""
    (folder / "tests").mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "tests" / "test_documented.py").write_text(TESTS)
    if readme is not None:
        (folder / "README.md").write_text(readme)
    spec = importlib.util.spec_from_file_location("test_documented", folder / "tests" / "test_documented.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "test_documented", module)
        spec.loader.exec_module(module)
        contract: type[PluginContract] = module.Documented
        return failing(contract, folder, only={CHECK}).get(CHECK, "")


def test_example_with_its_output_is_accepted(tmp_path: Path) -> None:
    assert not verdict_on(f"# Title\n\n{PRINTS_TWO}\n```\n2\n```\n", tmp_path)


@pytest.mark.parametrize(
    ("readme", "message"),
    [
        (None, "no README.md"),
        ("# Title\n", "no ```python block"),
        (PRINTS_TWO, "no ```python block"),
        (f"{PRINTS_TWO}```text\n3\n```\n", "prints\n2\n\nand not\n3"),
        ("```python\n1 / 0\n```\n```\n2\n```\n", "ZeroDivisionError"),
        (f"{PRINTS_TWO}```\n2\n```\n\nAnd:\n\n{PRINTS_TWO}\n```\n4\n```\n", "prints\n2\n\nand not\n4"),
    ],
    ids=["none", "without example", "without output", "other output", "error", "second example"],
)
def test_readme_that_does_not_keep_its_word_is_rejected(readme: str | None, message: str, tmp_path: Path) -> None:
    assert message in verdict_on(readme, tmp_path)
