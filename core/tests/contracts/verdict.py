"""Which tests of a contract an implementation fails, found by running them."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from iclr26_core.testing import contract as kit
from iclr26_core.testing.contract import Contract

torch.set_num_threads(1)  # for models this small a second thread costs more than it brings


def names_of(contract: type[Contract], *, without: frozenset[str] = frozenset({"gpu"})) -> set[str]:
    """Return the names of a contract's tests, those with these marks left out."""
    names = {name for name in dir(contract) if name.startswith("test_")}
    return {name for name in names if not without & {mark.name for mark in _marks(getattr(contract, name))}}


def failing(contract: type[Contract], tmp_path: Path, *, only: set[str] | None = None) -> dict[str, str]:
    """Return the tests that fail, each with its message; tests that need a GPU or pytest's parameters are left out."""
    failed = {}
    for name in sorted(names_of(contract) if only is None else only):
        test = getattr(contract(), name)
        wanted = inspect.signature(test).parameters
        if not wanted.keys() <= {"tmp_path"}:
            continue
        folder = tmp_path / name
        folder.mkdir()
        try:
            test(**({"tmp_path": folder} if wanted else {}))
        except pytest.skip.Exception:
            continue
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    kit._checks.pop(contract.__name__, None)  # broken ones are not in the summary
    return failed


def _marks(test: object) -> list[pytest.Mark]:
    return getattr(test, "pytestmark", [])
