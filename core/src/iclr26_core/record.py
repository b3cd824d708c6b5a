"""The record: one JSON file per run, valid at every moment of it.

A run's folder is ``<out>/<run_id>``; it holds ``record.json``, ``steps.jsonl`` and the artifacts.
The record is written when the run starts, with status ``interrupted``, and rewritten when it ends: a process
that is killed without a chance to say so leaves the truth behind.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

SCHEMA = "iclr26.record.v1"
Status = Literal["ok", "failed", "interrupted"]


@dataclass(kw_only=True)
class Record:
    """Everything that is kept of a run.

    ``metrics`` maps a name to ``{value, unit, higher_is_better, n, stderr}``; ``baselines`` maps a baseline's name
    to such a mapping; ``inputs`` maps the name of an input to its SHA-256. ``wall_s`` is None until the run has ended.
    Non-finite numbers are kept as ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which ``float`` reads and JSON allows.
    """

    schema: str = SCHEMA
    run_id: str
    method: dict[str, str]
    job: str
    config: dict[str, Any]
    seed: int
    parent: str | None = None
    inputs: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    baselines: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    claims: list[dict[str, Any]] = field(default_factory=list)
    status: Status = "interrupted"
    error: dict[str, str] | None = None
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    wall_s: float | None = None
    peak_memory_bytes: int | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    git: dict[str, Any] | None = None
    artifacts: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write ``record.json`` into the folder, whole or not at all."""
        write_atomically(folder / "record.json", to_json(dataclasses.asdict(self), indent=1) + "\n")

    def same_work(self, other: Record) -> bool:
        """Return whether the other run has the same method, job, config and seed."""
        mine, theirs = (
            (record.method["name"], record.job, json.loads(to_json(record.config)), record.seed)
            for record in (self, other)
        )
        return mine == theirs


def new_run_id(method: str, job: str) -> str:
    """Return a folder name that no other run has, which sorts by time within a method and job."""
    return f"{method}-{job}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def read(folder: Path) -> Record:
    """Return the record in a run's folder.

    Raises:
        ValueError: the file is of another schema
        OSError: there is no such file
    """
    content = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"{folder / 'record.json'} has schema {schema!r}, this core reads {SCHEMA!r}")
    known = {f.name for f in dataclasses.fields(Record)}
    return Record(**{name: value for name, value in content.items() if name in known})


def records(out: Path) -> list[tuple[Path, Record]]:
    """Return the folders and records of all runs below ``out``, oldest first; other folders are passed over."""
    found = []
    for path in out.glob("*/record.json"):
        try:
            found.append((path.parent, read(path.parent)))
        except (OSError, ValueError, TypeError):
            continue
    return sorted(found, key=lambda pair: (pair[1].started_at, pair[1].run_id))


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader, or a crash, sees the old or the new content and nothing between."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    opened = temporary.open("x", encoding="utf-8", newline="")  # not mkstemp: the umask decides who may read
    try:
        with opened as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def to_json(content: Any, *, indent: int | None = None) -> str:
    """Return strict JSON; paths become strings, non-finite floats the strings ``"NaN"``, ``"Infinity"``, ….

    Scalars of numpy and torch become the numbers that they hold; a lone surrogate becomes its escape, so that the
    text can be written.
    """
    text = json.dumps(_plain(content), indent=indent, allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return "NaN" if math.isnan(content) else "Infinity" if content > 0 else "-Infinity"
    if isinstance(content, Path):
        return str(content)
    number = content.item() if hasattr(content, "item") else content
    return _plain(number) if type(number) is not type(content) else content
