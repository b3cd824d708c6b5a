"""Typed options from a job's config dataclass: flags, a TOML file, help from the docstring.

jsonargparse does the work; it is imported here and nowhere else, because it costs 0.2 s.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from jsonargparse import ArgumentError, ArgumentParser, Namespace

from iclr26_core.errors import ConfigError, UsageError, did_you_mean
from iclr26_core.options import Options

Config = TypeVar("Config")
INFINITE = {"inf": "1e999", "+inf": "1e999", "-inf": "-1e999"}
HELP = "TOML file with the options below; flags after it win"
UNKNOWN = re.compile(r"unrecognized arguments: -*([\w.]+)|[Oo]ption '([\w.]+)'|[Kk]ey '([\w.]+)' is not expected")
WRONG_KEY = re.compile(r'Parser key "([\w.]+)":')
WRONG_TYPE = (
    re.compile(r"Expected an? (?P<right>.+?)\. Got value: (?P<got>.*)"),
    re.compile(r"Subtypes: \[(?P<right>.*?)\].*Given value: (?P<got>.*)"),
    re.compile(r"(?P<right>)Unable to load config [\"'](?P<got>.*?)[\"']"),
)


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
    _require_toml(arguments, config_class)
    try:
        return _build(parser, config_class, arguments)
    except UsageError:
        raise
    except (ArgumentError, ValueError, TypeError) as error:
        raise ConfigError(_explain(str(error), config_class)) from error


def _parser(config_class: type, prog: str) -> ArgumentParser:
    parser = ArgumentParser(prog=prog, parser_mode="toml", exit_on_error=False, allow_abbrev=False)
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
    """Return the arguments with ``true`` behind every lone switch, and infinity in the only way the parser reads it."""
    fields = [(f"--{name}", field) for cls in (config_class, Options) for name, field, _ in _fields(cls)]
    switches = {flag for flag, field in fields if field.type in (bool, "bool")}
    floats = {flag for flag, field in fields if "float" in str(field.type)}
    spelled: list[str] = []
    for word, after in itertools.zip_longest(arguments, arguments[1:], fillvalue="--"):
        flag, _, value = word.partition("=")
        if spelled and spelled[-1] in floats and word in INFINITE:
            spelled[-1] += f"={INFINITE[word]}"
        elif flag in floats and value in INFINITE:
            spelled.append(f"{flag}={INFINITE[value]}")
        else:
            spelled.append(f"{word}=true" if word in switches and after.startswith("--") else word)
    return spelled


def _require_toml(arguments: list[str], config_class: type) -> None:
    """Raise ConfigError for a file that is no TOML, and for a value where a table must be."""
    for flag, value in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        path = value if flag == "--config" else flag.partition("=")[2] if flag.startswith("--config=") else None
        if path is not None:
            try:
                content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise ConfigError(f"--config must be a TOML file (got {path!r}): {error}") from error
            _require_tables(content, config_class())


def _require_tables(content: dict[str, Any], example: Any, prefix: str = "") -> None:
    for key, value in content.items():
        expected = getattr(example, key, None)
        if dataclasses.is_dataclass(expected):
            if not isinstance(value, dict):
                raise ConfigError(f"{prefix}{key} must be a table (got {value!r})")
            _require_tables(value, expected, f"{prefix}{key}.")


def _explain(message: str, config_class: type) -> str:
    """Return a parser's message with the key, the value, and what would be right."""
    if unknown := UNKNOWN.search(message):
        key = next(group for group in unknown.groups() if group)
        known = [name for cls in (config_class, Options) for name, _, _ in _fields(cls)]
        leaf = {name.rpartition(".")[2] for name in known}
        return f"unknown option {key!r}{did_you_mean(key, known) or did_you_mean(key, leaf) or ': see --help'}"
    key, detail = ".".join(dict.fromkeys(WRONG_KEY.findall(message))), " ".join(WRONG_KEY.split(message)[-1].split())
    wrong = next(filter(None, (pattern.search(detail) for pattern in WRONG_TYPE)), None)
    if wrong is None:
        return f"{key}: {detail}" if key else detail
    right = re.sub(r"<class '([\w.]+)'>", r"\1", wrong["right"]).replace("typing.Literal", "one of ")
    return f"{key} must be {right or f'a table, like --{key}.NAME VALUE'} (got {wrong['got']})"


def _fields(cls: Any, prefix: str = "") -> Iterator[tuple[str, dataclasses.Field[Any], Any]]:
    """Yield dotted names, fields and defaults of a dataclass, also of dataclasses and lists of them in it."""
    example = cls()
    for field in dataclasses.fields(cls):
        value = getattr(example, field.name)
        yield prefix + field.name, field, value
        value = value[0] if isinstance(value, (list, tuple)) and value else value
        if dataclasses.is_dataclass(value):
            yield from _fields(type(value), f"{prefix}{field.name}.")
