"""The job ``decode``: a model that has seen days, months and numbers with errors among them is to go on with them."""

from __future__ import annotations

import random
import time

import torch
from iclr26_core import Run

from .baselines import Sampling
from .bigram import Bigram
from .config import DecodeConfig
from .wavefront import WavefrontDecoder

METHOD = "wavefront"
Figures = dict[str, dict[str, float]]
SERIES = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april may june july august september october november december",
    "one two three four five six seven eight nine ten eleven twelve",
)
WORDS = sorted(set(" ".join(SERIES).split()))


def decode(config: DecodeConfig, run: Run) -> None:
    """Compare the decoder with its baseline on every word as a prompt."""
    run.input("series", "\n".join(SERIES).encode())
    run.say(f"a model that has seen {len(WORDS)} words, {100 * config.errors:g} % of the time another in their place")
    for system, figures in measure(config, run.seed, run.device).items():
        of = None if system == run.method.name else system
        run.metric("accuracy", figures["accuracy"], of=of, higher_is_better=True)
        run.metric("passes", figures["passes"], of=of, higher_is_better=False)
        run.metric("tokens_per_second", figures["tokens_per_second"], of=of, unit="1/s", higher_is_better=True)


def measure(config: DecodeConfig, seed: int, device: str = "cpu") -> Figures:
    """Return the metrics of the decoder and of its baseline, by system, for the errors and the draws of this seed."""
    model, prompts = trained(config, seed).to(device), torch.arange(len(WORDS), device=device)[:, None]
    expected = torch.tensor([continuation(word, config.max_new_tokens) for word in WORDS], device=device)
    found = {}
    for name, make in {METHOD: WavefrontDecoder, "sampling": Sampling}.items():
        decoder, generator = make(max_new_tokens=config.max_new_tokens), torch.Generator(device)
        decoder.generate(model, prompts, generator=generator)  # the first call of an operation takes longer
        started = time.perf_counter()
        output = decoder.generate(model, prompts, generator=generator.manual_seed(seed))
        seconds = time.perf_counter() - started
        right = output.sequences[:, 1:] == expected
        found[name] = {
            "accuracy": right.float().mean().item(),
            "passes": float(output.passes),
            "tokens_per_second": right.numel() / seconds,
        }
    return found


def trained(config: DecodeConfig, seed: int) -> Bigram:
    """Return a model of the series, each seen in a ring ``rounds`` times, with other words in some places."""
    draw = random.Random(seed)
    rings = [line.split() * config.rounds for line in SERIES]
    seen = [[draw.choice(WORDS) if draw.random() < config.errors else word for word in ring] for ring in rings]
    return Bigram.of([[WORDS.index(word) for word in ring] for ring in seen], vocabulary=len(WORDS))


def continuation(word: str, length: int) -> list[int]:
    """Return the ids of the words that follow in the word's series, which begins again after its end."""
    series = next(line.split() for line in SERIES if word in line.split())
    start = series.index(word) + 1
    return [WORDS.index(series[(start + step) % len(series)]) for step in range(length)]
