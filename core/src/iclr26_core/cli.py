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

from iclr26_core import commands
from iclr26_core.errors import Iclr26Error
from iclr26_core.flags import add_compare, add_reproduce_all, split


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    logging.basicConfig(format="iclr26: %(message)s", level=logging.WARNING)
    words, behind = split(sys.argv[1:] if arguments is None else arguments)
    parsed = _parser().parse_args(words)
    parsed.behind = behind
    try:
        code = int(parsed.command(parsed) or 0)
        sys.stdout.flush()  # here and not at exit, so that a closed pipe is met where it is caught
        return code
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
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any, help: str, **options: Any) -> argparse.ArgumentParser:
        added = subparsers.add_parser(name, help=help, description=help, **options)
        added.set_defaults(command=function)
        return added

    listing = command("list", commands.list_methods, "list the installed methods")
    listing.add_argument("--kind", help=f"only this kind: {', '.join(KINDS)}")
    listing.add_argument("--json", action="store_true", help="print JSON")
    show = command("show", commands.show, "show one method: paper, jobs, baselines")
    show.add_argument("name", metavar="NAME")
    for name, function, help in (
        ("run", commands.run, "run a job of a method; NAME --help lists its options"),
        (
            "reproduce",
            commands.reproduce,
            "check the claims of a method's paper; NAME --help lists the options; or of every method's: --all",
        ),
    ):
        added = command(name, function, help)
        added.add_argument("name", metavar="NAME", nargs=None if name == "run" else "?")
        added.add_argument(
            "rest", nargs=argparse.REMAINDER, metavar="[JOB] [options]" if name == "run" else "[options]"
        )
    add_reproduce_all(subparsers.choices["reproduce"])
    add_compare(command("compare", commands.compare, "set methods and their baselines side by side, over seeds"))
    runs = command("runs", commands.runs, "list the runs in an output folder")
    runs.add_argument("--out", type=Path, help="the folder; default ICLR26_OUT, else iclr26-runs here")
    runs.add_argument("--json", action="store_true", help="print the records as JSON lines")
    command("doctor", commands.doctor, "import every installed method and show what is broken")
    new = command("new", commands.new, "write a complete package of a method, whose tests pass at once")
    new.add_argument("slug", metavar="SLUG", help="the method's name, lower-case words joined by dashes")
    new.add_argument("--kind", required=True, help=f"one of {', '.join(KINDS)}")
    new.add_argument("--in", dest="folder", type=Path, help="the workspace's root, or any folder outside; default here")
    new.add_argument("--author", help="goes into the package's pyproject")
    new.add_argument("--federation", action="store_true", help="fail unless the folder is the workspace's root")
    registry = command("registry", commands.registry, "write or check registry.toml of a workspace")
    mode = registry.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true", help="write it")
    mode.add_argument("--check", action="store_true", help="exit 1 if it is not what --write would write")
    registry.add_argument("--root", type=Path, default=Path(), help="the workspace's root")
    return parser


if __name__ == "__main__":
    sys.exit(main())
