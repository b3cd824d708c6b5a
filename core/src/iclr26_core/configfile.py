"""What is wrong with a config file, said by its own names before the parser sees it."""

from __future__ import annotations

import dataclasses
import itertools
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iclr26_core.arguments import table_in
from iclr26_core.errors import ConfigError, did_you_mean
from iclr26_core.options import Options


def check(arguments: Sequence[str], config_class: type) -> None:
    """Raise ConfigError for a ``--config`` that is no TOML, an unknown key, or a value where a table must be."""
    for flag, value in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        path = value if flag == "--config" else flag.partition("=")[2] if flag.startswith("--config=") else None
        if path is not None:
            _check_table(_read(path), (config_class(), Options()), "")


def _read(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--config must be a TOML file (got {path!r}): {error}") from error


def _check_table(content: dict[str, Any], examples: Sequence[Any], prefix: str) -> None:
    known = {field.name: getattr(example, field.name) for example in examples for field in dataclasses.fields(example)}
    for key, value in content.items():
        name = f"{prefix}{key}"
        if key not in known:
            hint = did_you_mean(key, known) or f": it must be one of {', '.join(known)}"
            raise ConfigError(f"unknown option {name!r}{hint}")
        table = table_in(known[key])
        if table is not None:
            _check_tables(value, table, name, is_list=isinstance(known[key], (list, tuple)))


def _check_tables(value: Any, example: Any, name: str, *, is_list: bool) -> None:
    tables = value if is_list else [value]
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        what = f"a list of tables, each under [[{name}]]" if is_list else f"a table, under [{name}]"
        raise ConfigError(f"{name} must be {what} (got {value!r})")
    for table in tables:
        _check_table(table, (example,), f"{name}.")
