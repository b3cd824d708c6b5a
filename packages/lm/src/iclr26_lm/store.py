"""A folder of traces: safetensors shards that are read field by field, and a manifest that is written last.

    manifest.jsonl              one line per trace: id, kind, shard, fields, P, G, T, label, spans, meta
    shard-00000.safetensors     keys "<id>/<field>"; hidden states "<id>/hidden.<layer>"

A shard is written to ``*.tmp``, synced and renamed; only then are its lines appended to the manifest. A writer that is
killed loses at most the shard that was open; ``resume=True`` continues and skips the ids that are listed. Processes
that write side by side give each a ``rank`` and get a manifest and shards of their own.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from iclr26_lm.ar_trace import ARTrace
from iclr26_lm.denoising_trace import DenoisingTrace
from iclr26_lm.labels import answer_label
from iclr26_lm.shard import Shard

if TYPE_CHECKING:
    import torch
    from filelock import BaseFileLock

Trace = ARTrace | DenoisingTrace
FORMAT = 1
SHARD_BYTES = 64 * 2**20
MOST_SHARD_BYTES = 512 * 2**20
_PLAIN = ("prompt_len", "spans", "meta")


class TraceStore:
    """Traces of a folder by id; tensors are read field by field when they are used.

        store = TraceStore.open("traces")
        store["q17"].entropy          # reads this one tensor
        for trace in store: ...

    Args:
        path: the folder
        entries: manifest entries by id, in order
    """

    def __init__(self, path: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
        self.path = path
        self._entries = dict(entries)
        self._shards: dict[str, Shard] = {}

    @classmethod
    def open(cls, path: str | Path) -> TraceStore:
        """Return the store in a folder.

        Raises:
            FileNotFoundError: the folder holds no manifest
            ValueError: an id twice, or a format that is newer than this library
        """
        folder = Path(path)
        manifests = sorted(folder.glob("manifest*.jsonl"))
        if not manifests:
            raise FileNotFoundError(f"{folder} holds no trace store: no manifest*.jsonl in it")
        entries: dict[str, Mapping[str, Any]] = {}
        for manifest in manifests:
            for entry in read_manifest(manifest):
                if entry["id"] in entries:
                    raise ValueError(f"id {entry['id']!r} is listed twice in {folder}: {manifest.name} repeats it")
                entries[entry["id"]] = entry
        return cls(folder, entries)

    @staticmethod
    def writer(
        path: str | Path, *, resume: bool = False, shard_bytes: int = SHARD_BYTES, rank: int | None = None
    ) -> TraceWriter:
        """Return a writer for a folder; see ``TraceWriter``."""
        return TraceWriter(path, resume=resume, shard_bytes=shard_bytes, rank=rank)

    @property
    def ids(self) -> list[str]:
        """The ids, in the order they were written."""
        return list(self._entries)

    @property
    def labels(self) -> dict[str, int]:
        """The label of every whole answer: 1 if any token is hallucinated, else -1 if any is unknown, else 0."""
        return {name: int(entry["label"]) for name, entry in self._entries.items()}

    def entry(self, name: str) -> Mapping[str, Any]:
        """Return a trace's manifest entry, read from no shard."""
        if name not in self._entries:
            raise KeyError(f"no trace {name!r} in {self.path} ({len(self)} traces)")
        return self._entries[name]

    def subset(self, ids: Iterable[str]) -> TraceStore:
        """Return a store of these ids, in this order; KeyError for one that is not there."""
        return TraceStore(self.path, {name: self.entry(name) for name in ids})

    def tensor(self, name: str, key: str) -> torch.Tensor:
        """Return one stored tensor, read from the file now."""
        entry = self.entry(name)
        if key not in entry["fields"]:
            raise KeyError(f"trace {name!r} has no field {key!r}; it has {', '.join(entry['fields'])}")
        shard = entry["shard"]
        if shard not in self._shards:
            self._shards[shard] = Shard(self.path / shard)
        return self._shards[shard].tensor(f"{name}/{key}")

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Trace]:
        return (self[name] for name in self._entries)

    @overload
    def __getitem__(self, name: str) -> Trace: ...
    @overload
    def __getitem__(self, name: int) -> Trace: ...
    def __getitem__(self, name: str | int) -> Trace:
        """Return a trace by id, or by place (so that a store is a sequence as data loaders expect)."""
        if isinstance(name, int):
            if not -len(self) <= name < len(self):
                raise IndexError(f"index must be in 0..{len(self) - 1} (got {name})")
            name = self.ids[name]
        entry = self.entry(name)
        trace: Trace = object.__new__(_LazyAR) if entry["kind"] == "ar" else object.__new__(_LazyDenoising)
        values = {key: entry[key] for key in _PLAIN if key in entry}
        values["spans"] = tuple((start, end, text) for start, end, text in entry["spans"])
        vars(trace).update(values, _store=self, _name=name)
        return trace

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_entries": self._entries, "_shards": {}}


