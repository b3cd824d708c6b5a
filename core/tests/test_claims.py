"""Claims: a verdict follows from the figure and the region, and from nothing else."""

import dataclasses
import math
import random

import pytest
from iclr26_core import Claim, Estimate, Plugins, execute, record
from iclr26_core.errors import ClaimError
from iclr26_core.options import Options

CLAIM = {"id": "c", "statement": "S", "paper": "0.5", "source": "T1"}


def estimate(low: float, high: float) -> Estimate:
    return Estimate(value=(low + high) / 2 if math.isfinite(high - low) else low, low=low, high=high, n=3)


@pytest.mark.parametrize(
    ("low", "high", "region", "verdict"),
    [
        (0.3, 0.5, {"at_least": 0.3}, "holds"),
        (0.3, 0.5, {"at_least": 0.31}, "fails"),
        (0.3, 0.5, {"at_most": 0.5}, "holds"),
        (0.3, 0.5, {"at_most": 0.49}, "fails"),
        (0.3, 0.5, {"at_least": 0.2, "at_most": 0.6}, "holds"),
        (0.3, 0.5, {"at_least": 0.4, "at_most": 0.6}, "fails"),
        (0.4, 0.4, {"at_least": 0.4, "at_most": 0.4}, "holds"),
        (0.3, math.inf, {"at_least": 0.3}, "holds"),
        (0.3, math.inf, {"at_most": 1e300}, "fails"),
        (-math.inf, 0.5, {"at_least": -1e300}, "fails"),
    ],
)
def test_a_claim_holds_where_its_whole_interval_lies_in_the_region(low, high, region, verdict):
    assert Claim(**CLAIM, measured=estimate(low, high), **region).verdict == verdict


def test_without_a_figure_a_claim_is_not_testable_here():
    assert Claim(**CLAIM, needs="8 GPUs", at_least=0.0).verdict == "not testable here"


def test_verdict_agrees_with_sampling_the_interval():
    """Brute force: the claim holds exactly if every point of a fine grid of the interval lies in the region."""
    draw = random.Random(0)
    verdicts = set()
    for _ in range(500):
        low, high = sorted(draw.randint(-5, 5) / 4 for _ in range(2))
        at_least, at_most = sorted(draw.randint(-6, 6) / 4 for _ in range(2))
        claim = Claim(**CLAIM, measured=estimate(low, high), at_least=at_least, at_most=at_most)
        inside = all(at_least <= low + (high - low) * k / 64 <= at_most for k in range(65))
        assert claim.verdict == ("holds" if inside else "fails")
        verdicts.add(claim.verdict)
    assert verdicts == {"holds", "fails"}


def test_a_wider_region_never_turns_holds_into_fails_and_a_wider_interval_never_fails_into_holds():
    draw = random.Random(1)
    for _ in range(500):
        low, high, at_least, at_most, more = (draw.uniform(-1, 1) for _ in range(5))
        low, high = sorted((low, high))
        at_least, at_most = sorted((at_least, at_most))
        claim = Claim(**CLAIM, measured=estimate(low, high), at_least=at_least, at_most=at_most)
        wider_region = dataclasses.replace(claim, at_least=at_least - abs(more), at_most=at_most + abs(more))
        wider_interval = dataclasses.replace(claim, measured=estimate(low - abs(more), high + abs(more)))
        assert not (claim.verdict == "holds" and wider_region.verdict == "fails")
        assert not (claim.verdict == "fails" and wider_interval.verdict == "holds")


def test_the_verdict_is_the_same_for_the_mirrored_claim():
    draw = random.Random(2)
    for _ in range(200):
        low, high = sorted(draw.uniform(-1, 1) for _ in range(2))
        bound = draw.uniform(-1, 1)
        here = Claim(**CLAIM, measured=estimate(low, high), at_least=bound)
        mirrored = Claim(**CLAIM, measured=estimate(-high, -low), at_most=-bound)
        assert here.verdict == mirrored.verdict


