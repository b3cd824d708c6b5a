import numpy as np
import pytest
import torch
from iclr26_clipped_sgd import gradient_noise


def loss_fn(model, batch):
    return torch.nn.functional.mse_loss(model(batch[0]), batch[1])


def data(count=12):
    generator = torch.Generator().manual_seed(0)
    X, y = torch.randn(count, 3, generator=generator).double(), torch.randn(count, 1, generator=generator).double()
    return [(X[i : i + 2], y[i : i + 2]) for i in range(0, count, 2)], (X, y)


def flat_gradient(model, batch):
    return torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss_fn(model, batch), list(model.parameters()))])


def test_noise_is_gradients_minus_their_mean():
    batches, _ = data()
    model = torch.nn.Linear(3, 1).double()
    gradients = torch.stack([flat_gradient(model, batch) for batch in batches])
    noise = gradients - gradients.mean(dim=0)
    got = gradient_noise(model, loss_fn, batches, 6)
    np.testing.assert_allclose(got.norms, noise.norm(dim=1), rtol=1e-10)
    assert got.coordinates.shape == (6, 4)
    np.testing.assert_allclose(np.sort(got.coordinates, axis=1), np.sort(noise.numpy(), axis=1), atol=1e-12)
    assert got.gradient_norm == pytest.approx(gradients.mean(dim=0).norm().item(), rel=1e-10)


def test_the_full_gradient_is_the_centre_when_it_is_given():
    batches, whole = data()
    model = torch.nn.Linear(3, 1).double()
    centre = flat_gradient(model, whole)
    expected = [(flat_gradient(model, batch) - centre).norm().item() for batch in batches[:4]]
    np.testing.assert_allclose(gradient_noise(model, loss_fn, batches, 4, full_batch=whole).norms, expected, rtol=1e-10)


def test_the_loader_is_started_again_and_coordinates_are_limited():
    batches, _ = data()
    got = gradient_noise(torch.nn.Linear(3, 1).double(), loss_fn, batches, 15, n_coordinates=2)
    assert got.norms.shape == (15,)
    assert got.coordinates.shape == (15, 2)


def test_dropout_repeats_between_the_two_passes():
    batch = (torch.ones(2, 3).double(), torch.zeros(2, 1).double())
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(3, 1)).double()
    got = gradient_noise(model, loss_fn, [batch], 30)
    np.testing.assert_allclose(got.coordinates.mean(axis=0), 0.0, atol=1e-12)
    assert got.norms.max() > 0


def test_the_model_and_the_random_state_stay_as_they_are():
    batches, _ = data()
    model = torch.nn.Linear(3, 1).double()
    before, state = model.weight.detach().clone(), torch.random.get_rng_state()
    gradient_noise(model, loss_fn, batches, 3)
    assert model.weight.grad is None
    assert torch.equal(model.weight, before)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_bad_input_is_refused():
    batches, _ = data()
    model = torch.nn.Linear(3, 1).double()
    with pytest.raises(ValueError, match=r"n_batches must be >= 2 \(got 1\)"):
        gradient_noise(model, loss_fn, batches, 1)
    with pytest.raises(ValueError, match="at least one batch"):
        gradient_noise(model, loss_fn, [], 3)
    with pytest.raises(ValueError, match="requires a gradient"):
        gradient_noise(model.requires_grad_(False), loss_fn, batches, 3)
