"""The life of a run: folder, record, recorders, signals, the work itself, and a true record at the end."""

from __future__ import annotations

import dataclasses
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from iclr26_core.child import PARENT
from iclr26_core.claims import Claim, Scale
from iclr26_core.entrypoints import Installed
from iclr26_core.environment import environment, git, peak_memory_bytes
from iclr26_core.errors import ClaimError, ConfigError, Iclr26Error, OutputError, UsageError
from iclr26_core.folder import run_folder
from iclr26_core.interrupt import interruptible
from iclr26_core.method import load_target
from iclr26_core.options import Options
from iclr26_core.plugins import Plugins, discovered
from iclr26_core.progress import say
from iclr26_core.record import Record, new_run_id
from iclr26_core.recorders import notify, recorders
from iclr26_core.run import Run


def run_job(
    name: str,
    job: str | None = None,
    config: Any = None,
    *,
    options: Options | None = None,
    among: Plugins | None = None,
) -> Record:
    """Return the record of one job of an installed method, run here and now.

    Args:
        name: the method
        job: one of its jobs; None is the default one
        config: an instance of the job's config class; None is the class's defaults
        options: shared options; None is their defaults
        among: the plugins to look in; None is the cached instance

    Raises:
        MethodNotFound, PluginError: no such method, or a broken one
        UsageError: no such job, a config of another class, or an output folder that cannot be written
        Exception: whatever the job raises; the record then has status ``failed``
    """
    installed = (among or discovered()).find(name)
    chosen = installed.method.job(job)
    config_class = load_target(chosen.config)
    config = config_class() if config is None else config
    if not isinstance(config, config_class):
        raise ConfigError(f"config of {name} {chosen.name} must be a {config_class.__name__} (got {config!r})")
    if options is not None and options.resume and not chosen.resumable:
        able = [other.name for other in installed.method.jobs if other.resumable]
        raise UsageError(f"{name} {chosen.name} cannot be resumed (jobs that can: {', '.join(able) or 'none'})")
    function = load_target(chosen.target)
    plain = dataclasses.asdict(config)
    return perform(lambda run: function(config, run), installed, chosen.name, plain, options, among)


def reproduce(
    name: str, *, scale: Scale = "small", options: Options | None = None, among: Plugins | None = None
) -> Record:
    """Return the record of a method's claims, measured here and now; errors as :func:`run_job`.

    Args:
        name: the method
        scale: ``small`` (minutes on two cores) or ``paper``
        options: shared options
        among: the plugins to look in
    """
    installed = (among or discovered()).find(name)
    function = load_target(installed.method.claims)

    def judge(run: Run) -> None:
        started = time.perf_counter()
        for claim in function(run):
            if not isinstance(claim, Claim):
                raise ClaimError(f"{installed.method.claims} must yield Claim objects (got {claim!r})")
            now = time.perf_counter()
            run.judge(dataclasses.replace(claim, seconds=now - started))
            run.say(f"{claim.id}: {claim.verdict} ({now - started:.1f} s)")
            started = time.perf_counter()

    return perform(judge, installed, "reproduce", {"scale": scale}, options, among, scale=scale)


def perform(
    work: Callable[[Run], object],
    installed: Installed,
    job: str,
    config: dict[str, Any],
    options: Options | None,
    among: Plugins | None,
    *,
    scale: Scale = "small",
) -> Record:
    """Return the record of some work under a method's name; ``ICLR26_PARENT`` is the run that it is part of."""
    options = options or Options()
    name = installed.method.name
    method = {"name": name, "package": installed.package, "version": installed.version}
    record = Record(
        run_id=new_run_id(name, job), method=method, job=job, config=config, seed=options.seed,
        environment=environment(options.device), git=git(Path.cwd()), parent=os.environ.get(PARENT) or None,
    )  # fmt: skip
    manager = recorders(options, (among or discovered()).manager)
    with run_folder(record, options) as (folder, record, resumed), interruptible():
        run = Run(
            method=installed.method, record=record, out=folder, options=options,
            recorders=manager, scale=scale, resumed=resumed,
        )  # fmt: skip
        started = time.perf_counter()
        try:
            notify(manager, "iclr26_run_started", run=run)
            work(run)
            record.status = "ok"
        except KeyboardInterrupt:
            record.status = "interrupted"
            raise
        except BaseException as error:
            record.status = "failed"
            record.error = {
                "type": type(error).__name__,
                "message": str(error),
                "traceback": "".join(traceback.format_exception(error)),
            }
            if isinstance(error, SystemExit):  # which would end this process with the job's exit code, maybe 0
                raise Iclr26Error(f"{name} {job} called sys.exit({error.code!r}) instead of returning") from error
            raise
        finally:
            record.wall_s = time.perf_counter() - started
            record.peak_memory_bytes = peak_memory_bytes()
            record.environment = environment(run.chosen_device)
            failed = notify(manager, "iclr26_run_finished", run=run)
            say(f"{record.status}: {folder / 'record.json'}")
        if "json" in failed:
            raise OutputError(f"the record in {folder} could not be written: {failed['json']}")
    return record
