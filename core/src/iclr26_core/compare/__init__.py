"""``iclr26 compare``: methods and their baselines on the same input and seeds, from records or from runs made now."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iclr26_core import execute
from iclr26_core.collective import collective
from iclr26_core.compare import plot as comparison_plot
from iclr26_core.compare import presentation
from iclr26_core.compare.contenders import Contender, chosen_names, contender
from iclr26_core.compare.figures import compared, metrics_of, reference, systems
from iclr26_core.compare.gather import Gathered, gather
from iclr26_core.compare.groups import Group, groups
from iclr26_core.compare.result import Result
from iclr26_core.errors import Iclr26Error, UsageError, did_you_mean
from iclr26_core.kinds import KINDS, Metric
from iclr26_core.options import Options
from iclr26_core.plugins import Plugins, discovered
from iclr26_core.record import Record, records, to_json, write_atomically
from iclr26_core.run import Run

THIS = collective("comparison", job="compare", target="iclr26_core.compare:compare", summary="methods side by side")


class NothingCompared(Iclr26Error):
    """No two results could be set side by side; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be compared.

    Attributes:
        what: a kind, or names of methods with commas between
        job: the methods' job; None is each one's default job
        baseline: what differences are to; None is the first baseline
        metrics: names of metrics beyond those that the kind shares
        seeds: one run per method and seed
        elsewhere: output folders of other machines
        arguments: options of every method's job, as on the command line
        timeout: seconds per run; None is no limit
    """

    what: str
    job: str | None = None
    baseline: str | None = None
    metrics: Sequence[str] = ()
    seeds: Sequence[int] = (0, 1, 2, 3, 4)
    elsewhere: Sequence[Path] = ()
    arguments: Sequence[str] = ()
    timeout: float | None = None


def compare(question: Question, *, out: Path | None = None, among: Plugins | None = None) -> Result:
    """Return a comparison; it is a run of its own, with ``compare.json``, ``compare.md`` and ``compare.svg``.

    Args:
        question: what is to be compared
        out: the output folder; what is there already is not run again
        among: the plugins to look in; None is the cached instance

    Raises:
        UsageError: no such kind, job, option, metric, baseline or folder
        MethodNotFound, PluginError: no such method, or a broken one
        NothingCompared: no run gave a result that can be compared
    """
    plugins = among or discovered()
    elsewhere = [record for folder in question.elsewhere for record in _records(folder)]
    names = chosen_names(question.what, plugins, elsewhere)
    contenders = [contender(name, question.job, question.arguments, plugins, elsewhere) for name in names]
    options = next((each.options for each in contenders if not each.broken), Options())
    options = dataclasses.replace(options, out=out or options.out, seed=question.seeds[0])
    asked = {**dataclasses.asdict(question), "methods": names}
    results: list[Result] = []

    def work(run: Run) -> None:
        gathered = gather(
            run, contenders, question.seeds, question.arguments, elsewhere=elsewhere, timeout=question.timeout
        )
        results.append(_result(run, question, asked, _shared(contenders), gathered))

    execute.perform(work, THIS, "compare", asked, options, plugins)
    return results[0]


def _records(folder: Path) -> list[Record]:
    if not folder.is_dir():
        raise UsageError(f"--records must be an output folder with runs (got {folder}, which is no folder)")
    return [record for _, record in records(folder)]


def _shared(contenders: Sequence[Contender]) -> list[Metric]:
    """Return the metrics that the kinds of the contenders share, each name once."""
    kinds = dict.fromkeys(each.kind for each in contenders if each.kind)
    return list({metric.name: metric for kind in kinds for metric in KINDS[kind].metrics}.values())


def _result(
    run: Run, question: Question, asked: dict[str, Any], shared: Sequence[Metric], gathered: Gathered
) -> Result:
    """Return the result, with its files in the run's folder."""
    found = groups(gathered.records)
    _require_known(question, found)
    made = [compared(group, shared=shared, wanted=question.metrics, baseline=question.baseline) for group in found]
    result = Result(
        run_id=run.record.run_id, question=asked, failures=gathered.failures, notes=gathered.notes,
        comparisons=[comparison for comparison in made if comparison.blocks],
    )  # fmt: skip
    for name, text in (
        ("compare.json", to_json(result.as_dict(), indent=1)),
        ("compare.md", presentation.as_markdown(result)),
        ("compare.svg", comparison_plot.svg(result)),
    ):
        write_atomically(run.out / name, text)
        run.artifact(name)
    run.metric("runs", len(gathered.records))
    run.metric("failures", len(gathered.failures))
    if not result.comparisons:
        raise NothingCompared(_why(gathered, shared, found))
    return result


def _require_known(question: Question, found: Sequence[Group]) -> None:
    """Raise UsageError for a metric or a baseline that no run has; the runs themselves are kept."""
    everything = [system for group in found for system in systems(group)]
    known, labels = metrics_of(everything), [system.label for system in everything]
    for name in question.metrics:
        if found and name not in known:
            hint = did_you_mean(name, known) or f": they have {', '.join(known) or 'none'}"
            raise UsageError(f"no run has metric {name!r}{hint}")
    if found and question.baseline is not None and reference(everything, question.baseline) is None:
        hint = did_you_mean(question.baseline, labels) or f": there are {', '.join(dict.fromkeys(labels))}"
        raise UsageError(f"no run has baseline {question.baseline!r}{hint}")


def _why(gathered: Gathered, shared: Sequence[Metric], found: Sequence[Group]) -> str:
    if not found:
        reasons = {failure.method: failure for failure in reversed(gathered.failures)}.values()
        told = "; ".join(f"{failure.method}, seed {failure.seed}: {failure.reason}" for failure in reasons)
        return f"nothing could be compared, no run gave a result: {told}"
    known = metrics_of([system for group in found for system in systems(group)])
    names = ", ".join(metric.name for metric in shared)
    return f"no run has a metric that the kind shares ({names}): choose with --metric from {', '.join(known) or 'none'}"
