"""One step of ClippedSGD beside ``clip_grad_norm_`` + ``SGD(foreach=True)``, both on the same gradients on the CPU.

Prints, per size: medians over interleaved repetitions, the ratio, and the floor of 4 passes over the parameters (read g
for the norm; read g, read x, write x for the move) at the memory bandwidth measured here with ``torch.Tensor.copy_``.

    python benchmarks/optimizer_step.py [--threads 2] [--tensors 100] [--seconds 6]
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import torch
from iclr26_clipped_sgd import ClippedSGD, ConstantSchedule
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

LR, CLIP = 1e-9, 1.0  # the norm exceeds CLIP at every size, so both clip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--tensors", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=6.0, help="time per size")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    bandwidth = measured_bandwidth()
    print(f"torch {torch.__version__}, {options.threads} threads, copy at {bandwidth / 1e9:.1f} GB/s (read + write)")
    print(
        f"{'parameters':>10} {'ours ms':>9} {'peer ms':>9} {'ratio':>6} {'floor ms':>9} {'ours/floor':>10} {'runs':>5}"
    )
    for size in (10**5, 10**6, 10**7):
        row = compare(size, options.tensors, options.seconds)
        floor = 4 * 4 * size / bandwidth
        print(
            f"{size:>10} {row['ours'] * 1e3:>9.3f} {row['peer'] * 1e3:>9.3f} {row['ours'] / row['peer']:>6.2f} "
            f"{floor * 1e3:>9.3f} {row['ours'] / floor:>10.2f} {int(row['runs']):>5}"
        )


def measured_bandwidth() -> float:
    source, target = torch.ones(10**8), torch.empty(10**8)
    times = [timed(lambda: target.copy_(source)) for _ in range(7)]
    return 2 * source.nbytes / statistics.median(times[1:])


def compare(size: int, tensors: int, seconds: float) -> dict[str, float]:
    """Median seconds of a step of each, the two taking turns; the peer's gradients are restored outside the clock."""
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(size // tensors, generator=generator) for _ in range(tensors)]
    gradients = [torch.randn(size // tensors, generator=generator) for _ in range(tensors)]
    ours, peer = with_gradients(start, gradients), with_gradients(start, gradients)
    optimizer = ClippedSGD(ours, ConstantSchedule(LR, CLIP))
    sgd = torch.optim.SGD(peer, lr=LR, foreach=True)

    def peer_step() -> None:
        clip_grad_norm_(peer, CLIP, foreach=True)
        sgd.step()

    times: dict[str, list[float]] = {"ours": [], "peer": []}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["ours"]) < 7:
        for name, parameters, step in (("ours", ours, optimizer.step), ("peer", peer, peer_step)):
            restore(parameters, gradients)  # the peer has scaled its gradients; ours get the same traffic
            times[name].append(timed(step))
    return {**{name: statistics.median(values[2:]) for name, values in times.items()}, "runs": len(times["ours"])}


def with_gradients(start: list[Tensor], gradients: list[Tensor]) -> list[torch.nn.Parameter]:
    parameters = [torch.nn.Parameter(tensor.clone()) for tensor in start]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    return parameters


@torch.no_grad()
def restore(parameters: list[torch.nn.Parameter], gradients: list[Tensor]) -> None:
    torch._foreach_copy_([parameter.grad for parameter in parameters], gradients)


def timed(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
