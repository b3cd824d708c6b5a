"""The descriptor: what a plugin says about a method without importing it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from iclr26_core.errors import Iclr26Error, MethodNotFound, PluginError, UsageError, did_you_mean
from iclr26_core.fields import require_choice, require_line, require_lines, require_name, require_target
from iclr26_core.kinds import KINDS

GPU = ("no", "optional", "required")
STATUS = ("stable", "experimental")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One thing that ``iclr26 run METHOD JOB`` does.

    Args:
        name: the word on the command line, lower case with dashes
        target: ``"module:function"``; the function takes ``(config, run)``
        config: ``"module:Dataclass"``; every field has a default, so that a run without options works
        summary: one line for ``iclr26 show``
        resumable: whether ``--resume`` continues an interrupted run of this job

    Raises:
        ValueError: a field is not of this form; the message names it and the value
    """

    name: str
    target: str
    config: str
    summary: str = ""
    resumable: bool = False

    def __post_init__(self) -> None:
        require_name("Job.name", self.name)
        require_target("Job.target", self.target)
        require_target("Job.config", self.config)
        if self.summary != "":
            require_line("Job.summary", self.summary)
        if not isinstance(self.resumable, bool):
            raise ValueError(f"Job.resumable must be True or False (got {self.resumable!r})")


@dataclass(frozen=True, kw_only=True)
class Method:
    """One method as its plugin describes it; every target is a string, so that listing imports nothing.

    Args:
        name: the method's name, lower case with dashes, the same as in ``iclr26-<name>``
        kind: one of :data:`iclr26_core.kinds.KINDS`
        target: ``"module:Class"`` that fulfils the kind's Protocol
        jobs: what ``iclr26 run`` offers; the first is the default
        claims: ``"module:function"``; the function takes a run and yields :class:`iclr26_core.Claim`
        summary: one line, what the method does for its user
        title: the paper's title
        paper: the paper's address
        accepts: what the user may bring, in words
        gpu: ``no``, ``optional`` or ``required``
        baselines: names of what the default job compares with
        tags: free words for searching
        status: ``stable`` or ``experimental``

    Raises:
        ValueError: a field is not of this form; the message names it and the value
    """

    name: str
    kind: str
    target: str
    jobs: tuple[Job, ...]
    claims: str
    summary: str
    title: str
    paper: str
    accepts: tuple[str, ...] = ()
    gpu: str = "no"
    baselines: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    status: str = "stable"

    def __post_init__(self) -> None:
        require_name("Method.name", self.name)
        require_choice("Method.kind", self.kind, tuple(KINDS))
        require_target("Method.target", self.target)
        require_target("Method.claims", self.claims)
        require_choice("Method.gpu", self.gpu, GPU)
        require_choice("Method.status", self.status, STATUS)
        for field in ("summary", "title", "paper"):
            require_line(f"Method.{field}", getattr(self, field))
        for field in ("accepts", "baselines", "tags"):
            require_lines(f"Method.{field}", getattr(self, field))
        if not (isinstance(self.jobs, tuple) and self.jobs and all(isinstance(job, Job) for job in self.jobs)):
            raise ValueError(f"Method.jobs must be a tuple of at least one Job (got {self.jobs!r})")
        names = [job.name for job in self.jobs]
        if len(set(names)) < len(names):
            raise ValueError(f"Method.jobs must have different names (got {names})")

    def job(self, name: str | None = None) -> Job:
        """Return the job of this name, the default one without a name.

        Raises:
            UsageError: the method has no such job
        """
        jobs = {job.name: job for job in self.jobs}
        if name is None:
            return self.jobs[0]
        if name not in jobs:
            hint = did_you_mean(name, jobs) or f": it has {', '.join(jobs)}"
            raise UsageError(f"{self.name} has no job {name!r}{hint}")
        return jobs[name]

    def load(self) -> Any:
        """Return the class behind ``target``; this imports the method's libraries."""
        return load_target(self.target)


def load_target(target: str) -> Any:
    """Return the object that ``"module:name"`` names.

    Raises:
        PluginError: the module cannot be imported
        MethodNotFound: the module has no such name
    """
    module_name, _, name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Iclr26Error:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{module_name} cannot be imported: {type(error).__name__}: {error}") from error
    try:
        return getattr(module, name)
    except AttributeError as error:
        raise MethodNotFound(f"{module_name} has no {name!r}{did_you_mean(name, dir(module))}") from error
