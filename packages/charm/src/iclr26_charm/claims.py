"""The paper's claims, each measured or with what measuring it needs."""

from __future__ import annotations

from collections.abc import Iterator

from iclr26_core import Claim, Run

from .config import DetectConfig
from .interval import over_seeds
from .job import METHOD, measure

SEEDS = tuple(range(8))


def claims(run: Run) -> Iterator[Claim]:
    """Yield the claims."""
    figures = [measure(DetectConfig(), seed) for seed in run.progress(SEEDS, label="splits")]
    baseline = [found["maximum-probability"]["auroc"] for found in figures]
    gains = [found[METHOD]["auroc"] - other for found, other in zip(figures, baseline, strict=True)]
    yield Claim(
        id="maximum-probability-detects-errors",
        statement="Correctly classified examples tend to have greater maximum softmax probabilities than wrong ones.",
        paper="no figure for this input",
        source="abstract",
        measured=over_seeds(baseline),
        at_least=0.5,
        scale=run.scale,
        seeds=SEEDS,
        detail="AUROC of one minus the maximum probability on digits; 0.5 is chance",
    )
    yield Claim(
        id="baseline-can-be-surpassed",
        statement="The baseline can sometimes be surpassed.",
        paper="no figure for this input",
        source="abstract",
        measured=over_seeds(gains),
        at_least=0.0,
        scale=run.scale,
        seeds=SEEDS,
        detail="AUROC of the detector minus that of the maximum probability, on the same splits",
    )
    yield Claim(
        id="speech-recognition",
        statement="The baseline is effective in automatic speech recognition too.",
        paper="no figure here",
        source="abstract",
        needs="the TIMIT corpus, which has to be licensed",
        scale="paper",
    )
