"""Laws of the networks, and both variants against an independent computation in float64 numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from iclr26_tracedet import ClassifierHead, TimeEncoding, TraceClassifier
from iclr26_tracedet.baselines import NoMaskClassifier
from iclr26_tracedet.tracedet import ResidualFreeLayer, embedding_spread, pool_embeddings, pool_trace, step_weights


def small(variant="reference", *, width=6, steps=6, **options):
    torch.manual_seed(0)
    return TraceClassifier(width, steps=steps, canvas=width, variant=variant, **options).eval()


def test_time_encoding_has_the_given_values():
    encoding = TimeEncoding(4, 8)(4)
    first = [0.841471, 0.589113, 0.386515, 0.247404, 0.540302, 0.808051, 0.922283, 0.968912]
    last = [-0.756802, 0.582459, 0.999862, 0.841471, -0.653644, -0.812860, -0.016604, 0.540302]
    assert torch.allclose(encoding[0], torch.tensor(first), atol=1e-5)
    assert torch.allclose(encoding[3], torch.tensor(last), atol=1e-5)


@pytest.mark.parametrize("dim", [2, 5])
def test_time_encoding_refuses_a_size_without_a_geometric_row(dim):
    with pytest.raises(ValueError, match=rf"even and >= 4 \(got {dim}\)"):
        TimeEncoding(4, dim)


def test_layer_without_attention_output_forgets_its_input_because_it_has_no_residual():
    """LayerNorm of zeros is its bias; the standard layer keeps its input through the residual and fails this."""
    free = ResidualFreeLayer(8, ff=4, dropout=0.0).eval()
    standard = torch.nn.TransformerEncoderLayer(8, 1, 4, 0.0, batch_first=True).eval()
    outputs = []
    for layer in (free, standard):
        with torch.no_grad():
            layer.self_attn.out_proj.weight.zero_()
            for name, parameter in layer.named_parameters():
                if "bias" in name:
                    parameter.zero_()
            outputs.append([layer(torch.full((1, 3, 8), 0.0) + torch.randn(1, 3, 8)) for _ in range(2)])
    (one, other), (standard_one, standard_other) = outputs
    assert torch.equal(one, other)
    assert float((standard_one - standard_other).abs().max()) > 0.1


def test_pooling_and_its_loss_do_not_depend_on_the_scale_of_p():
    """So the L2 term shrinks p without end: the reference variant's degeneracy."""
    torch.manual_seed(0)
    embedded, keep = torch.randn(5, 7, 12), torch.rand(5, 7)
    head = ClassifierHead(12, normalise=True)
    for scale in (1e-3, 1e-2, 0.1, 0.5, 1.0):
        assert torch.allclose(pool_embeddings(embedded, scale * keep), pool_embeddings(embedded, keep), atol=1e-5)
    log_scale = torch.zeros((), requires_grad=True)
    logits = head(pool_embeddings(embedded, log_scale.exp() * keep))
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 0, 1, 1]))
    (gradient,) = torch.autograd.grad(loss, log_scale)
    assert abs(float(gradient)) < 1e-6


def test_constant_mask_pools_to_the_mean():
    embedded = torch.randn(3, 6, 10)
    assert torch.allclose(pool_embeddings(embedded, torch.ones(3, 6)), embedded.mean(1), atol=1e-6)


def test_no_mask_agrees_with_the_reference_under_a_constant_mask_and_a_shared_head():
    """T = D; the sum over T + 1 of NoMask is undone by the LayerNorm, up to its epsilon of 1e-5."""
    network = small()
    network.extractor.forward = lambda values, embedded, padding: torch.ones(values.shape[:2])
    nomask = NoMaskClassifier(6, steps=6, time_dim=8, layers=3, ff=8, dropout=0.2).eval()
    nomask.encoder, nomask.head = network.encoder, network.head.layers
    values, lengths = torch.rand(4, 6, 6), torch.full((4,), 6)
    output, plain = network(values, lengths), nomask(values, lengths)
    assert torch.allclose(output.logits, plain.logits, atol=1e-4)
    assert torch.allclose(output.logits, output.full_logits, atol=1e-4)


def test_selected_pooling_divides_by_the_mask_and_mean_pooling_by_the_passes():
    values = torch.tensor([[[2.0], [4.0], [0.0]]])
    mask, lengths = torch.tensor([[1.0, 1.0, 0.0]]), torch.tensor([3])
    assert float(pool_trace(values, mask, lengths, "mean")) == pytest.approx(2.0)
    assert float(pool_trace(values, mask, lengths, "selected")) == pytest.approx(3.0)


