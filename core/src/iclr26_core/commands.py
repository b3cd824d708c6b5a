"""What each command does; heavy modules are imported by the commands that need them."""

from __future__ import annotations

import argparse

from iclr26_core import plugins
from iclr26_core.errors import UsageError


def list_methods(parsed: argparse.Namespace) -> None:
    """Print the installed methods."""
    from iclr26_core import listing

    listing.print_methods(plugins.discovered(), parsed.kind, as_json=parsed.json)


def show(parsed: argparse.Namespace) -> None:
    """Print one method."""
    from iclr26_core import listing

    listing.print_method(plugins.discovered().find(parsed.name))


def run(parsed: argparse.Namespace) -> None:
    """Run a job and print its metrics beside those of its baselines."""
    from iclr26_core import config, execute, method, table

    found = plugins.discovered().find(parsed.name).method
    rest = parsed.rest
    job = found.job(rest[0] if rest and not rest[0].startswith("-") else None)
    arguments = rest[1:] if rest and rest[0] == job.name else rest
    prog = f"iclr26 run {found.name} {job.name}"
    settings, options = config.parse(method.load_target(job.config), arguments, prog=prog)
    table.print_metrics(execute.run_job(found.name, job.name, settings, options=options))


def reproduce(parsed: argparse.Namespace) -> int:
    """Check a paper's claims and print their verdicts."""
    from iclr26_core import config, execute, flags, table
    from iclr26_core.claims import Reproduction

    flags.require_all_or_one(parsed)
    if parsed.all:
        return _reproduce_all(parsed)

    plugins.discovered().find(parsed.name)
    settings, options = config.parse(Reproduction, parsed.rest, prog=f"iclr26 reproduce {parsed.name}")
    if options.resume:
        raise UsageError("reproduce cannot be resumed: leave out --resume")
    table.print_claims(execute.reproduce(parsed.name, scale=settings.scale, options=options))
    return 0


def _reproduce_all(parsed: argparse.Namespace) -> int:
    """Check every paper's claims, write the report and print its summary; return 1 if a method did not complete."""
    from iclr26_core import flags, table
    from iclr26_core.report import federation
    from iclr26_core.report import outcomes as report

    given = {name: getattr(parsed, name) for name in ("scale", "only", "timeout")}
    question = federation.Question(**{name: value for name, value in given.items() if value is not None})
    folder = parsed.report or flags.REPORT
    made = federation.reproduce_all(question, report=folder, out=parsed.out)
    table.print_table(report.HEADER, [*(outcome.row for outcome in made.outcomes), made.totals])
    print(f"{made.sentence}\n{folder / 'index.html'}")
    return 0 if all(outcome.status == "ok" for outcome in made.outcomes) else 1


def compare(parsed: argparse.Namespace) -> None:
    """Set methods side by side and print the tables."""
    from iclr26_core.compare import Question, presentation
    from iclr26_core.compare import compare as compared

    question = Question(
        what=parsed.what, job=parsed.job, baseline=parsed.baseline, metrics=parsed.metric, seeds=parsed.seeds,
        elsewhere=parsed.records, arguments=parsed.behind, timeout=parsed.timeout,
    )  # fmt: skip
    presentation.print_result(compared(question, out=parsed.out))


def runs(parsed: argparse.Namespace) -> None:
    """Print the runs in an output folder."""
    from iclr26_core import listing, options

    listing.print_runs(parsed.out or options.Options().out, as_json=parsed.json)


def doctor(parsed: argparse.Namespace) -> int:
    """Import everything; return 1 if something is broken."""
    from iclr26_core import doctor

    return doctor.examine(plugins.discovered())


def new(parsed: argparse.Namespace) -> None:
    """Write a package and print the commands to go on with."""
    from iclr26_core.generator import new

    options = {name: getattr(parsed, name) for name in ("folder", "author", "federation")}
    target, steps = new.create(parsed.slug, parsed.kind, **options)
    print("\n".join([f"{target} is written; go on with:", *(f"  {step}" for step in steps)]))


def registry(parsed: argparse.Namespace) -> int:
    """Write registry.toml, or print how it differs and return 1."""
    from iclr26_core import registry

    if parsed.write:
        registry.write(parsed.root)
        return 0
    difference = registry.difference(parsed.root)
    print(difference, end="")
    return 1 if difference else 0
