"""The folder of a run: new or resumed, locked while a process is at it, and known to be writable before work starts."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from iclr26_core.errors import OutputError
from iclr26_core.options import Options
from iclr26_core.progress import say
from iclr26_core.record import Record, read, records

FREE_BYTES = 10 * 2**20
Claimed = tuple[Path, Record, BaseFileLock]


@contextlib.contextmanager
def run_folder(record: Record, options: Options) -> Iterator[tuple[Path, Record, bool]]:
    """Yield the run's folder, locked and with a record in it; with ``--resume`` that of an unfinished run."""
    out = options.out.absolute()  # a job may change the working folder
    with contextlib.ExitStack() as undo, contextlib.ExitStack() as held:
        try:
            resumed = _unfinished(record, out) if options.resume else None
            if options.resume and resumed is None:
                say(f"nothing to resume in {out}: no unfinished run has this configuration and seed; starting anew")
            folder, record, lock = resumed or _new(record, out, undo)
            held.callback(lock.release)
            if shutil.disk_usage(folder).free < FREE_BYTES:
                raise OSError(f"less than {FREE_BYTES // 2**20} MiB are free")
            record.write(folder)
        except OSError as error:
            raise OutputError(f"cannot write to the output folder {out}: {error}: choose another with --out") from error
        undo.pop_all()
        yield folder, record, resumed is not None


def _new(record: Record, out: Path, undo: contextlib.ExitStack) -> Claimed:
    folder = out / record.run_id
    folder.mkdir(parents=True)
    undo.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder, record, FileLock(folder / ".lock", blocking=False).acquire().lock


def _unfinished(record: Record, out: Path) -> Claimed | None:
    """Return the newest unfinished run of the same work that no other process is at, with its lock held."""
    for folder, earlier in reversed(records(out)):
        if earlier.status != "ok" and earlier.same_work(record):
            with contextlib.suppress(Timeout):
                lock = FileLock(folder / ".lock", blocking=False).acquire().lock
                if read(folder).status != "ok":  # it may have ended between the listing and the lock
                    again = dataclasses.replace(record, run_id=earlier.run_id, started_at=earlier.started_at)
                    return folder, again, lock
                lock.release()
    return None


def is_running(folder: Path) -> bool:
    """Return whether a process is at the run in this folder."""
    try:
        with FileLock(folder / ".lock", blocking=False):
            return False
    except Timeout:
        return True
    except OSError:  # nobody can lock a file here, for example in a folder that is read-only
        return False