@pytest.mark.parametrize("variant", ["reference", "paper"])
@pytest.mark.parametrize("residual", [False, True])
def test_padding_changes_no_output_and_gets_weight_zero(variant, residual):
    network = small(variant, steps=9, encoder_residual=residual)
    traces = [torch.rand(steps, 6) * 3 for steps in (5, 7, 9)]
    padded = torch.zeros(3, 9, 6)
    for row, trace in zip(padded, traces, strict=True):
        row[: len(trace)] = trace
    lengths = torch.tensor([5, 7, 9])
    with torch.no_grad():
        together = network(padded, lengths)
        alone = [network(trace[None], torch.tensor([len(trace)])) for trace in traces]
    for row, single in enumerate(alone):
        assert torch.allclose(together.logits[row], single.logits[0], atol=1e-6)
        assert bool((together.keep[row, int(lengths[row]) :] == 0.0).all())
        weights = step_weights(together, variant)
        assert bool((weights[row, int(lengths[row]) :] == 0.0).all())
    garbage = padded.clone()
    garbage[0, 5:] = 100.0
    with torch.no_grad():
        assert torch.allclose(network(garbage, lengths).logits, together.logits, atol=1e-6)


def test_paper_variant_scores_with_the_expected_mask_and_trains_with_a_hard_one():
    network = small("paper", dropout=0.0)
    values, lengths = torch.rand(2, 6, 6), torch.tensor([6, 6])
    once, twice = network(values, lengths), network(values, lengths)
    assert torch.equal(once.logits, twice.logits)
    network.train()
    torch.manual_seed(1)
    sampled = network(values, lengths)
    assert not torch.allclose(sampled.logits, once.logits)


def test_encoder_without_residual_embeds_every_pass_almost_alike():
    """The second degeneracy: pooled embeddings hardly depend on the weights; the standard layer keeps passes apart."""
    values, lengths = torch.rand(8, 6, 6) * 3, torch.full((8,), 6)
    free = embedding_spread(small().encoder(values), lengths)
    standard = embedding_spread(small(encoder_residual=True).encoder(values), lengths)
    assert free < 1e-3
    assert standard > 0.05


@pytest.mark.parametrize("variant", ["reference", "paper"])
def test_network_agrees_with_a_float64_computation_from_copied_weights(variant):
    network = small(variant)
    values = torch.rand(2, 6, 6) * 2
    with torch.no_grad():
        output = network(values, torch.tensor([6, 6]))
    weights = {name: tensor.double().numpy() for name, tensor in network.state_dict().items()}
    for row in range(2):
        logits, keep = recomputed(weights, values[row].double().numpy(), variant)
        assert np.abs(output.logits[row].numpy() - logits).max() < 1e-5
        assert np.abs(output.keep[row].numpy() - keep).max() < 1e-5


def recomputed(w, a, variant):
    """Section 2.2 and 2.3 of the method for one trace (T, D), written with numpy only."""
    T, q = len(a), 8
    tau = np.arange(1, T + 1)[:, None]
    periods = float(T) ** np.linspace(0, 1, q // 2)
    time = np.concatenate([np.sin(tau / periods), np.cos(tau / periods)], -1)
    u = np.concatenate([time, a @ w["encoder.project.weight"].T + w["encoder.project.bias"]], -1)
    for k in range(3):
        at = f"encoder.layers.{k}."
        y = norm(attention(w, at + "self_attn.", u, u), w, at + "norm1.")
        u = norm(y + linear(np.maximum(linear(y, w, at + "linear1."), 0), w, at + "linear2."), w, at + "norm2.")
    h = norm(np.concatenate([a, time], -1), w, "extractor.norm.")
    for k in range(2):
        at = f"extractor.layers.{k}."
        h = norm(h + attention(w, at + "self_attn.", h, h), w, at + "norm1.")
        h = norm(h + attention(w, at + "multihead_attn.", h, u), w, at + "norm2.")
        h = norm(h + linear(np.maximum(linear(h, w, at + "linear1."), 0), w, at + "linear2."), w, at + "norm3.")
    p = softmax(linear(h, w, "extractor.classify."))[:, 1]
    if variant == "paper":
        pooled = (p[:, None] * a).mean(0)
    else:
        z = (p[:, None] * u).sum(0) / (p.sum() + 1e-8)
        pooled = (z - z.mean()) / np.sqrt(z.var() + 1e-5)
    hidden = norm(np.maximum(linear(pooled, w, "head.layers.0."), 0), w, "head.layers.2.")
    return linear(hidden, w, "head.layers.3."), p


def linear(x, w, at):
    return x @ w[at + "weight"].T + w[at + "bias"]


def norm(x, w, at):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w[at + "weight"] + w[at + "bias"]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(w, at, query, memory):
    width = query.shape[-1]
    wq, wk, wv = np.split(w[at + "in_proj_weight"], 3)
    bq, bk, bv = np.split(w[at + "in_proj_bias"], 3)
    scores = (query @ wq.T + bq) @ (memory @ wk.T + bk).T / np.sqrt(width)
    return softmax(scores) @ (memory @ wv.T + bv) @ w[at + "out_proj.weight"].T + w[at + "out_proj.bias"]
