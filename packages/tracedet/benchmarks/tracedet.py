"""What recording costs, beside the naive softmax and a forward pass; and what training costs.

    python benchmarks/tracedet.py recorder [--threads 1] [--dtype float32] [--device cpu]
    python benchmarks/tracedet.py train [--threads 1]
    python benchmarks/tracedet.py stream [--traces 10000]

recorder   entropies of one pass, G = 128 positions, V = 126,464 (LLaDA): ours, the naive softmax and log, the floor of
           reading the logits once; each in a process of its own for the peak memory above the logits. Beside it one
           pass of LLaDA-8B by its arithmetic: 2 x 8e9 x (P + G) operations at the measured speed of a matrix product.
train      seconds per epoch of the reference variant on 2,000 traces, T = D = 64
stream     fit on a store of 10,000 traces, T = D = 64, within an address space and resident size that it reports
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from iclr26_lm import DenoisingTrace, TraceStore
from iclr26_tracedet import TraceDetDetector, logits_to_entropy

V, G, PROMPT, PARAMETERS = 126_464, 128, 128, 8.0e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("recorder", "one", "train", "stream"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--way", default="ours")
    parser.add_argument("--traces", type=int, default=10_000)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.dtype_of = getattr(torch, options.dtype)
    {"recorder": recorder, "one": one_way, "train": training, "stream": stream}[options.what](options)


def recorder(options: argparse.Namespace) -> None:
    shared = ["--threads", str(options.threads), "--dtype", options.dtype, "--device", options.device]
    found = {}
    for way in ("read", "ours", "naive"):
        command = [sys.executable, __file__, "one", "--way", way, *shared]
        found[way] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    forward = 2 * PARAMETERS * (PROMPT + G) / matmul_speed(options)
    print(f"torch {torch.__version__}, {options.device}, {options.threads} threads, {options.dtype}, V {V}, G {G}")
    print(f"{'way':<6} {'seconds':>9} {'of naive':>9} {'peak above logits MiB':>22} {'of an 8B pass':>14}")
    for way, row in found.items():
        print(
            f"{way:<6} {row['seconds']:>9.4f} {row['seconds'] / found['naive']['seconds']:>9.2f} "
            f"{row['peak'] / 2**20:>22.1f} {row['seconds'] / forward:>14.2%}"
        )
    print(f"one pass of 8e9 parameters over {PROMPT + G} tokens: {forward:.2f} s at the measured speed")


def one_way(options: argparse.Namespace) -> None:
    """Print seconds and peak memory above the logits of one way, as JSON."""
    logits = torch.randn(1, G, V, generator=torch.Generator().manual_seed(0)).to(options.dtype_of)
    logits = logits.to(options.device)
    work = {"ours": lambda: logits_to_entropy(logits, 0), "naive": lambda: naive(logits), "read": lambda: logits.sum()}
    work[options.way]() if options.way == "read" else logits_to_entropy(logits[:, :1], 0)
    before = peak(options.device)
    times = []
    for _ in range(7):
        started = time.perf_counter()
        work[options.way]()
        if options.device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    print(json.dumps({"seconds": statistics.median(times), "peak": peak(options.device) - before}))


def naive(logits: torch.Tensor) -> torch.Tensor:
    """The paper's formula as it is usually written."""
    probability = torch.softmax(logits.float(), -1)
    return -(probability * torch.log(probability + 1e-9)).sum(-1)


def peak(device: str) -> int:
    if device != "cpu":
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def matmul_speed(options: argparse.Namespace) -> float:
    """Operations per second of a (256, 4096) by (4096, 4096) product in the logits' type."""
    rows, weight = (torch.randn(n, 4096).to(options.dtype_of).to(options.device) for n in (PROMPT + G, 4096))
    times = []
    for _ in range(7):
        started = time.perf_counter()
        rows @ weight
        if options.device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return 2 * (PROMPT + G) * 4096**2 / statistics.median(times)


def training(options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    traces, labels = rng.random((2000, 64, 64), dtype=np.float32), np.arange(2000) % 2
    detector = TraceDetDetector(epochs=2, device=options.device)
    started = time.perf_counter()
    detector.fit(traces, labels)
    print(f"{(time.perf_counter() - started) / 2:.1f} s per epoch (1,600 traces trained on, 400 validated), T = D = 64")


def stream(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_store(Path(folder), options.traces)
        code = (
            "import sys, resource, torch; torch.set_num_threads(1)\n"
            "from iclr26_lm import TraceStore; from iclr26_tracedet import TraceDetDetector\n"
            "store = TraceStore.open(sys.argv[1])\n"
            "detector = TraceDetDetector(epochs=1, device='cpu').fit(store)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)\n"
        )
        started = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code, folder], check=True, capture_output=True, text=True)
        print(f"{options.traces} traces, T = D = 64: one epoch in {time.perf_counter() - started:.0f} s, "
              f"peak resident {int(done.stdout) / 2**20:.0f} MiB")  # fmt: skip


def write_store(folder: Path, count: int) -> None:
    rng = np.random.default_rng(0)
    zeros, steps = torch.zeros(64, 64), torch.arange(64, dtype=torch.int32)
    with TraceStore.writer(folder) as writer:
        for number in range(count):
            trace = DenoisingTrace(
                entropy=torch.from_numpy(rng.random((64, 64), dtype=np.float32) + number % 2 * 0.1),
                x0=zeros.int(),
                conf=zeros,
                margin=zeros,
                commit_step=steps,
                prompt_ids=steps[:4],
                output_ids=steps,
                labels=torch.tensor(number % 2),
            )
            writer.append(f"q{number}", trace)


if __name__ == "__main__":
    main()
