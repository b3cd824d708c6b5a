"""Capture against eager ``output_attentions``: seconds and peak memory of one teacher-forced pass.

    python benchmarks/capture.py [--length 1024] [--layers 8] [--threads 2]

A random-weight Llama with 32 query heads and 8 key heads, 128 response tokens. Memory is what torch's allocator held at
most during the pass, weights not counted.
"""

import argparse
import time

import torch
from iclr26_lm import capture_trace
from transformers import LlamaConfig, LlamaForCausalLM


def peak_and_seconds(run):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        run()
    held = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    times = []
    for _ in range(3):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return peak, min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=1000, hidden_size=512, intermediate_size=1024, num_hidden_layers=options.layers,
        num_attention_heads=32, num_key_value_heads=8,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    ids = torch.randint(1000, (options.length + 1,))

    @torch.no_grad()
    def plain():
        model.set_attn_implementation("sdpa")
        model(input_ids=ids[None, :-1], use_cache=False)

    @torch.no_grad()
    def eager():
        model.set_attn_implementation("eager")
        model(input_ids=ids[None, :-1], use_cache=False, output_attentions=True)

    def captured():
        model.set_attn_implementation("sdpa")
        capture_trace(model, ids, len(ids) - 128)

    rows = {"SDPA, nothing kept": plain, "eager, output_attentions": eager, "capture, tau 0.05": captured}
    measured = {name: peak_and_seconds(run) for name, run in rows.items()}
    peak_of_eager, time_of_eager = measured["eager, output_attentions"]
    print(f"n = {options.length}, {options.layers} layers, {options.threads} threads")
    print(f"{'':26}{'peak MiB':>10}{'of eager':>10}{'seconds':>10}{'of eager':>10}")
    for name, (peak, seconds) in measured.items():
        shares = f"{peak / peak_of_eager:>10.3f}{seconds:>10.2f}{seconds / time_of_eager:>10.2f}"
        print(f"{name:26}{peak / 2**20:>10.0f}{shares}")


if __name__ == "__main__":
    main()
