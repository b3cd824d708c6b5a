"""The command line ``iclr26``. Data goes to stdout, talk to stderr; exit codes 0 ok, 1 failed, 2 usage, 3 method."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iclr26_core import plugins
from iclr26_core.errors import Iclr26Error, UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    logging.basicConfig(format="iclr26: %(message)s", level=logging.WARNING)
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.command(parsed) or 0)
    except Iclr26Error as error:
        return _report(error, error.exit_code)
    except KeyboardInterrupt as error:
        return _report(error, 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        traceback.print_exc()
        return _report(error, 1)


def _report(error: BaseException, code: int) -> int:
    print(f"iclr26: {type(error).__name__}: {error}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    from iclr26_core.kinds import KINDS

    parser = argparse.ArgumentParser(prog="iclr26", description="Methods of ICLR 2026: list, run, reproduce.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any, help: str, **options: Any) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help, description=help, **options)
        added.set_defaults(command=function)
        return added

    listing = command("list", _list, "list the installed methods")
    listing.add_argument("--kind", help=f"only this kind: {', '.join(KINDS)}")
    listing.add_argument("--json", action="store_true", help="print JSON")
    show = command("show", _show, "show one method: paper, jobs, baselines")
    show.add_argument("name", metavar="NAME")
    for name, function, help in (
        ("run", _run, "run a job of a method; NAME --help lists its options"),
        ("reproduce", _reproduce, "check the claims of a method's paper; NAME --help lists the options"),
    ):
        added = command(name, function, help)
        added.add_argument("name", metavar="NAME")
        added.add_argument(
            "rest", nargs=argparse.REMAINDER, metavar="[JOB] [options]" if name == "run" else "[options]"
        )
    runs = command("runs", _runs, "list the runs in an output folder")
    runs.add_argument("--out", type=Path, help="the folder; default ICLR26_OUT, else iclr26-runs here")
    runs.add_argument("--json", action="store_true", help="print the records as JSON lines")
    command("doctor", _doctor, "import every installed method and show what is broken")
    registry = command("registry", _registry, "write or check registry.toml of a workspace")
    mode = registry.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="write it")
    mode.add_argument("--check", action="store_true", help="exit 1 if it is not what --write would write")
    registry.add_argument("--root", type=Path, default=Path(), help="the workspace's root")
    return parser


def _list(parsed: argparse.Namespace) -> None:
    from iclr26_core import listing

    listing.print_methods(plugins.discovered(), parsed.kind, as_json=parsed.json)


def _show(parsed: argparse.Namespace) -> None:
    from iclr26_core import listing

    listing.print_method(plugins.discovered().find(parsed.name))


def _run(parsed: argparse.Namespace) -> None:
    from iclr26_core import config, execute, method, table

    found = plugins.discovered().find(parsed.name).method
    rest = parsed.rest
    job = found.job(rest[0] if rest and not rest[0].startswith("-") else None)
    arguments = rest[1:] if rest and rest[0] == job.name else rest
    prog = f"iclr26 run {found.name} {job.name}"
    settings, options = config.parse(method.load_target(job.config), arguments, prog=prog)
    table.print_metrics(execute.run_job(found.name, job.name, settings, options=options))


def _reproduce(parsed: argparse.Namespace) -> None:
    from iclr26_core import config, execute, table
    from iclr26_core.claims import Reproduction

    plugins.discovered().find(parsed.name)
    settings, options = config.parse(Reproduction, parsed.rest, prog=f"iclr26 reproduce {parsed.name}")
    if options.resume:
        raise UsageError("reproduce cannot be resumed: leave out --resume")
    table.print_claims(execute.reproduce(parsed.name, scale=settings.scale, options=options))


def _runs(parsed: argparse.Namespace) -> None:
    from iclr26_core import listing, options

    listing.print_runs(parsed.out or options.Options().out, as_json=parsed.json)


def _doctor(parsed: argparse.Namespace) -> int:
    from iclr26_core import doctor

    return doctor.examine(plugins.discovered())


def _registry(parsed: argparse.Namespace) -> int:
    from iclr26_core import registry

    if parsed.write:
        registry.write(parsed.root)
        return 0
    difference = registry.difference(parsed.root)
    print(difference, end="")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
