"""Laws and given figures of the losses and the straight-through mask."""

from __future__ import annotations

import math

import pytest
import torch
from iclr26_tracedet import bernoulli_kl, mask_norm, mask_tv, poly1_cross_entropy, straight_through_mask

P = torch.tensor([[0.2, 0.9, 0.5], [0.1, 0.1, 0.6]])


def test_regularisers_have_the_given_values():
    assert float(mask_norm(P)) == pytest.approx(1.216552, abs=1e-6)
    assert float(bernoulli_kl(P, 0.1)) == pytest.approx(0.510616, abs=1e-4)  # the authors add 1e-6 inside logarithms
    assert float(bernoulli_kl(P, 0.5)) == pytest.approx(0.219512, abs=1e-4)
    assert float(mask_tv(P)) == pytest.approx(0.237171, abs=1e-6)


def test_poly1_has_the_given_value():
    logits, target = torch.tensor([[1.0, -1.0], [0.5, 2.0]]), torch.tensor([0, 0])
    assert float(poly1_cross_entropy(logits, target)) == pytest.approx(1.382559, abs=1e-6)
    assert float(torch.nn.functional.cross_entropy(logits, target)) == pytest.approx(0.914171, abs=1e-6)


def test_poly1_of_certain_soft_targets_is_that_of_classes():
    logits = torch.tensor([[1.0, -1.0], [0.5, 2.0]])
    soft = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert torch.equal(poly1_cross_entropy(logits, soft), poly1_cross_entropy(logits, torch.tensor([0, 1])))


def test_kl_is_zero_with_zero_gradient_exactly_at_the_prior_and_positive_elsewhere():
    for tau in (0.1, 0.25, 0.4):
        p = torch.full((1, 4), tau, dtype=torch.float64, requires_grad=True)
        value = bernoulli_kl(p, tau)
        (gradient,) = torch.autograd.grad(value, p)
        assert float(value.detach()) == pytest.approx(0.0, abs=1e-15)
        assert float(gradient.abs().max()) < 1e-14
        for other in (0.02, 0.5, 0.9):
            assert float(bernoulli_kl(torch.tensor([[other]], dtype=torch.float64), tau)) > 1e-3


def test_kl_of_one_step_has_the_given_value():
    expected = 0.5 * math.log(2.0) + 0.5 * math.log(2.0 / 3.0)
    assert expected == pytest.approx(0.143841, abs=1e-6)
    assert float(bernoulli_kl(torch.tensor([[0.5]]), 0.25)) == pytest.approx(expected, abs=1e-6)


def test_padded_passes_do_not_enter_the_regularisers():
    valid = torch.tensor([[True, True, False], [True, True, True]])
    short = bernoulli_kl(torch.tensor([[0.2, 0.9, 0.1, 0.1, 0.6]]), 0.25)
    assert torch.allclose(bernoulli_kl(P, 0.25, valid), short)
    assert float(mask_norm(P, valid)) == pytest.approx(math.sqrt(0.04 + 0.81 + 0.01 + 0.01 + 0.36), abs=1e-6)
    assert float(mask_tv(P, valid)) == pytest.approx(math.sqrt(0.49 + 0.0 + 0.25) / 3, abs=1e-6)


def test_losses_pass_gradcheck_in_float64():
    p = torch.rand(3, 5, dtype=torch.float64).mul(0.8).add(0.1).requires_grad_()
    logits = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 1, 1, 0])
    for loss in (lambda q: bernoulli_kl(q, 0.25), mask_norm, mask_tv):
        assert torch.autograd.gradcheck(loss, (p,))
    assert torch.autograd.gradcheck(lambda raw: poly1_cross_entropy(raw, target), (logits,))


def test_straight_through_mask_is_binary_with_the_gradient_of_the_soft_sample():
    p = torch.linspace(0.05, 0.95, 12, dtype=torch.float64).requires_grad_()
    weight = torch.arange(12.0, dtype=torch.float64)
    torch.manual_seed(0)
    mask = straight_through_mask(p)
    (hard,) = torch.autograd.grad((mask * weight).sum(), p)
    assert set(mask.tolist()) <= {0.0, 1.0}
    torch.manual_seed(0)
    scores = torch.stack([torch.log1p(-p), p.log()], -1)
    soft = torch.nn.functional.gumbel_softmax(scores, tau=1.0, hard=False)[..., 1]
    (expected,) = torch.autograd.grad((soft * weight).sum(), p)
    assert torch.allclose(hard, expected, atol=1e-12)
    assert float(hard.abs().max()) > 0.0


def test_expectation_of_the_mask_is_p():
    torch.manual_seed(0)
    draws = 20_000
    for p in (0.05, 0.25, 0.7):
        mean = float(straight_through_mask(torch.full((draws,), p)).mean())
        assert abs(mean - p) < 3 * math.sqrt(p * (1 - p) / draws)
