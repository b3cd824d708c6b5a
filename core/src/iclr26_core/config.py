"""Typed options from a job's config dataclass: flags, a TOML file, help from the docstring.

jsonargparse does the work; it is imported here and nowhere else, because it costs 0.2 s.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from jsonargparse import ArgumentError, ArgumentParser, Namespace

from iclr26_core import configfile
from iclr26_core.arguments import named_fields, spelled_out
from iclr26_core.errors import ConfigError, UsageError, did_you_mean
from iclr26_core.options import Options

Config = TypeVar("Config")
HELP = "TOML file with the options below; flags after it win"
PRINT = "--print_config"
UNKNOWN = re.compile(r"unrecognized arguments: -*([\w.]+)|[Oo]ption '([\w.]+)'|[Kk]ey '([\w.]+)' is not expected")
WRONG_KEY = re.compile(r'Parser key "([\w.]+)":')
WRONG_TYPE = (
    re.compile(r"Expected an? (?P<right>.+?)\. Got value: (?P<got>.*)"),
    re.compile(r"Subtypes: \[(?P<right>.*?)\] Errors:.*Given value: (?P<got>.*)"),
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
    words = spelled_out(arguments, config_class)
    configfile.check(words, config_class)
    try:
        parsed = parser.parse_args([word for word in words if word != PRINT])
        built = parser.instantiate(parsed)
        config, options = _take(built, config_class), _take(built, Options)
    except UsageError:
        raise
    except (ArgumentError, ValueError, TypeError) as error:
        raise ConfigError(_explain(str(error), config_class)) from error
    if PRINT in words:
        print(_toml(parser, parsed), end="")
        raise SystemExit(0)
    return config, options


def _parser(config_class: type, prog: str) -> ArgumentParser:
    parser = ArgumentParser(prog=prog, parser_mode="toml", exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--config", action="config", help=HELP)
    parser.add_class_arguments(config_class)
    parser.add_class_arguments(Options)
    return parser


def _take(built: Namespace, cls: type[Config]) -> Config:
    return cls(**{field.name: built[field.name] for field in dataclasses.fields(cls) if field.init})  # type: ignore[arg-type]


def _toml(parser: ArgumentParser, parsed: Namespace) -> str:
    """Return the options as TOML; the parser's own printing cannot write the dataclass instances in a default list."""
    lists = {name: value for name, value in vars(parsed).items() if isinstance(value, (list, tuple))}
    for name, value in lists.items():
        parsed[name] = [_plain(item) for item in value]
    return str(parser.dump(parsed))


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def _explain(message: str, config_class: type) -> str:
    """Return a parser's message with the key, the value, and what would be right."""
    keys = list(dict.fromkeys(WRONG_KEY.findall(message)))
    if unknown := UNKNOWN.search(message):
        key = ".".join([*keys, next(group for group in unknown.groups() if group)])
        known = [name for cls in (config_class, Options) for name, _ in named_fields(cls)]
        return f"unknown option {key!r}{did_you_mean(key, known) or ': see --help'}"
    key, detail = ".".join(keys), " ".join(WRONG_KEY.split(message)[-1].split())
    wrong = next(filter(None, (pattern.search(detail) for pattern in WRONG_TYPE)), None)
    if wrong is None:
        return f"{key}: {detail}" if key else detail
    right = re.sub(r"<class '([\w.]+)'>", r"\1", wrong["right"]).replace("typing.Literal", "one of ")
    return f"{key} must be {right or f'a table, like --{key}.NAME VALUE'} (got {wrong['got']})"
