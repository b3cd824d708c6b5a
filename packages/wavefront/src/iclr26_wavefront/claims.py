"""The paper's claims, each measured or with what measuring it needs."""

from __future__ import annotations

from collections.abc import Iterator

from iclr26_core import Claim, Run

from .config import DecodeConfig
from .interval import over_seeds
from .job import METHOD, measure

SEEDS = tuple(range(8))


def claims(run: Run) -> Iterator[Claim]:
    """Yield the claims."""
    figures = [measure(DecodeConfig(), seed) for seed in run.progress(SEEDS, label="models")]
    gains = [found[METHOD]["accuracy"] - found["sampling"]["accuracy"] for found in figures]
    yield Claim(
        id="the-tail-is-unreliable",
        statement="The tail of the distribution is unreliable: who samples from all of it errs more than who does not.",
        paper="no figure for this input",
        source="abstract",
        measured=over_seeds(gains),
        at_least=0.0,
        scale=run.scale,
        seeds=SEEDS,
        detail="share of right words, greedy minus sampling, with the same models and prompts",
    )
    yield Claim(
        id="maximisation-repeats-itself",
        statement="Decoding by maximisation gives text that is bland and gets into repetitive loops.",
        paper="no figure in the abstract",
        source="abstract",
        needs="GPT-2 Large and human judges of open-ended text",
        scale="paper",
    )