class _LazyFields:
    """Fetches a field that the instance lacks from the store, and keeps it for as long as the trace lives."""

    _store: TraceStore
    _name: str

    def __getattr__(self, field: str) -> Any:
        if field.startswith("_") or field not in _field_names(type(self)):
            raise AttributeError(f"{type(self).__name__} has no attribute {field!r}")
        stored = self._store.entry(self._name)["fields"]
        if field == "hidden":
            layers = [int(key.removeprefix("hidden.")) for key in stored if key.startswith("hidden.")]
            value: Any = _LazyHidden(self._store, self._name, layers)
        else:
            value = self._store.tensor(self._name, field) if field in stored else None
        vars(self)[field] = value
        return value


class _LazyAR(_LazyFields, ARTrace):
    pass


class _LazyDenoising(_LazyFields, DenoisingTrace):
    pass


class _LazyHidden(Mapping[int, "torch.Tensor"]):
    def __init__(self, store: TraceStore, name: str, layers: Sequence[int]) -> None:
        self._store, self._name, self._layers = store, name, sorted(layers)

    def __getitem__(self, layer: int) -> torch.Tensor:
        if layer not in self._layers:
            raise KeyError(f"layer {layer} was not captured; layers {self._layers} were")
        return self._store.tensor(self._name, f"hidden.{layer}")

    def __iter__(self) -> Iterator[int]:
        return iter(self._layers)

    def __len__(self) -> int:
        return len(self._layers)


