"""The federation's methods by name, so that a missing one can be answered with the command that installs it."""

from __future__ import annotations

from collections.abc import Iterable

from iclr26_core.errors import did_you_mean

CATALOGUE = {
    "abme": "editor",
    "avar": "objective",
    "charm": "detector",
    "clipped-sgd": "optimizer",
    "count-bridges": "generator",
    "cyclicreflex": "decoder",
    "daac": "agent",
    "distmlip": "potential",
    "dynamicmpnn": "generator",
    "fusedkv": "architecture",
    "human-mme": "benchmark",
    "latr": "decoder",
    "layersync": "objective",
    "logits-sam": "optimizer",
    "riemannian-fw": "optimizer",
    "test-space": "estimator",
    "tgmm": "estimator",
    "tracedet": "detector",
    "vas": "detector",
    "wavefront": "decoder",
}


def not_installed(name: str, installed: Iterable[str]) -> str:
    """Return what to tell somebody who asked for a method that is not installed."""
    if name in CATALOGUE:
        return f"{name} is not installed: pip install iclr26-{name}"
    hint = did_you_mean(name, {*CATALOGUE, *installed})
    return f"there is no method {name!r}{hint or ': see iclr26 list'}"
