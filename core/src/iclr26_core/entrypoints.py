"""The entry points of plugins, found by group and filtered by name; and what each turned out to be."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint

from iclr26_core.errors import DuplicateMethod, PluginError
from iclr26_core.method import Method

API = "iclr26.v1"


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that could not be loaded: the entry point's name, its distribution and the error."""

    name: str
    package: str
    version: str
    error: BaseException

    def __str__(self) -> str:
        return f"{self.name} ({self.package} {self.version}): {type(self.error).__name__}: {self.error}"


@dataclass(frozen=True)
class Installed:
    """A method that can be used, with the distribution that brought it."""

    method: Method
    package: str
    version: str


def entry_points() -> list[EntryPoint]:
    """Return the entry points of every API major, sorted; of two with one name, that of ``iclr26-<name>`` first."""
    everything = importlib.metadata.entry_points()
    majors = sorted(group for group in everything.groups if re.fullmatch(r"iclr26\.v\d+", group))
    found = [point for group in majors for point in everything.select(group=group)]
    return sorted(found, key=lambda p: (package(p) != f"iclr26-{p.name}", package(p), p.name))


def package(point: EntryPoint) -> str:
    """Return the name of the distribution that declares the entry point."""
    return (point.dist and point.dist.name) or "unknown"


def version(point: EntryPoint) -> str:
    """Return the version of that distribution."""
    return (point.dist and point.dist.version) or "unknown"


def checked(found: object, owners: Mapping[str, str], package: str) -> list[Method]:
    """Return what a package's hook returned, if it is methods with names that nobody else has; all or nothing.

    Args:
        found: what the hook returned
        owners: the packages of the methods that are there already, by the method's name
        package: the package that the hook is in
    """
    if not isinstance(found, Iterable):
        raise PluginError(f"iclr26_methods() must return a list of Method objects (got {found!r})")
    methods: dict[str, Method] = {}
    for method in found:
        if not isinstance(method, Method):
            raise PluginError(f"iclr26_methods() must return Method objects (got {method!r})")
        if owner := owners.get(method.name) or (method.name in methods and package):
            both = f"{owner} and by {package}"
            raise DuplicateMethod(f"{method.name!r} is offered by {both}: uninstall or rename one of them")
        methods[method.name] = method
    return list(methods.values())


def upgrade(point: EntryPoint) -> str:
    """Return what to upgrade so that this entry point and this core speak the same API."""
    newer = int(point.group.rpartition("v")[2]) > int(API.rpartition("v")[2])
    outdated = "iclr26-core" if newer else package(point)
    return f"it speaks {point.group}, this core speaks {API}: pip install --upgrade {outdated}"


def names_in(variable: str) -> frozenset[str]:
    """Return the comma-separated names in an environment variable."""
    return frozenset(name.strip() for name in os.environ.get(variable, "").split(",") if name.strip())
