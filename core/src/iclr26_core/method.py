"""The descriptor: what a plugin says about a method without importing it."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Any

from iclr26_core.errors import MethodNotFound, UsageError, did_you_mean
from iclr26_core.kinds import KINDS

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
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
        _require_name("Job.name", self.name)
        _require_target("Job.target", self.target)
        _require_target("Job.config", self.config)


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
        _require_name("Method.name", self.name)
        _require_choice("Method.kind", self.kind, tuple(KINDS))
        _require_target("Method.target", self.target)
        _require_target("Method.claims", self.claims)
        _require_choice("Method.gpu", self.gpu, GPU)
        _require_choice("Method.status", self.status, STATUS)
        for field in ("jobs", "accepts", "baselines", "tags"):
            if not isinstance(getattr(self, field), tuple):
                raise ValueError(f"Method.{field} must be a tuple (got {getattr(self, field)!r})")
        if not self.jobs or not all(isinstance(job, Job) for job in self.jobs):
            raise ValueError(f"Method.jobs must hold at least one Job and nothing else (got {self.jobs!r})")
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
        MethodNotFound: the module has no such name
        ImportError: the module cannot be imported
    """
    module_name, _, name = target.partition(":")
    module = importlib.import_module(module_name)
    try:
        return getattr(module, name)
    except AttributeError as error:
        raise MethodNotFound(f"{module_name} has no {name!r}{did_you_mean(name, dir(module))}") from error


def _require_name(field: str, value: object) -> None:
    if not (isinstance(value, str) and NAME.fullmatch(value)):
        raise ValueError(f"{field} must be lower-case words joined by dashes, like 'clipped-sgd' (got {value!r})")


def _require_target(field: str, value: object) -> None:
    if not (isinstance(value, str) and TARGET.fullmatch(value)):
        raise ValueError(f"{field} must be 'module:name', like 'iclr26_tracedet:TraceDetDetector' (got {value!r})")


def _require_choice(field: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(
            f"{field} must be one of {', '.join(choices)} (got {value!r}){did_you_mean(str(value), choices)}"
        )
