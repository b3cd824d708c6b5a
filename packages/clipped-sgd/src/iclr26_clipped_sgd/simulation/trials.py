"""Many independent runs of one method on one problem, and the quantiles of what they reach.

Every repetition has its own random stream, addressed by (seed, repetition), and draws it in chunks of a fixed number of
steps.  So blocks of repetitions can be computed anywhere, in any split, and merge exactly.

Shapes: R repetitions in a block · N dimension · S steps in a chunk · C checkpoints.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iclr26_clipped_sgd.baselines import TrialMethod
from iclr26_clipped_sgd.simulation.problems import Problem
from iclr26_clipped_sgd.tails.noise import NoiseModel

Array = NDArray[np.float64]
CHUNK = 64  # steps drawn at a time; part of the definition of a repetition's stream, do not tune
MEMORY = 2**29  # bytes a block may plan for: half of the 1 GiB that it must stay below
ITERATES = ("last", "average", "uniform")


@dataclass(frozen=True)
class TrialResult:
    """The gaps f(x) - f* of repeated runs.

    Attributes:
        f_gap: shape (reps, C, 3); NaN where a run diverged.  The last axis is `iterates`: the last iterate, the average
            of x_0..x_{k-1} weighted by the step sizes, and their uniform average (x_0 itself at k = 0).
        checkpoints: numbers of steps taken, shape (C,).
        clipped_fraction: share of the steps with a clipped gradient, shape (reps,).
        method: the method's name.
        first: number of the first repetition.
    """

    f_gap: Array
    checkpoints: NDArray[np.int64]
    clipped_fraction: Array
    method: str
    first: int = 0
    iterates: tuple[str, ...] = ITERATES

    def quantile(self, q: float) -> Array:
        """The q-quantile over repetitions, shape (C, 3); a diverged run counts as ``inf``."""
        ordered = np.sort(np.nan_to_num(self.f_gap, nan=np.inf), axis=0)
        place = q * (len(ordered) - 1)
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        with np.errstate(invalid="ignore"):
            between = low + (place - math.floor(place)) * (high - low)
        return np.asarray(np.where(np.isfinite(between), between, high))

    def mean(self) -> Array:
        """The mean over repetitions, shape (C, 3)."""
        return np.asarray(self.f_gap.mean(axis=0))

    def std(self) -> Array:
        """The standard deviation over repetitions, shape (C, 3)."""
        return np.asarray(self.f_gap.std(axis=0, ddof=1)) if len(self.f_gap) > 1 else np.zeros(self.f_gap.shape[1:])

    def slope(self, q: float = 0.95, *, since: int | None = None) -> Array:
        """Slope of ln(q-quantile) over ln k, by least squares over the checkpoints >= since, shape (3,).

        Args:
            q: the quantile.
            since: first checkpoint that counts, a tenth of the last one by default.

        Raises:
            ValueError: fewer than two checkpoints count.
        """
        since = max(1, int(self.checkpoints[-1]) // 10) if since is None else since
        chosen = (self.checkpoints >= since) & (self.checkpoints > 0)
        if chosen.sum() < 2:
            raise ValueError(f"slope() must have 2 checkpoints >= {since} (got {int(chosen.sum())})")
        log_k = np.log(self.checkpoints[chosen])
        return np.asarray(np.polyfit(log_k, np.log(self.quantile(q)[chosen]), 1)[0])

    def failure_rate(self, bound: Callable[[int], float]) -> Array:
        """Share of the runs whose last iterate exceeds ``bound(k)``, shape (C,); a diverged run exceeds it."""
        limits = np.array([bound(int(k)) for k in self.checkpoints])
        return np.asarray((~(self.f_gap[:, :, 0] <= limits)).mean(axis=0))


def run_trials(
    problem: Problem,
    method: TrialMethod,
    noise: NoiseModel | None,
    K: int,
    reps: int,
    seed: int,
    checkpoints: Sequence[int] | None = None,
    *,
    noise_scale: float = 1.0,
    first: int = 0,
    block: int | None = None,
    folder: Path | None = None,
    on_block: Callable[[int], None] | None = None,
) -> TrialResult:
    """Gaps of ``reps`` independent runs of K steps.

    Args:
        problem: objective with its own stochastic gradient, if it samples data.
        method: moves the iterates.
        noise: added to every gradient, None for none.
        K: number of steps.
        reps: number of repetitions.
        seed: with the repetition's number it fixes all random draws; two methods with the same seed see the same draws.
        checkpoints: increasing step counts in [0, K] at which gaps are taken; about 24 up to K by default.
        noise_scale: factor of the noise.
        first: number of the first repetition, for splitting a sweep over jobs.
        block: repetitions computed at once; chosen to stay below 1 GiB by default.  It does not change the result.
        folder: blocks are saved here as they are finished and are not computed again.
        on_block: called with the number of repetitions after each block.

    Raises:
        ValueError: an argument is out of range, or the folder holds blocks of another run.
    """
    points = _checked_points(K, reps, checkpoints)
    block = min(reps, _largest_block(problem, method, noise) if block is None else block)
    if block < 1:
        raise ValueError(f"block must be >= 1 (got {block})")
    key = repr((problem, method, noise, noise_scale, K, points.tolist(), seed, CHUNK))
    store = None if folder is None else _Store(folder, hashlib.sha256(key.encode()).hexdigest())
    gaps, clipped = np.full((reps, len(points), len(ITERATES)), np.nan), np.full(reps, np.nan)
    missing = list(range(first, first + reps)) if store is None else store.load(gaps, clipped, first)
    for numbers in _blocks(missing, block):
        result = _run_block(problem, method, noise, noise_scale, points, seed, numbers)
        if store is not None:
            store.save(numbers, *result)
        gaps[numbers.start - first : numbers.stop - first], clipped[numbers.start - first : numbers.stop - first] = (
            result
        )
        if on_block is not None:
            on_block(len(numbers))
    return TrialResult(gaps, points, clipped, method.name, first)


def merge_trials(parts: Sequence[TrialResult]) -> TrialResult:
    """One result from parts of the same run that cover adjacent repetitions, in any order.

    Raises:
        ValueError: the parts do not belong together or leave a gap.
    """
    parts = sorted(parts, key=lambda part: part.first)
    for left, right in pairwise(parts):
        if left.method != right.method or not np.array_equal(left.checkpoints, right.checkpoints):
            raise ValueError(
                f"parts must have one method and one list of checkpoints (got {left.method}, {right.method})"
            )
        if left.first + len(left.f_gap) != right.first:
            raise ValueError(
                f"parts must be adjacent: expected repetition {left.first + len(left.f_gap)} (got {right.first})"
            )
    f_gap = np.concatenate([part.f_gap for part in parts])
    clipped = np.concatenate([part.clipped_fraction for part in parts])
    return TrialResult(f_gap, parts[0].checkpoints, clipped, parts[0].method, parts[0].first)


def select_method(
    candidates: Sequence[TrialMethod],
    problem: Problem,
    noise: NoiseModel | None,
    K: int,
    reps: int,
    seed: int,
    *,
    noise_scale: float = 1.0,
    q: float = 0.95,
    iterate: str = "last",
) -> TrialMethod:
    """The candidate with the smallest q-quantile of the final gap; give it other seeds than the comparison has.

    Args:
        candidates: methods to choose from, usually one method at several step sizes.
        problem, noise, K, reps, seed, noise_scale: as in `run_trials`.
        q: the quantile.
        iterate: "last", "average" or "uniform".
    """
    if iterate not in ITERATES:
        raise ValueError(f"iterate must be one of {', '.join(ITERATES)} (got {iterate!r})")

    def reached(method: TrialMethod) -> float:
        result = run_trials(problem, method, noise, K, reps, seed, [K], noise_scale=noise_scale)
        return float(result.quantile(q)[0, ITERATES.index(iterate)])

    return min(candidates, key=reached)


def _run_block(
    problem: Problem,
    method: TrialMethod,
    noise: NoiseModel | None,
    noise_scale: float,
    points: NDArray[np.int64],
    seed: int,
    numbers: range,
) -> tuple[Array, Array]:
    x_RN = torch.from_numpy(np.tile(problem.start(), (len(numbers), 1))).requires_grad_()
    gaps = np.empty((len(numbers), len(points), len(ITERATES)))
    wanted = {int(k): index for index, k in enumerate(points)}
    with torch.no_grad():
        stepper, averages, total = method.bind(x_RN), [x_RN.clone(), x_RN.clone()], 0.0
        draws = _draws(problem, noise, noise_scale, seed, numbers)
        for k in range(int(points[-1]) + 1):
            if k in wanted:
                gaps[:, wanted[k]] = np.stack([problem.gap(x.detach()) for x in (x_RN, *averages)], axis=1)
            if k == points[-1]:
                break
            data, noise_RN = next(draws)
            gradient_RN = problem.gradient(x_RN, data)
            if noise_RN is not None:
                gradient_RN = gradient_RN + noise_RN
            before_RN = x_RN.clone()
            weight = stepper.step(gradient_RN, k)
            total += weight
            averages[0].lerp_(before_RN, weight / total)
            averages[1].lerp_(before_RN, 1.0 / (k + 1))
    steps = max(1, int(points[-1]))
    return gaps, np.asarray(stepper.clipped.numpy() / steps)


def _draws(
    problem: Problem, noise: NoiseModel | None, noise_scale: float, seed: int, numbers: range
) -> Iterator[tuple[tuple[Tensor, ...], Tensor | None]]:
    streams = [np.random.SeedSequence(seed, spawn_key=(number,)).spawn(2) for number in numbers]
    for_data = [np.random.default_rng(pair[0]) for pair in streams]
    for_noise = [np.random.default_rng(pair[1]) for pair in streams]
    noise_SRN = np.empty((CHUNK, len(numbers), problem.dimension))
    while True:
        per_run = [problem.draw(generator, CHUNK) for generator in for_data]
        data = [torch.from_numpy(np.stack(arrays, axis=1)) for arrays in zip(*per_run, strict=True)]
        if noise is not None:
            for index, generator in enumerate(for_noise):
                noise_SRN[:, index] = noise.sample((CHUNK, problem.dimension), generator)
            noise_SRN *= noise_scale
        for step in range(CHUNK):
            yield tuple(array[step] for array in data), None if noise is None else torch.from_numpy(noise_SRN[step])


class _Store:
    """Finished blocks of repetitions in a folder, each written atomically."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, numbers: range, gaps: Array, clipped: Array) -> None:
        final = self.folder / f"block-{numbers.start:08d}-{numbers.stop:08d}.npz"
        partial = final.with_suffix(f".{os.getpid()}.tmp")
        with partial.open("wb") as stream:
            np.savez(stream, key=np.array(self.key), numbers=np.asarray(numbers), gaps=gaps, clipped=clipped)
        partial.replace(final)

    def load(self, gaps: Array, clipped: Array, first: int) -> list[int]:
        """Fill in what is there and return the numbers of the repetitions that are missing."""
        missing = set(range(first, first + len(gaps)))
        for path in sorted(self.folder.glob("block-*.npz")):
            numbers, block_gaps, block_clipped = self._read(path)
            for number, gap, share in zip(numbers, block_gaps, block_clipped, strict=True):
                if number in missing:
                    gaps[number - first], clipped[number - first] = gap, share
                    missing.discard(number)
        return sorted(missing)

    def _read(self, path: Path) -> tuple[list[int], Array, Array]:
        try:
            with np.load(path, allow_pickle=False) as block:
                key, numbers = str(block["key"]), [int(number) for number in block["numbers"]]
                gaps, clipped = block["gaps"], block["clipped"]
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise ValueError(f"{path} must be a block of run_trials (got {error}): delete it") from error
        if key != self.key:
            raise ValueError(
                f"{path} must be a block of this run (got one of another configuration): use an empty folder"
            )
        return numbers, gaps, clipped


