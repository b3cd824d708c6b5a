"""responses.jsonl: one line per answer, appended; a torn last line is dropped."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

SYNC_EVERY = 50


@dataclass(frozen=True)
class Response:
    """What came back for one question.

    Attributes:
        key: of the question
        raw: the reply; None with an error, or where nothing came
        finish_reason: ``stop``, ``length``, ``content_filter`` or None
        latency: seconds
        attempt: tries that it took
        error: what went wrong, or None
    """

    key: str
    raw: str | None = None
    finish_reason: str | None = None
    latency: float = 0.0
    attempt: int = 1
    error: str | None = None

    @property
    def answered(self) -> bool:
        """Whether a reply came, be it empty; an error is none, nor is None."""
        return self.error is None and self.raw is not None

    @property
    def refused(self) -> bool:
        """Whether a content filter stopped it, or an empty reply came."""
        return self.error is None and (self.finish_reason == "content_filter" or not (self.raw or "").strip())


def read_responses(path: Path) -> dict[str, Response]:
    """Return the last response of every key of a file, or of all responses*.jsonl of a folder.

    Raises:
        FileNotFoundError: there is none
        ValueError: a line in the middle that is no response
    """
    paths = sorted(path.glob("responses*.jsonl")) if path.is_dir() else [path]
    if not paths or not paths[0].is_file():
        raise FileNotFoundError(f"there is no responses.jsonl in {path}: run human-mme infer --out {path} first")
    found: dict[str, Response] = {}
    for each in paths:
        for response in _lines(each):
            if response.key not in found or response.answered or not found[response.key].answered:
                found[response.key] = response
    return found


def _lines(path: Path) -> Iterator[Response]:
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield Response(**json.loads(line))
        except (ValueError, TypeError) as error:
            if number == len(lines):  # without a line end: the process was killed while it wrote
                return
            raise ValueError(f"{path}, line {number} is no response ({error}): remove the line") from error


class ResponseWriter:
    """Appends responses; every line reaches the system at once, the disk every 50.

    Args:
        path: the file; a torn last line of an earlier process is cut off
    """

    def __init__(self, path: Path) -> None:
        if path.is_file():
            content = path.read_bytes()
            keep = content.rfind(b"\n") + 1
            if keep < len(content):
                os.truncate(path, keep)
        self._file = path.open("ab", buffering=0)
        self._unsynced = 0

    def __enter__(self) -> ResponseWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.fsync(self._file.fileno())
        finally:
            self._file.close()

    def append(self, response: Response) -> None:
        """Write one line; OSError where the disk is full, and a later run cuts the torn line off."""
        line: dict[str, Any] = dataclasses.asdict(response)
        self._file.write(json.dumps(line).encode() + b"\n")
        self._unsynced += 1
        if self._unsynced >= SYNC_EVERY:
            os.fsync(self._file.fileno())
            self._unsynced = 0
