"""Typed options from a job's config dataclass: flags, a TOML file, help from the docstring.

jsonargparse does the work; it is imported here and nowhere else, because it costs 0.2 s.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from jsonargparse import ArgumentError, ArgumentParser, Namespace

from iclr26_core.errors import ConfigError, UsageError, did_you_mean
from iclr26_core.options import Options

Config = TypeVar("Config")
HELP = "TOML file with the options below; flags after it win"
UNKNOWN = re.compile(r"unrecognized arguments: -*([\w.]+)|[Oo]ption '([\w.]+)'|[Kk]ey '([\w.]+)' is not expected")
WRONG_TYPE = re.compile(r'Parser key "([\w.]+)":\s*(.*)', re.DOTALL)


def parse(config_class: type[Config], arguments: Sequence[str], *, prog: str) -> tuple[Config, Options]:
    """Return the config and the shared options that the arguments spell.

    Args:
        config_class: a dataclass whose fields all have defaults
        arguments: e.g. ``["--config", "file.toml", "--lr", "1e-3", "--out", "runs"]``; dashes in names are underscores
        prog: the command in front of them, for the help text

    Raises:
        ConfigError: unknown key (with the closest one), wrong type, out of range, or a file that cannot be read
        SystemExit: ``--help`` and ``--print_config``, code 0
    """
    parser = _parser(config_class, prog)
    arguments = _spelled_out([_underscored(argument) for argument in arguments], config_class)
    _require_files(arguments)
    try:
        return _build(parser, config_class, arguments)
    except UsageError:
        raise
    except (ArgumentError, ValueError, TypeError) as error:
        raise ConfigError(_explain(str(error), config_class)) from error


def _parser(config_class: type, prog: str) -> ArgumentParser:
    parser = ArgumentParser(prog=prog, parser_mode="toml", exit_on_error=False)
    parser.add_argument("--config", action="config", help=HELP)
    parser.add_class_arguments(config_class)
    parser.add_class_arguments(Options)
    defaults = {field.name: getattr(config_class(), field.name) for field in dataclasses.fields(config_class)}
    lists = {
        name: [_plain(item) for item in value] for name, value in defaults.items() if isinstance(value, (list, tuple))
    }
    parser.set_defaults(lists)  # dataclass instances inside of a list cannot be written by --print_config
    return parser


def _build(parser: ArgumentParser, config_class: type[Config], arguments: list[str]) -> tuple[Config, Options]:
    built = parser.instantiate(parser.parse_args(arguments))
    return _take(built, config_class), _take(built, Options)


def _take(built: Namespace, cls: type[Config]) -> Config:
    return cls(**{field.name: built[field.name] for field in dataclasses.fields(cls) if field.init})  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def _underscored(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"


def _spelled_out(arguments: list[str], config_class: type) -> list[str]:
    """Return the arguments with ``true`` behind every switch that stands alone, like ``--resume``."""
    switches = {
        f"--{name}" for cls in (config_class, Options) for name, value in _values(cls) if isinstance(value, bool)
    }
    follows = [*arguments[1:], "--"]
    pairs = zip(arguments, follows, strict=False)
    return [f"{word}=true" if word in switches and after.startswith("--") else word for word, after in pairs]


def _require_files(arguments: list[str]) -> None:
    for flag, value in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        path = value if flag == "--config" else flag.partition("=")[2] if flag.startswith("--config=") else None
        if path is not None and not Path(path).is_file():
            raise ConfigError(f"--config must be a TOML file (got {path!r}, which is no file)")


def _explain(message: str, config_class: type) -> str:
    """Return a parser's message with the key, the value, and what would be right."""
    if unknown := UNKNOWN.search(message):
        key = next(group for group in unknown.groups() if group)
        known = [name for cls in (config_class, Options) for name, _ in _values(cls)]
        leaf = {name.rpartition(".")[2] for name in known}
        return f"unknown option {key!r}{did_you_mean(key, known) or did_you_mean(key, leaf) or ': see --help'}"
    if wrong := WRONG_TYPE.search(message):
        detail = " ".join(wrong[2].split())
        detail = re.sub(r"<class '([\w.]+)'>", r"\1", detail).replace("typing.Literal", "one of ")
        return f"{wrong[1]}: {detail}"
    return " ".join(message.split())


def _values(cls: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted names and defaults of a dataclass's fields, also of dataclasses and lists of them in it."""
    example = cls()
    for field in dataclasses.fields(cls):
        value = getattr(example, field.name)
        yield prefix + field.name, value
        value = value[0] if isinstance(value, (list, tuple)) and value else value
        if dataclasses.is_dataclass(value):
            yield from _values(type(value), f"{prefix}{field.name}.")
