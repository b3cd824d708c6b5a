"""Rules of the house that a reader relies on, checked on the source of the core itself."""

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import iclr26_core
import pytest

SOURCE = Path(iclr26_core.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
KIT = "iclr26_core.testing"  # needs pytest, and its contracts what they test with
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(SOURCE)], "iclr26_core.")
    if not module.name.startswith(KIT) and ".templates" not in module.name
)
HEAVY = ["torch", "numpy", "pandas", "scipy", "sklearn", "matplotlib", "mlflow", "transformers", "rich"]


def module_of(path: Path) -> str:
    parts = ("iclr26_core", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_at_import(path: Path) -> set[str]:
    """Return the modules of the core that a file imports when it is imported itself, by its syntax tree."""
    found = set()
    pending = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("iclr26_core"):
            for name in node.names:
                below = f"{node.module}.{name.name}"
                found.add(below if below in {module_of(file) for file in FILES} else node.module)
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name.startswith("iclr26_core")}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            pending += node.orelse
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.ClassDef)):
            pending += ast.iter_child_nodes(node)
    return found


def test_no_source_file_is_longer_than_150_lines():
    assert {f"{module_of(path)}: {n}" for path in FILES if (n := len(path.read_text().splitlines())) > 150} == set()


def test_no_file_has_a_name_that_says_nothing():
    nothing = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
    assert {path.stem for path in FILES} & nothing == set()


def test_modules_import_each_other_without_a_cycle():
    graph = {module_of(path): imported_at_import(path) for path in FILES}
    assert "iclr26_core.errors" in graph["iclr26_core.method"]  # the graph is not empty
    ended: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path, module])
        if module not in ended:
            for other in graph.get(module, ()):
                visit(other, (*path, module))
            ended.add(module)

    for module in graph:
        visit(module, ())


def test_importing_any_module_loads_nothing_heavy():
    code = f"""
import importlib, json, sys
heavy = {{}}
for module in {MODULES!r}:
    importlib.import_module(module)
    heavy[module] = [name for name in {HEAVY!r} if name in sys.modules]
print(json.dumps(heavy))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {module: names for module, names in json.loads(done.stdout).items() if names} == {}


def test_all_is_the_lazy_table_and_every_name_resolves():
    assert set(iclr26_core.__all__) == set(iclr26_core._HOME)
    assert len(set(iclr26_core.__all__)) == len(iclr26_core.__all__)
    for name in iclr26_core.__all__:
        home = importlib.import_module(f"iclr26_core.{iclr26_core._HOME[name]}")
        assert getattr(iclr26_core, name) is vars(home)[name]
    assert set(iclr26_core.__all__) <= set(dir(iclr26_core))
    with pytest.raises(AttributeError, match="module 'iclr26_core' has no attribute 'nothing'"):
        iclr26_core.nothing  # noqa: B018


def test_what_type_checkers_see_is_the_lazy_table():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {name.name: node.module for node in block.body for name in node.names}
    assert seen == {name: f"iclr26_core.{home}" for name, home in iclr26_core._HOME.items()}


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_every_module_and_every_public_class_and_function_says_what_it_is(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) or not tree.body
    assert [name for name, node in public(tree) if not ast.get_docstring(node)] == []


def public(scope: ast.Module | ast.ClassDef):
    """Yield the public classes and functions of a module, and the public methods of those classes."""
    for node in scope.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith(("_", "test_")):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node)


def test_every_first_line_of_a_docstring_ends():
    for module in MODULES:
        for name, one in inspect.getmembers(importlib.import_module(module)):
            if getattr(one, "__module__", "") == module and not name.startswith("_") and inspect.getdoc(one):
                first = inspect.getdoc(one).splitlines()[0]
                assert re.search(r"[.:;…!]$|``$", first), f"{module}.{name}: {first}"


def test_examples_in_docstrings_give_what_they_say():
    import doctest

    ran = 0
    for module in ("iclr26_core", *MODULES):
        result = doctest.testmod(importlib.import_module(module))
        assert result.failed == 0, module
        ran += result.attempted
    assert ran > 0
