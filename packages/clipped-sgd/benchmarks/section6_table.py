"""The spec's six rows (section 6) as measured, beside the stated figures: 0.95 quantiles of f - f* at K = 2000.

    python benchmarks/section6_table.py [--reps 60] [--seed 0]

Quadratic, n = 50, x0 = e1, schedules with L = R0 = sigma = 1 and the given scales, noise scale 0.3/n^(1/alpha) per
coordinate, the average weighted by the step sizes over x_0..x_{K-1}.
"""

from __future__ import annotations

import argparse

import torch
from iclr26_clipped_sgd import AnytimeSchedule, ClippedTrial, Pareto, Quadratic, SGDTrial, SymmetricStable, run_trials

ROWS = [  # name, noise, alpha, step_scale, clip_scale, stated clipped last, clipped average, SGD last
    ("Pareto 2.001", Pareto(2.001), 2.0, 320, 20, 9.4e-4, 1.40e-3, 4.9e-3),
    ("Pareto 2.001", Pareto(2.001), 2.0, 320, 80, 1.7e-3, 6.0e-4, 2.9e-3),
    ("Pareto 2.001", Pareto(2.001), 2.0, 1500, 400, 5.8e-3, 3.9e-4, 2.8e-2),
    ("stable 1.501", SymmetricStable(1.501), 1.5, 320, 20, 4.0e-4, 1.32e-2, 3.4e-3),
    ("stable 1.501", SymmetricStable(1.501), 1.5, 320, 80, 1.9e-3, 8.2e-3, 4.3e-3),
    ("stable 1.501", SymmetricStable(1.501), 1.5, 1500, 80, 1.04e-3, 3.4e-3, 3.6e-2),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{options.reps} repetitions, seed {options.seed}; measured (stated)")
    print(f"{'noise':<13} {'steps':>5} {'clip':>4}  {'clipped last':>19}  {'clipped average':>19}  {'SGD last':>19}")
    for name, noise, alpha, step_scale, clip_scale, *stated in ROWS:
        schedule = AnytimeSchedule(alpha, 1.0, 1.0, 1.0, step_scale=step_scale, clip_scale=clip_scale)
        scale = 0.3 / 50 ** (1 / alpha)
        clipped, sgd = (
            run_trials(
                Quadratic(50), kind(schedule), noise, 2000, options.reps, options.seed, [2000], noise_scale=scale
            ).quantile(0.95)[0]
            for kind in (ClippedTrial, SGDTrial)
        )
        cells = [f"{got:.2e} ({want:.2e})" for got, want in zip((*clipped[:2], sgd[0]), stated, strict=True)]
        print(f"{name:<13} {step_scale:>5} {clip_scale:>4}  " + "  ".join(f"{cell:>19}" for cell in cells))


if __name__ == "__main__":
    main()
