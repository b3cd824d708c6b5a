"""Discovery: which methods are installed, and which plugins are broken.

Each plugin is loaded, registered and called in its own ``try``: a broken one costs a line and never the listing.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Any

from iclr26_core import entrypoints, hooks
from iclr26_core.catalogue import not_installed
from iclr26_core.entrypoints import BrokenPlugin, Installed
from iclr26_core.errors import IncompatiblePlugin, MethodNotFound, PluginError, UsageError, did_you_mean
from iclr26_core.kinds import KINDS
from iclr26_core.method import Method

log = logging.getLogger("iclr26")


class Plugins:
    """The methods that are installed, by name.

    Args:
        only: entry-point names to load, no others; default ``ICLR26_PLUGINS`` (comma-separated), else all
        disable: entry-point names to leave out; default ``ICLR26_DISABLE``
        strict: raise a plugin's error instead of noting it; default ``ICLR26_STRICT=1``

    Example:
        >>> from iclr26_core import Plugins
        >>> plugins = Plugins(only=["no-such-plugin"])
        >>> plugins.installed, plugins.broken
        ({}, [])
    """

    def __init__(
        self, *, only: Iterable[str] | None = None, disable: Iterable[str] | None = None, strict: bool | None = None
    ) -> None:
        self._only = entrypoints.names_in("ICLR26_PLUGINS") or None if only is None else set(only)
        self._disable = entrypoints.names_in("ICLR26_DISABLE") if disable is None else set(disable)
        self._strict = os.environ.get("ICLR26_STRICT") == "1" if strict is None else strict
        self.refresh()

    def refresh(self) -> None:
        """Discover anew; packages that were installed since are seen."""
        importlib.invalidate_caches()
        self.manager = hooks.manager()
        self.installed: dict[str, Installed] = {}
        self.broken: list[BrokenPlugin] = []
        self.hidden: set[str] = set()
        for point in entrypoints.entry_points():
            if point.name in self._disable or (self._only is not None and point.name not in self._only):
                self.hidden.add(point.name)
                continue
            try:
                self._load(point)
            except (Exception, SystemExit) as error:
                if self._strict and isinstance(error, SystemExit):  # its exit code, maybe 0, would become ours
                    raise PluginError(f"{point.name} ({point.value}) called sys.exit({error.code!r})") from error
                if self._strict:
                    raise
                self._note(point, error)

    def _load(self, point: EntryPoint) -> None:
        if point.group != entrypoints.API:
            raise IncompatiblePlugin(entrypoints.upgrade(point))
        package = entrypoints.package(point)
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for data
            plugin = point.load()
            if self.manager.is_registered(plugin):
                raise PluginError(f"{point.value} is loaded already: one entry point per plugin module is enough")
            try:
                self.manager.register(plugin)
                self.manager.check_pending()  # a misspelt hook would never be called
                methods = self._described(plugin, package)
            except BaseException:
                if self.manager.is_registered(plugin):  # pluggy takes a plugin with a wrong hook out by itself
                    self.manager.unregister(plugin)
                raise
        version = entrypoints.version(point)
        self.installed |= {method.name: Installed(method, package, version) for method in methods}

    def _described(self, plugin: Any, package: str) -> list[Method]:
        """Return what this plugin's hook describes; a plugin that only follows runs describes nothing."""
        if not self.manager.get_hookcallers(plugin):
            raise PluginError(f"{plugin!r} has no hook: decorate iclr26_methods with iclr26_core.hookimpl")
        implementations = self.manager.hook.iclr26_methods.get_hookimpls()
        functions = [i.function for i in implementations if i.plugin is plugin]
        owners = {name: installed.package for name, installed in self.installed.items()}
        return entrypoints.checked(functions[0](), owners, package) if functions else []

    def _note(self, point: EntryPoint, error: BaseException) -> None:
        broken = BrokenPlugin(point.name, entrypoints.package(point), entrypoints.version(point), error)
        self.broken.append(broken)
        log.warning("%s", " ".join(f"broken plugin {broken} (see: iclr26 doctor)".split()))

    def methods(self, kind: str | None = None) -> dict[str, Method]:
        """Return the installed methods by name, sorted, of one kind or of all.

        Raises:
            UsageError: there is no such kind
        """
        if kind is not None and kind not in KINDS:
            raise UsageError(f"no kind {kind!r}{did_you_mean(kind, KINDS) or ': there are ' + ', '.join(KINDS)}")
        found = ((name, self.installed[name].method) for name in sorted(self.installed))
        return {name: method for name, method in found if kind in (None, method.kind)}

    def find(self, name: str) -> Installed:
        """Return the installed method of this name.

        Raises:
            PluginError: its plugin is installed and broken
            MethodNotFound: it is not installed; the message holds the pip command or the closest names
        """
        if name in self.installed:
            return self.installed[name]
        for broken in self.broken:
            if broken.name == name:
                raise PluginError(f"{broken}: see iclr26 doctor") from broken.error
        if name in self.hidden:
            raise MethodNotFound(f"{name} is installed and left out here: see ICLR26_PLUGINS and ICLR26_DISABLE")
        raise MethodNotFound(not_installed(name, self.installed))


@functools.cache
def discovered() -> Plugins:
    """Return the cached instance behind ``methods`` and ``get``; its ``refresh()`` looks again."""
    return Plugins()


def methods(kind: str | None = None) -> dict[str, Method]:
    """Return the installed methods by name, of one kind or of all."""
    return discovered().methods(kind)


def get(name: str) -> Any:
    """Return the class of an installed method, imported; errors as :meth:`Plugins.find`."""
    return discovered().find(name).method.load()
