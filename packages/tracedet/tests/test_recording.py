"""Entropies: given values, the recorder in the shared loop and in Dream's hook, shifts, perplexity, the kernel."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from iclr26_lm import AdaptedLM, TraceRecorder, adapt, decode
from iclr26_tracedet import SCALARS, EntropyRecorder, logits_to_entropy, monte_carlo_perplexity
from iclr26_tracedet.recording import token_entropy

V, MASK, P, G = 11, 10, 3, 6


def brute_entropy(logits):
    p = torch.softmax(logits.double(), -1)
    return -(p * (p + 1e-9).log()).sum(-1)


def constant_model():
    table = torch.randn(P + G, V, generator=torch.Generator().manual_seed(0))
    return adapt(lambda ids, mask: table.expand(len(ids), -1, -1).clone(), mask_token_id=MASK, vocab_size=V)


def context_model(shift=False):
    """Logits that depend on the whole sequence; with ``shift`` row i predicts token i + 1, as Dream's does."""
    generator = torch.Generator().manual_seed(1)
    embed, mix = torch.randn(V, 8, generator=generator), torch.randn(8, V, generator=generator)
    place = torch.randn(P + G, 8, generator=generator)

    def logits(ids, mask):
        hidden = embed[ids] + embed[ids].mean(1, keepdim=True) + place
        aligned = 2 * hidden.tanh() @ mix
        return torch.cat([aligned[:, 1:], aligned[:, -1:]], 1) if shift else aligned

    return logits


