"""Asking a model every question once: append-only, resumable after any kind of end, one process per folder."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from filelock import FileLock, Timeout

from ..data.prompts import Prompts, prompt_set
from .chat import KeyedChat, Reply, VisionChat
from .responses import Response, ResponseWriter, read_responses

if TYPE_CHECKING:
    from ..data.question import Question
    from ..human_mme import HumanMME

SAME = ("data", "model", "prompts_sha256", "generation")
Progress = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class RunInfo:
    """How a run ended.

    Attributes:
        out_dir: its folder
        asked: calls made by this process
        answered: questions with a reply, of all processes
        errors: questions without one
        total: questions
        retries: further tries that calls took
    """

    out_dir: Path
    asked: int
    answered: int
    errors: int
    total: int
    retries: int

    @property
    def coverage(self) -> float:
        """Share of the questions with a reply."""
        return self.answered / self.total


def run(
    bench: HumanMME,
    model: VisionChat | KeyedChat,
    out_dir: str | Path,
    *,
    concurrency: int = 8,
    batch_size: int = 1,
    prompts: str = "iclr26",
    resume: bool = True,
    retry_errors: bool = True,
    font: str | None = None,
    rank: int = 0,
    world_size: int = 1,
    progress: Callable[..., Iterable[Any]] | None = None,
) -> RunInfo:
    """Ask every question that has no reply yet; write manifest.json and responses.jsonl into a folder.

    Args:
        bench: the questions
        model: see :class:`VisionChat`
        out_dir: of this run alone
        concurrency: calls at a time
        batch_size: questions per call, of one picture size, for models with ``generate_batch``
        prompts: ``iclr26`` or ``official:PATH``
        resume: go on where an earlier process ended; False refuses a folder that has responses
        retry_errors: ask questions again that ended in an error
        font: TrueType file for the letters of four pictures
        rank: of this process among ``world_size`` that share the questions by the hash of their key
        world_size: processes; each writes its own responses file
        progress: wraps the finished responses, e.g. to show a bar

    Raises:
        ValueError: the folder belongs to other data, another model, other prompts or settings; the message names which
        RuntimeError: another process is at this folder
        OSError: the disk is full; every finished answer is kept
    """
    if concurrency < 1 or batch_size < 1:
        raise ValueError(f"concurrency and batch_size must be >= 1 (got {concurrency} and {batch_size})")
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    name = "responses.jsonl" if world_size == 1 else f"responses-{rank:03d}.jsonl"
    try:
        with FileLock(out / f".{name}.lock", blocking=False):
            return _run(bench, model, out, name, concurrency, batch_size, prompt_set(prompts), resume, retry_errors,
                        font, rank, world_size, progress)  # fmt: skip
    except Timeout as error:
        raise RuntimeError(f"another process is at {out}: wait for it, or choose another folder") from error


def _run(
    bench: HumanMME, model: Any, out: Path, name: str, concurrency: int, batch_size: int, prompts: Prompts,
    resume: bool, retry_errors: bool, font: str | None, rank: int, world_size: int, progress: Any,
) -> RunInfo:  # fmt: skip
    _manifest(out, bench, model, prompts, font)
    path = out / name
    if path.is_file() and path.stat().st_size and not resume:
        raise ValueError(f"{out} holds responses already: resume it, or choose another folder")
    done = read_responses(path) if path.is_file() else {}
    mine = [q for q in bench if crc32(q.key.encode()) % world_size == rank]
    keep = {key for key, response in done.items() if response.error is None or not retry_errors}
    todo = [question for question in mine if question.key not in keep]
    asked = retries = 0
    with ResponseWriter(path) as writer:
        for response in (progress or _plain)(_answers(todo, model, prompts, font, concurrency, batch_size), len(todo)):
            writer.append(response)
            done[response.key] = response
            asked += 1
            retries += response.attempt - 1
    answered = sum(q.key in done and done[q.key].answered for q in mine)
    return RunInfo(out, asked, answered, len(mine) - answered, len(mine), retries)


def _plain(responses: Iterable[Response], total: int) -> Iterable[Response]:
    return responses


def _answers(
    todo: Sequence[Question], model: Any, prompts: Prompts, font: str | None, concurrency: int, batch_size: int
) -> Iterator[Response]:
    if isinstance(model, KeyedChat):
        for question in todo:
            yield _keyed(model, question)
    elif batch_size > 1 and hasattr(model, "generate_batch"):
        yield from _batches(todo, model, prompts, font, batch_size)
    else:
        yield from _threads(todo, lambda question: _ask(model, question, prompts, font), concurrency)


def _threads(
    todo: Sequence[Question], ask: Callable[[Question], Response], concurrency: int
) -> Iterator[Response]:
    """Yield responses as they come, with at most twice ``concurrency`` questions under way, so that memory is flat."""
    waiting = iter(todo)
    running: set[Future[Response]] = set()
    pool = ThreadPoolExecutor(concurrency)
    try:
        while True:
            while len(running) < 2 * concurrency and (question := next(waiting, None)) is not None:
                running.add(pool.submit(ask, question))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _keyed(model: KeyedChat, question: Question) -> Response:
    try:
        return Response(question.key, model.answer(question), "stop")
    except Exception as error:  # an answer that fails is an error row, whatever failed
        return Response(question.key, error=f"{type(error).__name__}: {error}")


def _ask(model: VisionChat, question: Question, prompts: Prompts, font: str | None) -> Response:
    started = time.perf_counter()
    try:
        reply = model.generate(question.image(font=font), question.prompt(prompts))
    except Exception as error:  # whatever a model raises, the run goes on and the row says what
        seconds = time.perf_counter() - started
        tries = int(getattr(error, "attempts", 1))
        return Response(question.key, None, None, seconds, tries, f"{type(error).__name__}: {error}")
    return _response(question, reply, time.perf_counter() - started)


def _batches(
    todo: Sequence[Question], model: Any, prompts: Prompts, font: str | None, batch_size: int
) -> Iterator[Response]:
    """Yield responses to questions of equal picture size together; a batch waits for questions, not for pictures."""
    groups: dict[Any, list[Question]] = {}
    for question in todo:
        group = groups.setdefault(question.size, [])
        group.append(question)
        if len(group) == batch_size:
            yield from _batch(groups.pop(question.size), model, prompts, font)
    for group in groups.values():
        yield from _batch(group, model, prompts, font)


def _batch(questions: Sequence[Question], model: Any, prompts: Prompts, font: str | None) -> Iterator[Response]:
    started, images, good = time.perf_counter(), [], []
    for question in questions:
        try:
            images.append(question.image(font=font))
            good.append(question)
        except (OSError, ValueError) as error:
            yield Response(question.key, error=f"{type(error).__name__}: {error}")
    try:
        replies = model.generate_batch(images, [question.prompt(prompts) for question in good]) if good else []
    except Exception as error:  # as in _ask
        yield from (Response(question.key, error=f"{type(error).__name__}: {error}") for question in good)
        return
    seconds = (time.perf_counter() - started) / max(len(good), 1)
    for question, reply in zip(good, replies, strict=True):
        yield _response(question, reply, seconds)


def _response(question: Question, reply: Reply, seconds: float) -> Response:
    return Response(question.key, reply.text, reply.finish_reason, round(seconds, 4), reply.attempts)


def _manifest(out: Path, bench: HumanMME, model: Any, prompts: Prompts, font: str | None) -> None:
    new = {
        "data": bench.fingerprint(), "questions": len(bench), "model": model.name, "prompts": prompts.source,
        "prompts_sha256": prompts.sha256, "generation": getattr(model, "settings", {}), "font": font or "Pillow's own",
        "comparable_to_published": prompts.source == "official", "versions": _versions(),
    }  # fmt: skip
    path = out / "manifest.json"
    if path.is_file():
        old = json.loads(path.read_text(encoding="utf-8"))
        for name in SAME:
            if old[name] != json.loads(json.dumps(new[name])):
                raise ValueError(
                    f"{out} belongs to a run with another {name} (there {old[name]!r}, here {new[name]!r}): "
                    "choose another folder"
                )
        return
    part = path.with_suffix(".part")
    part.write_text(json.dumps(new, indent=1), encoding="utf-8")
    os.replace(part, path)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("iclr26-human-mme", "pillow", "numpy", "openai", "torch", "transformers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
