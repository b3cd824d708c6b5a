"""The runs of a comparison: found in output folders, or run now, each in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from iclr26_core import child
from iclr26_core.compare.contenders import Contender
from iclr26_core.record import Record, records
from iclr26_core.run import Run


@dataclass(frozen=True)
class Failure:
    """A run that gave no result, and why."""

    method: str
    seed: int
    reason: str


@dataclass
class Gathered:
    """What a comparison has to go on: one ok record per method and seed, and the runs that failed."""

    records: list[Record] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    reused: int = 0
    notes: list[str] = field(default_factory=list)


def gather(
    run: Run,
    contenders: Sequence[Contender],
    seeds: Sequence[int],
    arguments: Sequence[str],
    *,
    elsewhere: Sequence[Record],
    timeout: float | None,
) -> Gathered:
    """Return one ok record for each method and seed: from the output folder, from elsewhere, or run now.

    Args:
        run: the comparison; the runs get it as their parent
        contenders: the methods with their work
        seeds: one run each
        arguments: options of the jobs, as on the command line
        elsewhere: records of other machines
        timeout: seconds per run, or None
    """
    here = [record for _, record in records(run.options.out)]
    gathered, missing = Gathered(), []
    for seed in seeds:
        for contender in contenders:
            work = contender.work(seed)
            done = next((record for record in (*reversed(here), *elsewhere) if _is(record, work)), None)
            if done is not None:
                gathered.records.append(done)
            elif contender.broken:
                gathered.failures.append(Failure(contender.name, seed, contender.broken))
            else:
                missing.append((contender, seed))
    gathered.reused = len(gathered.records)
    gathered.notes += _passed_over(contenders, seeds, elsewhere)
    if gathered.reused:
        run.say(f"{gathered.reused} of {len(seeds) * len(contenders)} runs are there already")
    for contender, seed in run.progress(missing, label="runs") if missing else ():
        result = _run(run, contender, seed, arguments, timeout)
        if isinstance(result, Record):
            gathered.records.append(result)
        else:
            gathered.failures.append(result)
    order = {contender.name: index for index, contender in enumerate(contenders)}
    gathered.records.sort(key=lambda record: (order[record.method["name"]], seeds.index(record.seed)))
    return gathered


def _is(record: Record, work: Record) -> bool:
    return record.status == "ok" and record.method == work.method and record.same_work(work)


def _run(
    run: Run, contender: Contender, seed: int, arguments: Sequence[str], timeout: float | None
) -> Record | Failure:
    """Return the record of a run in a process of its own, or why there is none."""
    out, work = run.options.out, contender.work(seed)
    unfinished = [r for _, r in records(out) if r.status != "ok" and r.method == work.method and r.same_work(work)]
    resume = ["--resume"] if contender.resumable and unfinished else []
    command = ["run", contender.name, contender.job, *arguments, "--seed", str(seed), "--out", str(out), *resume]
    log = run.out / f"{contender.name}-{seed}.log"
    run.say(f"{contender.name} {contender.job}, seed {seed} (its talk: {log})")
    ended = child.iclr26(command, log=log, parent=run.record.run_id, timeout=timeout)
    mine = [r for _, r in records(out) if r.parent == run.record.run_id and r.same_work(work)]
    if ended.code == 0 and mine and mine[-1].status == "ok":
        return mine[-1]
    run.artifact(log.name)
    error = mine[-1].error if mine and not ended.out_of_time else None
    reason = f"{error['type']}: {error['message']}" if error else ended.reason()
    run.say(f"{contender.name}, seed {seed}: {reason}")
    return Failure(contender.name, seed, reason)


def _passed_over(contenders: Sequence[Contender], seeds: Sequence[int], elsewhere: Sequence[Record]) -> Iterator[str]:
    """Yield what was not taken of the other machines' records of these methods, and why."""
    for contender in contenders:
        for record in elsewhere:
            if record.method["name"] == contender.name and record.job == contender.job:
                work = contender.work(record.seed)
                reasons = {
                    f"its status is {record.status}": record.status != "ok",
                    f"it is of version {record.method['version']}, not {contender.version}": record.method
                    != work.method,
                    f"seed {record.seed} is not asked for": record.seed not in seeds,
                    "its configuration is another": not record.same_work(work),
                }
                if why := [reason for reason, applies in reasons.items() if applies]:
                    yield f"passed over {record.run_id}: {', '.join(why)}"