def test_entropy_has_the_given_values():
    assert float(token_entropy(torch.tensor([2.0, 1.0, 0.0, -1.0]))) == pytest.approx(0.947537, abs=1e-6)
    assert float(token_entropy(torch.zeros(4))) == pytest.approx(1.386294, abs=1e-6)
    assert float(brute_entropy(torch.tensor([2.0, 1.0, 0.0, -1.0]))) == pytest.approx(0.947537, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_entropy_agrees_with_float64_also_with_suppressed_tokens(dtype):
    logits = (torch.randn(5, 1000, generator=torch.Generator().manual_seed(0)) * 4).to(dtype)
    logits[:, 3] = -torch.inf
    p = torch.softmax(logits.double(), -1)
    exact = -torch.where(p > 0, p * p.clamp(min=1e-300).log(), torch.zeros_like(p)).sum(-1)
    assert torch.allclose(token_entropy(logits).double(), exact, atol=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_logits_that_are_no_distribution_are_refused(bad):
    logits = torch.zeros(2, 4)
    logits[1, 2] = bad
    with pytest.raises(ValueError, match="must give a distribution"):
        token_entropy(logits)


def test_model_that_ignores_its_input_gives_the_same_row_in_every_pass():
    recorder, entropies = TraceRecorder(), EntropyRecorder()
    decode(constant_model(), torch.zeros(2, P, dtype=torch.long), length=G, recorders=[recorder, entropies])
    for trace in recorder.traces():
        assert bool((trace.entropy == trace.entropy[:1]).all())
        assert sorted(trace.commit_step.tolist()) == list(range(G))
        committed = trace.commit_step[None] < torch.arange(G)[:, None]
        assert bool((trace.entropy[committed] > 0).all())
    assert np.array_equal(entropies.entropies()[0], recorder.traces()[0].entropy.numpy())
    assert entropies.entropies().shape == (2, G, G)


def test_entropies_are_of_aligned_logits_and_forgetting_the_shift_changes_them():
    def recorded(model):
        recorder = TraceRecorder()
        decode(model, torch.zeros(1, P, dtype=torch.long), length=G, recorders=[recorder])
        return recorder.traces()[0].entropy

    aligned = recorded(adapt(context_model(), mask_token_id=MASK, vocab_size=V))
    dream = recorded(adapt(context_model(shift=True), mask_token_id=MASK, vocab_size=V, logits_shift=True))
    forgotten = recorded(adapt(context_model(shift=True), mask_token_id=MASK, vocab_size=V))
    assert torch.allclose(dream, aligned, atol=1e-6)
    assert float((forgotten - aligned).abs().max()) > 0.05


def test_dream_hook_records_what_the_shared_loop_records():
    logits = torch.randn(2, P + G, V)
    recorder = EntropyRecorder(prompt_length=P)
    assert recorder.entropy_hook(None, torch.zeros(2, P + G), None) is None
    for step in range(3):
        assert recorder.entropy_hook(step, torch.zeros(2, P + G), logits) is logits
    expected = brute_entropy(logits[:, P:])
    assert recorder.entropies().shape == (2, 3, G)
    assert np.allclose(recorder.entropies()[:, 1], expected.numpy(), atol=1e-5)
    assert torch.allclose(logits_to_entropy(logits, P).double(), expected, atol=1e-5)


def test_recorder_says_what_is_missing():
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        EntropyRecorder().entropies()
    with pytest.raises(ValueError, match="prompt_length=P"):
        EntropyRecorder().entropy_hook(0, torch.zeros(1, 2), torch.zeros(1, 2, 3))
    with pytest.raises(ValueError, match=r"\(got \(1, 2, 3\), P = 2\)"):
        logits_to_entropy(torch.zeros(1, 2, 3), 2)


def test_perplexity_at_commit_is_that_of_the_stored_probabilities():
    kept = []

    def keep(step, state):
        kept.append((state.logits.double().softmax(-1), state.committed.clone(), state.canvas.clone()))

    recorder = TraceRecorder()
    model = adapt(context_model(), mask_token_id=MASK, vocab_size=V)
    decode(model, torch.zeros(1, P, dtype=torch.long), length=G, steps=3, recorders=[recorder, keep])
    total = sum(
        -float(probability[0, place, canvas[0, place]].log())
        for probability, committed, canvas in kept
        for place in committed[0].nonzero().flatten().tolist()
    )
    assert SCALARS["perplexity"](recorder.traces()[0]) == pytest.approx(total / G, abs=1e-5)


def test_monte_carlo_perplexity_of_independent_tokens_is_exact():
    """Where logits ignore the input, every masking with weight 1 / share estimates the same sum without bias."""
    model = constant_model()
    assert isinstance(model, AdaptedLM)
    prompt, answer = torch.zeros(P, dtype=torch.long), torch.arange(G)
    logprob = model.logits(torch.cat([prompt, answer])[None])[0, P:].double().log_softmax(-1)
    exact = -float(logprob[torch.arange(G), answer].sum())
    estimate = monte_carlo_perplexity(model, prompt, answer, samples=4000, batch=500, generator=torch.Generator())
    spread = float(logprob[torch.arange(G), answer].std()) * G
    assert estimate == pytest.approx(exact, abs=4 * spread / 4000**0.5)


KERNEL = """
import torch
from iclr26_tracedet import fused_statistics
generator = torch.Generator().manual_seed(0)
for rows, vocabulary, dtype in ((5, 9001, torch.float32), (3, 4096, torch.bfloat16), (2, 2, torch.float32)):
    logits = (torch.randn(rows, vocabulary, generator=generator) * 6).to(dtype)
    if vocabulary > 2:
        logits[:, : 4096] = torch.where(torch.rand(rows, 4096, generator=generator) < 0.3, -torch.inf, logits[:, :4096])
        logits[0, :4096] = -torch.inf if vocabulary > 4096 else logits[0, :4096]
    exact = logits.double()
    p = exact.softmax(-1)
    entropy = -torch.where(p > 0, p * p.clamp(min=1e-300).log(), torch.zeros_like(p)).sum(-1)
    top = p.topk(2, -1).values
    found = fused_statistics(logits)
    for name, value in (("logsumexp", exact.logsumexp(-1)), ("entropy", entropy), ("conf", top[:, 0]),
                        ("margin", top[:, 0] - top[:, 1])):
        error = float((getattr(found, name).double() - value).abs().max())
        assert error < 1e-5, (name, vocabulary, dtype, error)
    assert torch.equal(found.best, exact.argmax(-1))
tied = torch.zeros(1, 5000); tied[0, [7, 4500]] = 3.0
found = fused_statistics(tied)
assert int(found.best) == 7 and abs(float(found.margin)) < 1e-7
print("agrees")
"""


def test_triton_kernel_agrees_with_float64_in_the_interpreter():
    pytest.importorskip("triton")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", KERNEL], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "agrees", done.stderr