def _blocks(numbers: list[int], block: int) -> Iterator[range]:
    start = 0
    while start < len(numbers):
        stop = start + 1
        while stop < len(numbers) and stop - start < block and numbers[stop] == numbers[stop - 1] + 1:
            stop += 1
        yield range(numbers[start], numbers[stop - 1] + 1)
        start = stop


def _checked_points(K: int, reps: int, checkpoints: Sequence[int] | None) -> NDArray[np.int64]:
    for name, value in (("K", K), ("reps", reps)):
        if value < 1:
            raise ValueError(f"{name} must be >= 1 (got {value})")
    if checkpoints is None:
        return np.unique(np.round(np.geomspace(1, K, 24)).astype(np.int64))
    points = np.asarray(checkpoints, dtype=np.int64)
    if points.ndim != 1 or points.size == 0 or (np.diff(points) <= 0).any() or points[0] < 0 or points[-1] > K:
        raise ValueError(f"checkpoints must be increasing step counts in [0, K] = [0, {K}] (got {list(checkpoints)})")
    return points


def _largest_block(problem: Problem, method: TrialMethod, noise: NoiseModel | None) -> int:
    drawn = sum(array.nbytes for array in problem.draw(np.random.default_rng(0), CHUNK))
    doubles = 2 * CHUNK * problem.dimension * (noise is not None) + 16 * problem.dimension + problem.workspace
    return max(1, min(250, MEMORY // (8 * doubles + 2 * drawn)))
