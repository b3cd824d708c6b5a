"""A host application: offers whatever methods its user has installed, and runs the one that is chosen.

    python host_app.py                        # what is there
    python host_app.py clipped-sgd --seed 3   # run its default job

It depends on iclr26-core alone and imports a method's libraries only when that method is run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import iclr26_core as iclr26
from iclr26_core.errors import Iclr26Error


def offer() -> str:
    """Return the menu: installed methods by kind."""
    lines = []
    for kind in iclr26.KINDS:
        methods = iclr26.methods(kind)
        if methods:
            lines.append(f"{kind}: {iclr26.KINDS[kind].summary}")
            lines += [f"  {name:<16} {method.summary}" for name, method in methods.items()]
    return "\n".join(lines) or "No methods are installed."


def result(record: iclr26.Record) -> str:
    """Return the method's metrics, each beside the best of its baselines."""
    lines = []
    for name, metric in record.metrics.items():
        rivals = {of: metrics[name]["value"] for of, metrics in record.baselines.items() if name in metrics}
        beside = ""
        if rivals and metric["higher_is_better"] is not None:
            best = (max if metric["higher_is_better"] else min)(rivals, key=lambda of: float(rivals[of]))
            beside = f"  (best baseline: {best} {float(rivals[best]):.4g})"
        lines.append(f"{name}: {float(metric['value']):.4g}{beside}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Show the menu, or run one method."""
    parser = argparse.ArgumentParser(description="A host application")
    parser.add_argument("method", nargs="?", help="one of the installed methods")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("host-app-runs"))
    chosen = parser.parse_args(arguments)
    if chosen.method is None:
        print(offer())
        return 0
    try:
        record = iclr26.run_job(chosen.method, options=iclr26.Options(seed=chosen.seed, out=chosen.out))
    except Iclr26Error as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(result(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
