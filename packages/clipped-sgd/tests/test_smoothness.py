import numpy as np
import pytest
import torch
from iclr26_clipped_sgd import estimate_smoothness, logistic_smoothness
from iclr26_core.errors import NotConverged


def test_power_iteration_finds_the_largest_eigenvalue_of_least_squares():
    X = torch.randn(40, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model = torch.nn.Linear(6, 1, bias=False).double()
    got = estimate_smoothness(model, lambda m, b: (m(b) ** 2).mean() / 2, X)
    assert got == pytest.approx(torch.linalg.eigvalsh(X.T @ X / 40)[-1].item(), rel=1e-4)


def test_it_spans_all_parameters_and_only_those_that_train():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    X, y = torch.randn(20, 3, dtype=torch.float64), torch.randn(20, 1, dtype=torch.float64)
    loss = lambda m, b: ((m(b) - y) ** 2).mean()  # noqa: E731
    for p in model[0].parameters():
        p.requires_grad_(False)
    flat = torch.nn.utils.parameters_to_vector(model[2].parameters()).detach()

    def of_vector(v):
        return ((torch.tanh(X @ model[0].weight.T + model[0].bias) @ v[:4, None] + v[4] - y) ** 2).mean()

    exact = torch.linalg.eigvalsh(torch.autograd.functional.hessian(of_vector, flat)).abs().max().item()
    assert estimate_smoothness(model, loss, X, tolerance=1e-9) == pytest.approx(exact, rel=1e-4)


def test_logistic_bound_is_an_upper_bound_that_is_reached_at_zero():
    X = np.random.default_rng(0).standard_normal((50, 4))
    model = torch.nn.Linear(4, 1, bias=False).double()
    loss = lambda m, b: torch.nn.functional.softplus(m(b)).mean()  # noqa: E731
    bound = logistic_smoothness(X)
    assert estimate_smoothness(model, loss, torch.from_numpy(X)) <= bound
    torch.nn.init.zeros_(model.weight)
    assert estimate_smoothness(model, loss, torch.from_numpy(X)) == pytest.approx(bound, rel=1e-4)
    assert bound == pytest.approx(np.linalg.eigvalsh(X.T @ X)[-1] / 200, rel=1e-12)


def test_it_does_not_touch_the_model():
    model = torch.nn.Linear(3, 1)
    before = model.weight.detach().clone()
    estimate_smoothness(model, lambda m, b: (m(b) ** 2).mean(), torch.randn(5, 3))
    assert torch.equal(model.weight, before)
    assert model.weight.grad is None


def test_failures_say_what_was_reached():
    model = torch.nn.Linear(3, 1)
    with pytest.raises(NotConverged, match="after 1 products"):
        estimate_smoothness(model, lambda m, b: (m(b) ** 2).mean(), torch.randn(5, 3), iterations=1)
    model.requires_grad_(False)
    with pytest.raises(ValueError, match="requires a gradient"):
        estimate_smoothness(model, lambda m, b: (m(b) ** 2).mean(), torch.randn(5, 3))
    with pytest.raises(ValueError, match=r"\(M?m?, n\).*got \(3,\)"):
        logistic_smoothness(np.ones(3))


def test_flat_loss_has_zero_curvature():
    assert estimate_smoothness(torch.nn.Linear(2, 1), lambda m, b: m(b).sum(), torch.ones(1, 2)) == 0.0
