"""The claims, each measured or with what measuring it needs."""

from __future__ import annotations

from collections.abc import Iterator

from iclr26_core import Claim, Run

from .baselines import left_to_right
from .human_mme import HumanMmeBenchmark
from .interval import over_seeds
from .job import METHOD, answered, measure

SEEDS = tuple(range(8))


def claims(run: Run) -> Iterator[Claim]:
    """Yield the claims."""
    figures = [_figures(seed) for seed in run.progress(SEEDS, label="sets of questions")]
    without = [found[METHOD]["score"] for found in figures]
    constant = [found["most-frequent-answer"]["score"] for found in figures]
    yield Claim(
        id="precedence-is-needed",
        statement="Who does not multiply first fails on a good part of the questions, and not on all.",
        paper="no figure: the questions are this package's own",
        source="the benchmark's design",
        measured=over_seeds(without),
        at_least=0.4,
        at_most=0.6,
        scale=run.scale,
        seeds=SEEDS,
        detail="score of a calculator without precedence, on eight sets of 200 questions",
    )
    yield Claim(
        id="guessing-does-not-help",
        statement="The most frequent answer is right for less than one question in ten.",
        paper="no figure: the questions are this package's own",
        source="the benchmark's design",
        measured=over_seeds(constant),
        at_most=0.1,
        scale=run.scale,
        seeds=SEEDS,
        detail="score of the most frequent answer of the validation split, on eight sets of 200 questions",
    )
    yield Claim(
        id="language-models",
        statement="The largest model is 20 percentage points above chance on average over the 57 tasks.",
        paper="almost 20 percentage points, GPT-3",
        source="abstract",
        needs="GPT-3, which is no longer offered, and the 57 tasks",
        scale="paper",
    )


def _figures(seed: int) -> dict[str, dict[str, float]]:
    benchmark = HumanMmeBenchmark(seed=seed)
    return measure(benchmark, answered(benchmark.examples("test"), left_to_right))
