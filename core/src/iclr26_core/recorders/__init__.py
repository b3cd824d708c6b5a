"""Recorders follow runs through the lifecycle hooks; one that fails is reported and never ends a run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pluggy

from iclr26_core import hooks
from iclr26_core.recorders.json import JsonRecorder

if TYPE_CHECKING:
    from iclr26_core.options import Options

log = logging.getLogger("iclr26")


def recorders(options: Options, plugins: pluggy.PluginManager) -> pluggy.PluginManager:
    """Return the recorders that the options ask for, and the installed plugins, which may follow runs too.

    Raises:
        MissingExtra: the tracker that was asked for is not installed
    """
    manager = hooks.manager()
    manager.register(JsonRecorder(), "json")
    if options.track == "mlflow":
        from iclr26_core.recorders.mlflow import MlflowRecorder

        manager.register(MlflowRecorder(options), "mlflow")
    for name, plugin in plugins.list_name_plugin():
        manager.register(plugin, name)
    return manager


def notify(manager: pluggy.PluginManager, hook: str, **arguments: Any) -> dict[str, BaseException]:
    """Call every recorder's hook in its own ``try``; return the names and errors of those that failed.

    A recorder that fails at the start has nothing to add to: it is left out of the rest of the run.
    """
    failed: dict[str, BaseException] = {}
    for implementation in getattr(manager.hook, hook).get_hookimpls():
        try:
            implementation.function(*(arguments[name] for name in implementation.argnames))
        except (Exception, SystemExit) as error:
            name = implementation.plugin_name
            failed[name] = error
            log.warning("recorder %s failed in %s: %s: %s", name, hook, type(error).__name__, error)
            if hook == "iclr26_run_started":
                manager.unregister(name=name)
    return failed
