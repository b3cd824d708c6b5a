"""Every error of the core, and the exit code that the command line gives it.

    Iclr26Error                     1   anything that went wrong in here
    ├── UsageError (ValueError)     2   an option, a name or a folder that cannot be used
    │   ├── ConfigError             2   a configuration: unknown key, wrong type, out of range
    │   └── OutputError (OSError)   2   the output folder cannot be written
    ├── MethodNotFound (LookupError)  3 no installed method has this name
    ├── PluginError                 3   a plugin that cannot be used
    │   ├── DuplicateMethod         3   two packages offer the same name
    │   └── IncompatiblePlugin      3   a plugin of another API major
    ├── MissingExtra (ImportError)  1   an optional dependency is not installed
    ├── ClaimError (ValueError)     1   a claim that cannot be judged as written
    └── NotConverged                1   a job ended without reaching its tolerance
    Interrupted (KeyboardInterrupt) 1   SIGINT or SIGTERM arrived

Each says what is wrong, the value that was got, and what would be right.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Iclr26Error(Exception):
    """Root of the errors that the federation raises on purpose."""

    exit_code = 1


class UsageError(Iclr26Error, ValueError):
    """An option, a name or a folder that cannot be used."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration with an unknown key, a wrong type or a value out of range."""


class OutputError(UsageError, OSError):
    """An output folder that cannot be created or written."""


class MethodNotFound(Iclr26Error, LookupError):
    """No installed method has this name."""

    exit_code = 3


class PluginError(Iclr26Error):
    """A plugin that is installed and cannot be used."""

    exit_code = 3


class DuplicateMethod(PluginError):
    """Two packages offer a method of the same name."""


class IncompatiblePlugin(PluginError):
    """A plugin written for another major version of the plugin API."""


class MissingExtra(Iclr26Error, ImportError):
    """An optional dependency is not installed; the message holds the pip command.

    Args:
        module: the module that could not be imported
        package: the distribution that declares the extra, e.g. ``iclr26-clipped-sgd``
        extra: the extra's name, e.g. ``plot``
    """

    def __init__(self, module: str, *, package: str, extra: str) -> None:
        super().__init__(f"{module} is not installed: pip install '{package}[{extra}]'")
        self.module, self.package, self.extra = module, package, extra


class ClaimError(Iclr26Error, ValueError):
    """A claim that cannot be judged as written."""


class NotConverged(Iclr26Error):
    """A job ended without reaching its tolerance; its record says how far it came."""


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM arrived; the run's record is left with status ``interrupted``."""

    exit_code = 1


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return ``": did you mean 'x' or 'y'?"`` for the closest candidates, or an empty string."""
    close = difflib.get_close_matches(word, list(candidates), n=3, cutoff=0.5)
    return f": did you mean {' or '.join(map(repr, close))}?" if close else ""
