"""The files of a new package: the templates of every package and those of its kind, with the names filled in."""

from __future__ import annotations

import json
import re
import string
import tomllib
from collections.abc import Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable

from iclr26_core.errors import UsageError

SUFFIX = ".tmpl"
IMPORTS = re.compile(r"^(?: *from \S+ import [^(\n]+\n){2,}", re.MULTILINE)


def render(kind: str, names: dict[str, str], *, licensed: bool) -> dict[str, str]:
    """Return the text of every file of a package by its path in it.

    Args:
        kind: one of the eleven kinds
        names: slug, package, import_name, module, class_name, author (empty for none)
        licensed: whether the package is under the federation's license

    Raises:
        UsageError: two files have the same path, because the method's module is called as another one is
    """
    templates = resources.files("iclr26_core.generator") / "templates"
    about = tomllib.loads((templates / kind / "kind.toml").read_text(encoding="utf-8"))
    homes = {names["class_name"]: names["module"], **about["exports"]}
    values = {
        **names,
        "kind": kind,
        "summary": about["summary"],
        "project": _project(about["summary"], names["author"], licensed),
        "dependencies": _lines(f'"{need}",' for need in sorted(["iclr26-core>=1.0,<2", *about["dependencies"]])),
        "imports": _lines(f"from .{home} import {name}" for name, home in homes.items()),
        "homes": _lines(f'"{name}": "{home}",' for name, home in sorted(homes.items())),
        "exports": _lines(f'"{name}",' for name in sorted(homes)),
    }
    rendered: dict[str, str] = {}
    for folder in (templates / "package", templates / kind):
        for path, text in _files(folder):
            path = _place(path, names)
            if path in rendered:
                raise UsageError(f"{names['slug']!r} cannot be the method's name: {path} is another file of a package")
            rendered[path] = _in_order(string.Template(text).substitute(values))
    return rendered


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and text of the templates below a folder, without the suffix."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(SUFFIX):
            yield prefix + entry.name.removesuffix(SUFFIX), entry.read_text(encoding="utf-8")


def _place(path: str, names: dict[str, str]) -> str:
    path = re.sub("^source/", f"src/{names['import_name']}/", path)
    return re.sub(r"/method\.py$", f"/{names['module']}.py", path)


def _project(summary: str, author: str, licensed: bool) -> str:
    """Return the lines of ``[project]`` that only some packages have; JSON's strings are TOML's too."""
    lines = [f"description = {json.dumps(summary)}"]
    if licensed:
        lines.append('license = "Apache-2.0"')
    if author:
        lines.append(f"authors = [{{ name = {json.dumps(author, ensure_ascii=False)} }}]")
    return "\n".join(lines)


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"    {item}" for item in items)


def _in_order(text: str) -> str:
    """Return the text, each block of ``from`` imports sorted by module: where a module comes depends on its name."""
    return IMPORTS.sub(
        lambda block: "".join(sorted(block[0].splitlines(keepends=True), key=lambda line: line.split()[1])), text
    )
