"""The command-line flags of ``compare`` and of ``reproduce --all``, which are over several methods."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from iclr26_core.errors import UsageError

OUT = "the folder for runs; default ICLR26_OUT, else iclr26-runs here"
REPORT = Path("docs") / "reproduction"


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before and after ``--`` of ``compare``; every other command has all of them before."""
    words = list(arguments)
    if words[:1] != ["compare"] or "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``compare``."""
    parser.usage = "%(prog)s KIND|A,B [options] [-- options of every method's job]"
    parser.epilog = (
        "Runs that are in --out or in --records already are taken from there, so that a comparison that was "
        "interrupted goes on where it was. Only runs with equal inputs are set side by side."
    )
    parser.add_argument("what", metavar="KIND|A,B", help="a kind, or the names of methods with commas between")
    parser.add_argument("--job", help="the methods' job; default is each one's default job")
    parser.add_argument("--baseline", metavar="NAME", help="what differences are to; default is the first baseline")
    parser.add_argument(
        "--metric",
        metavar="M",
        action="append",
        default=[],
        help="a metric that the kind does not share; repeatable",
    )
    parser.add_argument(
        "--seeds", type=_seeds, default=(0, 1, 2, 3, 4), metavar="0,1,…", help="one run each; default 0,1,2,3,4"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help=OUT)
    parser.add_argument(
        "--records", type=Path, action="append", default=[], metavar="DIR", help="runs of another machine; repeatable"
    )
    parser.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="per run; default is no limit")


def add_reproduce_all(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``reproduce --all``."""
    parser.usage = "%(prog)s NAME [options of NAME]\n       %(prog)s --all [options]"
    group = parser.add_argument_group("with --all")
    group.add_argument("--all", action="store_true", help="the claims of every installed method, and a report of them")
    group.add_argument("--scale", choices=("small", "paper"), help="default small: minutes per method on two cores")
    group.add_argument("--only", type=_names, metavar="A,B", help="these methods; default is all")
    group.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="per method; default 1800")
    group.add_argument("--out", type=Path, metavar="DIR", help=OUT)
    group.add_argument("--report", type=Path, metavar="DIR", help=f"the folder for the report; default {REPORT}")


def require_all_or_one(parsed: argparse.Namespace) -> None:
    """Raise UsageError unless ``reproduce`` has either a name, with its options behind it, or ``--all``."""
    given = [name for name in ("scale", "only", "timeout", "out", "report") if getattr(parsed, name) is not None]
    if parsed.all and parsed.name:
        raise UsageError(f"reproduce takes a name or --all (got {parsed.name!r} and --all): use --only {parsed.name}")
    if not parsed.all and not parsed.name:
        raise UsageError("reproduce needs the NAME of a method, or --all")
    if parsed.name and given:
        raise UsageError(f"the options of {parsed.name} come behind it (got --{given[0]} before it)")


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError(f"must be names with commas between (got {text!r})")
    return names


def _seeds(text: str) -> tuple[int, ...]:
    try:
        seeds = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be whole numbers with commas between (got {text!r})") from None
    if len(set(seeds)) < len(seeds) or not all(0 <= seed < 2**32 for seed in seeds):
        raise argparse.ArgumentTypeError(f"must be different numbers in [0, 2**32) (got {text!r})")
    return seeds


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of seconds > 0 (got {text!r})")
    return seconds
