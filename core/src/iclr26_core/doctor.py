"""What ``doctor`` does: import all that the installed methods name, and show what cannot be."""

from __future__ import annotations

import platform
import traceback
from importlib.metadata import version

from iclr26_core.entrypoints import Installed
from iclr26_core.method import load_target
from iclr26_core.plugins import Plugins


def examine(plugins: Plugins) -> int:
    """Print one line per method and a traceback per broken one; return 1 if anything is broken, else 0."""
    print(f"python {platform.python_version()}, iclr26-core {version('iclr26-core')}, {platform.platform()}")
    broken = 0
    for installed in (plugins.installed[name] for name in plugins.methods()):
        error = _first_error(installed)
        broken += error is not None
        state = "ok" if error is None else f"BROKEN: {type(error).__name__}: {error}"
        print(f"{installed.method.name} ({installed.package} {installed.version}): {state}", flush=True)
        _print_traceback(error)
    for plugin in plugins.broken:
        broken += 1
        print(f"BROKEN plugin {plugin}")
        _print_traceback(plugin.error)
    print(f"{len(plugins.installed)} methods, {broken} broken")
    return 1 if broken else 0


def _first_error(installed: Installed) -> BaseException | None:
    method = installed.method
    jobs = [target for job in method.jobs for target in (job.target, job.config)]
    for target in (method.target, method.claims, *jobs):
        try:
            load_target(target)
        except (Exception, SystemExit) as error:
            return error
    return None


def _print_traceback(error: BaseException | None) -> None:
    if error is not None:
        print("".join(f"    {line}\n" for line in "".join(traceback.format_exception(error)).splitlines()), end="")
