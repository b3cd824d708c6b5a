"""Which methods a comparison is over, and the work that each has to do: its job, configuration and version."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from iclr26_core.catalogue import CATALOGUE
from iclr26_core.entrypoints import Installed
from iclr26_core.errors import ConfigError, MethodNotFound, UsageError, did_you_mean
from iclr26_core.kinds import KINDS
from iclr26_core.options import Options
from iclr26_core.plugins import Plugins
from iclr26_core.record import Record

OWN = {
    "seed": "--seeds before the --",
    "out": "--out before the --",
    "resume": "nothing (what is there already is not run again)",
}


@dataclass(frozen=True)
class Contender:
    """A method in a comparison.

    ``config`` is the job's configuration as resolved here; ``broken`` says why the job cannot run here, of a method
    that is not installed or whose configuration cannot be imported. ``options`` are the shared ones of its job.
    """

    name: str
    package: str
    version: str
    kind: str
    job: str
    config: dict[str, Any]
    resumable: bool = False
    broken: str = ""
    options: Options = dataclasses.field(default_factory=Options)

    def work(self, seed: int) -> Record:
        """Return an empty record of this contender's work with a seed."""
        method = {"name": self.name, "package": self.package, "version": self.version}
        return Record(run_id="", method=method, job=self.job, config=self.config, seed=seed)


def chosen_names(what: str, plugins: Plugins, elsewhere: Sequence[Record]) -> list[str]:
    """Return the names of the methods that ``KIND`` or ``A,B`` stands for.

    Args:
        what: a kind, or names with commas between
        plugins: what is installed
        elsewhere: records of other machines; their methods need not be installed here

    Raises:
        UsageError: no such kind
        MethodNotFound: a method that is neither installed nor recorded, or a kind without methods
        PluginError: a method that is installed and broken
    """
    recorded = {record.method["name"] for record in elsewhere}
    if what in KINDS:
        known = {name for name in recorded if CATALOGUE.get(name) == what}
        found = sorted({*plugins.methods(what), *known})
        if not found:
            hint = " ".join(f"iclr26-{name}" for name, kind in CATALOGUE.items() if kind == what)
            raise MethodNotFound(f"no {what} is installed: pip install {hint}")
        return found
    names = list(dict.fromkeys(name.strip() for name in what.split(",") if name.strip()))
    if not names:
        raise UsageError(f"compare needs a kind or the names of methods (got {what!r}): see iclr26 list")
    for name in names:
        unknown = name not in {*plugins.installed, *recorded, *CATALOGUE}
        if unknown and (hint := did_you_mean(name, KINDS)) and len(names) == 1:
            raise UsageError(f"there is no kind or method {name!r}{hint}")
        if name not in recorded:
            plugins.find(name)
    return names


def contender(
    name: str, job: str | None, arguments: Sequence[str], plugins: Plugins, elsewhere: Sequence[Record]
) -> Contender:
    """Return one method with the work that its job's options spell.

    Args:
        name: the method
        job: its job; None is the default one
        arguments: options of the job, as on the command line
        plugins: what is installed
        elsewhere: records of other machines; of a method that is not installed here, the newest says what the work is

    Raises:
        UsageError: no such job, or an option that this job does not have
    """
    if name in plugins.installed:
        return _here(plugins.installed[name], job, arguments)
    found = [record for record in elsewhere if record.method["name"] == name and job in (None, record.job)]
    found = [record for record in found if record.job != "reproduce"]
    if not found:
        raise UsageError(f"{name} is not installed, and no record of it has job {job!r}")
    newest = max(found, key=lambda record: record.started_at)
    kind, missing = CATALOGUE.get(name, ""), "not installed here"
    method = newest.method
    return Contender(name, method["package"], method["version"], kind, newest.job, newest.config, broken=missing)


def _here(installed: Installed, job: str | None, arguments: Sequence[str]) -> Contender:
    from iclr26_core import config, method

    found, chosen = installed.method, installed.method.job(job)
    made = Contender(
        found.name, installed.package, installed.version, found.kind, chosen.name, {}, resumable=chosen.resumable
    )
    try:
        config_class = method.load_target(chosen.config)
    except Exception as error:
        return dataclasses.replace(made, broken=f"{type(error).__name__}: {error}")
    prog = f"iclr26 run {found.name} {chosen.name}"
    try:
        settings, options = config.parse(config_class, arguments, prog=prog)
    except UsageError as error:
        raise ConfigError(f"{found.name} {chosen.name}: {error}") from error
    for option, own in OWN.items():
        if getattr(options, option) != getattr(Options(), option):
            raise UsageError(f"--{option} is not for the jobs (got it after --): use {own}")
    return dataclasses.replace(made, config=dataclasses.asdict(settings), options=options)