def test_nobody_can_write_a_verdict_down():
    claim = Claim(**CLAIM, measured=estimate(0.3, 0.5), at_least=1.0)
    with pytest.raises(AttributeError):
        claim.verdict = "holds"
    with pytest.raises(TypeError):
        Claim(**CLAIM, measured=estimate(0.3, 0.5), at_least=1.0, verdict="holds")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "claim 'c' has no measured figure: say in `needs`"),
        ({"measured": estimate(0, 1)}, "claim 'c' would hold for every figure: give at_least or at_most"),
        ({"measured": estimate(0, 1), "at_least": 2.0, "at_most": 1.0}, r"at_least <= at_most \(got 2.0 and 1.0\)"),
        ({"measured": estimate(0, 1), "at_least": math.nan}, "at_least <= at_most"),
        ({"measured": estimate(0, 1), "at_most": math.nan}, "at_least <= at_most"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(fields, message):
    with pytest.raises(ClaimError, match=message):
        Claim(**CLAIM, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": 2.0}, r"low <= value <= high \(got 0.0, 2.0, 1.0\)"),
        ({"value": math.nan}, "low <= value <= high"),
        ({"low": math.nan}, "low <= value <= high"),
        ({"high": math.nan}, "low <= value <= high"),
        ({"n": 0}, r"n >= 1 repetitions \(got 0\)"),
    ],
)
def test_an_estimate_that_is_none_is_refused(fields, message):
    with pytest.raises(ClaimError, match=message):
        Estimate(**{"value": 0.5, "low": 0.0, "high": 1.0, "n": 3, **fields})


@pytest.mark.parametrize(
    ("region", "words"),
    [({"at_least": 0.0}, ">= 0"), ({"at_most": 1.5}, "<= 1.5"), ({"at_least": -1, "at_most": 1}, ">= -1 and <= 1")],
)
def test_the_region_is_said_in_words(region, words):
    assert Claim(**CLAIM, measured=estimate(0, 1), **region).region == words


def test_an_estimate_is_shown_with_its_interval_and_unit():
    assert str(Estimate(value=0.5, low=0.25, high=0.75, n=3, unit="s")) == "0.5 [0.25, 0.75] s"
    assert str(Estimate(value=2.0, low=2.0, high=2.0, n=1)) == "2"


def test_reproduce_keeps_every_claim_with_its_time(descent_here):
    kept = execute.reproduce("descent", scale="paper", options=Options(device="cpu"), among=Plugins())
    ((_, read),) = record.records(descent_here)
    assert record.to_json(vars(read)) == record.to_json(vars(kept))
    assert (read.job, read.config, read.status) == ("reproduce", {"scale": "paper"}, "ok")
    assert [claim["verdict"] for claim in read.claims] == ["holds", "fails", "not testable here"]
    assert all(claim["seconds"] >= 0 for claim in read.claims)
    assert read.claims[2]["scale"] == "paper"
    assert read.claims[0]["at_most"] == "Infinity"
    assert Estimate(**read.claims[0]["measured"]).high == 0.5


def test_reproduce_prints_every_claim_with_its_verdict(descent):
    done = descent("reproduce", "descent", "--scale", "small")
    assert done.returncode == 0  # a claim that fails is a result, not a failure of the command
    rows = [line for line in done.stdout.splitlines() if any(word in line for word in ("above", "large"))]
    assert [next(v for v in ("holds", "fails", "not testable here") if v in row) for row in rows] == [
        "holds",
        "fails",
        "not testable here",
    ]
    assert "0.4 [0.3, 0.5]" in rows[0]
    assert ">= 0.25" in rows[0]
    assert "needs 8 GPUs" in rows[2]
    assert "above: holds (" in done.stderr
    listed = descent("runs").stdout
    assert "1 holds, 1 fails, 1 not testable here" in listed


def test_a_claims_function_that_yields_something_else_has_failed(imported, install, site):
    module = install("culprit")
    (site / module / "work.py").write_text("def claims(run): yield 'it is true'")
    with pytest.raises(ClaimError, match=r"work:claims must yield Claim objects \(got 'it is true'\)"):
        execute.reproduce("culprit", options=Options(out=site.parent / "runs"), among=Plugins())
    ((_, left),) = record.records(site.parent / "runs")
    assert (left.status, left.error["type"]) == ("failed", "ClaimError")


def test_a_wrong_scale_names_the_right_ones(descent):
    done = descent("reproduce", "descent", "--scale", "large")
    assert done.returncode == 2
    assert "scale must be one of ['small', 'paper'] (got large)" in done.stderr
