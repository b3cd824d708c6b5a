"""What a report says of a claim and of a machine, as labels and texts; claims are as they stand in records."""

from __future__ import annotations

from typing import Any

from iclr26_core.claims import Estimate
from iclr26_core.drawing import forest

SIGNS = {"holds": "✓", "fails": "✗", "not testable here": "–"}


def verdict(claim: dict[str, Any]) -> str:
    """Return the verdict with a sign that can be told apart without colour."""
    return f"{SIGNS[claim['verdict']]} {claim['verdict']}"


def measured(claim: dict[str, Any]) -> Estimate | None:
    """Return the measured figure; records keep numbers that are not finite as strings."""
    kept = claim["measured"]
    return kept and Estimate(**{**kept, **{end: float(kept[end]) for end in ("value", "low", "high")}})


def of_claim(claim: dict[str, Any]) -> list[tuple[str, str]]:
    """Return everything else about a claim: label and text, those without a text left out."""
    estimate = measured(claim)
    repeated = [f"n = {estimate.n}"] if estimate else []
    repeated += [f"seeds {', '.join(map(str, claim['seeds']))}"] if claim["seeds"] else []
    found = [
        ("Paper", f"{claim['paper']} ({claim['source']})"),
        ("Here", str(estimate) if estimate else "not measured"),
        ("Holds if", claim["region"]),
        ("Needs", claim["needs"]),
        ("Interval", estimate.interval if estimate and estimate.low < estimate.high else ""),
        ("Repetitions", ", ".join(repeated)),
        ("Compared", claim["detail"]),
        ("Took", "" if claim["seconds"] is None else f"{claim['seconds']:.1f} s at {claim['scale']} scale"),
    ]
    return [(label, text) for label, text in found if text]


def panel(claim: dict[str, Any]) -> forest.Panel | None:
    """Return the claim's interval and the region in which it holds, as a row of a forest plot."""
    estimate = measured(claim)
    if estimate is None:
        return None
    exact = estimate.low == estimate.high
    mark = forest.Mark(
        label="measured here",
        text=f"{estimate}, {claim['verdict']}",
        value=estimate.value,
        low=None if exact else estimate.low,
        high=None if exact else estimate.high,
        tone="good" if claim["verdict"] == "holds" else "bad",
    )
    unit = "" if estimate.unit == "1" else f" (in {estimate.unit})"
    region = float(claim["at_least"]), float(claim["at_most"])
    return forest.Panel(marks=[mark], region=region, legend=f"shaded: holds if {claim['region']}{unit}")


def of_machine(environment: dict[str, Any]) -> str:
    """Return an environment in one line; what is not known, or was never asked for, is left out."""
    known = {key: str(value) for key, value in environment.items() if value and value != "auto"}
    if not known.get("device", "").startswith("cuda"):
        known.pop("cuda", None)  # what torch was built for, not what the run used
    known["platform"] = known.get("platform", "").partition("-")[0]
    labels = {
        "platform": "{}", "machine": "{}", "cores": "{} cores", "device": "device {}", "python": "Python {}",
        "torch": "torch {}", "cuda": "CUDA {}", "threads": "{} threads",
    }  # fmt: skip
    return ", ".join(text.format(known[key]) for key, text in labels.items() if known.get(key))
