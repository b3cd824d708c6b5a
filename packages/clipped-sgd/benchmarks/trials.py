"""The trial harness on one core: 60 repetitions, n = 50, K = 2000, per noise model and method; the goal is 10 s.

python benchmarks/trials.py
"""

from __future__ import annotations

import time

import torch
from iclr26_clipped_sgd import (
    AdamTrial,
    AnytimeSchedule,
    ClippedTrial,
    NormalisedTrial,
    Pareto,
    Quadratic,
    SGDTrial,
    StudentT,
    SymmetricStable,
    run_trials,
)

GOAL = 10.0  # seconds


def main() -> None:
    torch.set_num_threads(1)
    schedule = AnytimeSchedule(1.5, 1.0, 1.0, 1.0, step_scale=320.0, clip_scale=20.0)
    methods = [ClippedTrial(schedule), SGDTrial(schedule), NormalisedTrial(0.1), AdamTrial(0.01)]
    run_trials(Quadratic(50), methods[0], StudentT(2.1), 50, 2, 0)  # loads the kernels
    print(f"{'noise':<28} {'method':<12} {'seconds':>8} {'goal':>6}")
    for noise in (Pareto(2.001), StudentT(2.1), SymmetricStable(1.501)):
        for method in methods:
            begin = time.process_time()
            run_trials(Quadratic(50), method, noise, 2000, 60, 0, noise_scale=0.02)
            seconds = time.process_time() - begin
            print(f"{noise!r:<28} {method.name:<12} {seconds:>8.2f} {'met' if seconds <= GOAL else 'MISSED':>6}")


if __name__ == "__main__":
    main()
