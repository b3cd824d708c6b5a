"""The paper's claims on questions whose answers are known exactly, over five splits by entity and five initialisations.

The tiny diffusion model of iclr26-lm answers 1,200 questions. For every seed all methods see the same entities in
training, validation and test; differences are paired. Test entities of different seeds overlap, so the variance of the
mean difference is corrected for it (Nadeau and Bengio 2003: 1/n + test/train in place of 1/n).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from iclr26_core import Claim, Estimate, Run
from numpy.typing import NDArray
from scipy.stats import t as student  # type: ignore[import-untyped]

from .comparison import area_of_kinds, fit_and_score, make_detector, one_thread
from .config import DetectorConfig
from .material import Material, from_store, record_tiny
from .metrics import auroc
from .splits import Split, grouped_split

SEEDS = 5
METHODS = ("tracedet", "tracedet-paper", "nomask", "mean-entropy", "perplexity")
MISLEADING = ("corrupted", "confident-wrong")  # kinds whose hallucinations come with a high final probability
TABLE = "table 1, mean of LLaDA-8B over three data sets and two lengths"
PAPER_NEEDS = "LLaDA-8B-Instruct and Dream-7B-Instruct, TriviaQA, HotpotQA and CommonsenseQA, a Qwen3-8B judge, one GPU"
Areas = dict[str, NDArray[np.float64]]


def claims(run: Run) -> Iterator[Claim]:
    """Yield the claims; ``small`` trains three networks for each of five seeds."""
    if run.scale == "paper":
        yield from _out_of_reach(run)
        return
    seeds = tuple(range(run.seed, run.seed + SEEDS))
    record_tiny(run.out / "traces", form="short", facts=0, device=run.device)
    material, _ = from_store(run.out / "traces")
    overall, misleading, keep = _areas(run, material, seeds)
    share = len(_split(material, seeds[0]).test) / len(_split(material, seeds[0]).train)
    yield _difference(
        run, seeds, share, overall, "tracedet", "mean-entropy",
        id="trained-beats-mean-entropy",
        statement="a trained detector over the trace is better than the mean entropy of the trace",
        paper="72.0 against 62.8 AUROC", source=TABLE,
    )  # fmt: skip
    for name, variant in (("tracedet", "reference"), ("tracedet-paper", "paper")):
        yield _difference(
            run, seeds, share, overall, name, "nomask",
            id=f"masking-beats-no-mask-{variant}",
            statement=f"choosing denoising steps helps: TraceDet ({variant} variant) is better than without a mask",
            paper="72.0 against 69.1 AUROC", source=TABLE,
        )  # fmt: skip
    for areas, which in ((overall, "overall"), (misleading, "misleading")):
        yield _difference(
            run, seeds, share, areas, "tracedet", "perplexity",
            id=f"trace-beats-final-probability-{which}",
            statement="the trace tells more than the probability of the tokens when they were committed"
            + ("" if which == "overall" else ", where that probability is high and wrong (corrupted, confident-wrong)"),
            paper="72.0 against 54.9 AUROC", source=TABLE,
        )  # fmt: skip
    yield Claim(
        id="keep-probabilities-collapse",
        statement="the L2 term of the code shrinks every keep probability towards 0, so only ratios mean anything",
        paper="no figure",
        source="the authors' code",
        scale=run.scale,
        measured=_mean(keep, share, unit="1"),
        at_most=0.05,
        seeds=seeds,
        detail="mean p over test traces of the reference variant",
    )


def _areas(run: Run, material: Material, seeds: tuple[int, ...]) -> tuple[Areas, Areas, NDArray[np.float64]]:
    """Return every method's test AUROC by seed, overall and on the misleading kinds, and the reference's mean p."""
    overall: dict[str, list[float]] = {name: [] for name in METHODS}
    misleading: dict[str, list[float]] = {name: [] for name in METHODS}
    keep = []
    with one_thread():
        work = [(seed, name) for seed in seeds for name in METHODS]
        for seed, name in run.progress(work, label="fitting"):
            split = _split(material, seed)
            detector = make_detector(
                name, DetectorConfig(), variant="reference", canvas=12, seed=seed, device=run.device
            )
            scores = fit_and_score(name, detector, material, split).scores[split.test]
            labels, groups, kinds = (getattr(material, what)[split.test] for what in ("labels", "groups", "kinds"))
            overall[name].append(auroc(labels, scores))
            area = area_of_kinds(labels, scores, groups, kinds, MISLEADING, seed=seed)
            misleading[name].append(float("nan") if area is None else area.value)
            run.log(seed, **{f"auroc-{name}": overall[name][-1], f"auroc-misleading-{name}": misleading[name][-1]})
            if name == "tracedet":
                keep.append(detector.diagnostics(material.part(split.test))["mean_keep"])
    return _arrays(overall), _arrays(misleading), np.array(keep)


def _split(material: Material, seed: int) -> Split:
    return grouped_split(material.groups.tolist(), seed=seed)


def _arrays(found: Mapping[str, list[float]]) -> Areas:
    return {name: np.array(values) for name, values in found.items()}


def _difference(
    run: Run,
    seeds: tuple[int, ...],
    share: float,
    areas: Areas,
    ours: str,
    theirs: str,
    *,
    id: str,
    statement: str,
    paper: str,
    source: str,
) -> Claim:
    means = f"mean AUROC {areas[ours].mean():.3f} ({ours}) and {areas[theirs].mean():.3f} ({theirs})"
    return Claim(
        id=id,
        statement=statement,
        paper=paper,
        source=source,
        scale=run.scale,
        measured=_mean(areas[ours] - areas[theirs], share, unit="1"),
        at_least=0.0,
        seeds=seeds,
        detail=f"paired difference of test AUROC; {means}; tiny diffusion model, T = D = 12, split by entity",
    )


def _mean(values: NDArray[np.float64], share: float, *, unit: str) -> Estimate:
    """Return the mean over seeds with its corrected 95 % t interval."""
    count, value = len(values), float(values.mean())
    half = float(student.ppf(0.975, count - 1) * values.std(ddof=1) * np.sqrt(1.0 / count + share))
    return Estimate(
        value=value, low=value - half, high=value + half, n=count, unit=unit, interval="95 % corrected t over seeds"
    )


def _out_of_reach(run: Run) -> Iterator[Claim]:
    for name, statement, paper in (
        ("auroc-llada", "TraceDet detects hallucinations of LLaDA-8B-Instruct", "72.0 mean AUROC"),
        ("auroc-dream", "TraceDet detects hallucinations of Dream-7B-Instruct", "80.8 mean AUROC"),
        ("masking-beats-no-mask", "TraceDet is better than without a mask", "72.0 against 69.1, 80.8 against 78.4"),
    ):
        yield Claim(
            id=f"{name}-paper",
            statement=statement,
            paper=paper,
            source="table 1",
            scale=run.scale,
            needs=PAPER_NEEDS + "; with labelled traces of those: iclr26 run tracedet --traces DIR",
        )
