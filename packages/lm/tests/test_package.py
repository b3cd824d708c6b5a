"""The package imports nothing heavy, exports what it says, and its examples run."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import iclr26_lm
import pytest


def test_importing_the_package_loads_nothing_heavy():
    heavy = "torch", "transformers", "numpy", "safetensors", "tokenizers"
    program = f"import iclr26_lm, sys; dir(iclr26_lm); print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_the_store_and_the_loop_need_no_transformers():
    program = (
        "from iclr26_lm import TraceStore, TraceRecorder, decode, DenoisingTrace, KnowledgeBase; import sys;"
        "print('transformers' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "False"


@pytest.mark.parametrize("name", iclr26_lm.__all__)
def test_every_exported_name_exists_and_no_module_hides_it(name):
    for module in pkgutil.iter_modules(iclr26_lm.__path__):
        if module.name not in ("models", "training", "standins"):
            importlib.import_module(f"iclr26_lm.{module.name}")
    assert type(getattr(iclr26_lm, name)).__name__ != "module"
    assert name in dir(iclr26_lm)


def test_exports_are_complete_and_an_unknown_name_is_an_error():
    assert sorted(iclr26_lm.__all__) == sorted(set(iclr26_lm.__all__)) == sorted(iclr26_lm._MODULE)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        iclr26_lm.nothing  # noqa: B018


@pytest.mark.parametrize(
    "module", ["iclr26_lm", "iclr26_lm.knowledge", "iclr26_lm.recall", "iclr26_lm.schedules", "iclr26_lm.tiny"]
)
def test_examples_in_docstrings(module):
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0