class TraceWriter:
    """Appends traces to a folder, a whole shard at a time; use it as a context manager.

        with TraceStore.writer("traces", resume=True) as writer:
            for question in questions:
                if question.id not in writer:
                    writer.append(question.id, trace_of(question))

    Args:
        path: the folder; made if missing
        resume: continue a store that is there, skipping nothing by itself: ask ``id in writer``
        shard_bytes: a shard is closed when it holds this much; at most 512 MiB. What is not yet closed is in memory.
        rank: number of this process among several that write to the same folder

    Raises:
        FileExistsError: the folder holds traces (of this rank) and ``resume`` is False
        BlockingIOError: another process is writing the same manifest
    """

    def __init__(
        self, path: str | Path, *, resume: bool = False, shard_bytes: int = SHARD_BYTES, rank: int | None = None
    ) -> None:
        if not 1 <= shard_bytes <= MOST_SHARD_BYTES:
            raise ValueError(f"shard_bytes must be in 1..{MOST_SHARD_BYTES} (got {shard_bytes})")
        self.path, self._suffix = Path(path), "" if rank is None else f"-r{rank}"
        self._shard_bytes = shard_bytes
        self.path.mkdir(parents=True, exist_ok=True)
        self._manifest = self.path / f"manifest{self._suffix}.jsonl"
        self._lock = _locked(self._manifest)
        try:
            self._ids, self._next_shard = self._listed(resume)
        except BaseException:
            self._lock.release()
            raise
        self._open_tensors: dict[str, torch.Tensor] = {}
        self._open_bytes = 0
        self._open_entries: list[dict[str, Any]] = []

    def _listed(self, resume: bool) -> tuple[set[str], int]:
        if not self._manifest.exists():
            return set(), 0
        if not resume:
            raise FileExistsError(f"{self._manifest} exists: pass resume=True to continue it, or another folder")
        _cut_torn_line(self._manifest)
        entries = read_manifest(self._manifest)
        numbers = [int(entry["shard"].removesuffix(".safetensors").rpartition("-")[2]) for entry in entries]
        return {entry["id"] for entry in entries}, max(numbers, default=-1) + 1

    def append(self, name: str, trace: Trace) -> None:
        """Add a trace; it is on disk once its shard is closed.

        Raises:
            ValueError: an empty id, or one that is already in the store
        """
        if not name or name in self:
            raise ValueError(f"id must be a new, non-empty string (got {name!r}, {len(self._ids)} ids in the store)")
        tensors = trace_tensors(trace)
        entry = {
            "id": name,
            "format": FORMAT,
            "kind": trace.kind,
            "shard": self._shard_name(),
            "fields": sorted(tensors),
            **_lengths(trace),
            "label": answer_label(trace.labels),
            "spans": [list(span) for span in trace.spans],
            "meta": dict(trace.meta),
        }
        json.dumps(entry, allow_nan=False)
        self._open_entries.append(entry)
        self._open_tensors |= {f"{name}/{key}": tensor for key, tensor in tensors.items()}
        self._open_bytes += sum(tensor.nbytes for tensor in tensors.values())
        self._ids.add(name)
        if self._open_bytes >= self._shard_bytes:
            self.flush()

    def flush(self) -> None:
        """Close the open shard: write it, rename it, then list its traces in the manifest."""
        from safetensors.torch import save_file

        if not self._open_entries:
            return
        shard = self.path / self._shard_name()
        temporary = shard.with_suffix(".safetensors.tmp")
        save_file(self._open_tensors, temporary)
        _sync(temporary)
        os.replace(temporary, shard)
        _sync(self.path)
        lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in self._open_entries)
        with self._manifest.open("ab") as manifest:
            manifest.write(lines.encode())
            manifest.flush()
            os.fsync(manifest.fileno())
        self._open_tensors, self._open_entries, self._open_bytes = {}, [], 0
        self._next_shard += 1

    def close(self) -> None:
        """Close the open shard and let go of the folder."""
        try:
            self.flush()
        finally:
            self._lock.release()

    def _shard_name(self) -> str:
        return f"shard{self._suffix}-{self._next_shard:05d}.safetensors"

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def trace_tensors(trace: Trace) -> dict[str, torch.Tensor]:
    """Return a trace's tensors by the name they are stored under, each in memory of its own."""
    named = {field: getattr(trace, field) for field in _field_names(type(trace)) if field not in (*_PLAIN, "hidden")}
    if isinstance(trace, ARTrace):
        named |= {f"hidden.{layer}": states for layer, states in trace.hidden.items()}
    return {field: tensor.detach().cpu().contiguous().clone() for field, tensor in named.items() if tensor is not None}


def read_manifest(path: Path) -> list[dict[str, Any]]:
    """Return a manifest's entries; a last line that a killed writer left unfinished is ignored."""
    entries = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}, line {number}, is no JSON: {error}") from error
        if entry.get("format") != FORMAT:
            raise ValueError(f"{path}, line {number}: format must be {FORMAT} (got {entry.get('format')}): upgrade")
        entries.append(entry)
    return entries


def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _lengths(trace: Trace) -> dict[str, int]:
    if isinstance(trace, ARTrace):
        return {"P": trace.prompt_len, "G": trace.response_length, "prompt_len": trace.prompt_len}
    return {"P": len(trace.prompt_ids), "G": trace.canvas, "T": trace.passes}


def _locked(manifest: Path) -> BaseFileLock:
    from filelock import FileLock, Timeout

    lock = FileLock(f"{manifest}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise BlockingIOError(f"another process is writing {manifest}: give each writer its own rank") from None
    return lock


def _cut_torn_line(path: Path) -> None:
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
