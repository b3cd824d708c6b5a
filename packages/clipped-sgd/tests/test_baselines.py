import math

import numpy as np
import pytest
import torch
from iclr26_clipped_sgd import NormalisedSGD


def test_normalised_sgd_takes_steps_of_length_c_over_root_k():
    a, b = torch.nn.Parameter(torch.randn(3).double()), torch.nn.Parameter(torch.randn(2, 2).double())
    optimizer = NormalisedSGD([{"params": [a]}, {"params": [b]}], lr=0.7)
    for k in range(5):
        before = torch.nn.utils.parameters_to_vector([a, b]).detach().numpy().copy()
        a.grad, b.grad = torch.randn_like(a) * 10**k, torch.randn_like(b)
        g = np.concatenate([a.grad.numpy().ravel(), b.grad.numpy().ravel()])
        optimizer.step()
        after = torch.nn.utils.parameters_to_vector([a, b]).detach().numpy()
        np.testing.assert_allclose(after, before - 0.7 / math.sqrt(k + 1) * g / np.linalg.norm(g), atol=1e-14)


def test_zero_gradient_is_no_step():
    x = torch.nn.Parameter(torch.ones(2))
    x.grad = torch.zeros(2)
    NormalisedSGD([x], lr=1.0).step()
    assert x.tolist() == [1.0, 1.0]


def test_state_resumes():
    x = torch.nn.Parameter(torch.ones(2))
    optimizer = NormalisedSGD([x], lr=1.0)
    x.grad = torch.ones(2)
    optimizer.step()
    other = NormalisedSGD([torch.nn.Parameter(torch.ones(2))], lr=1.0)
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["k"] == 1


def test_bad_use_is_refused():
    with pytest.raises(ValueError, match=r"lr must be > 0.*got 0.0"):
        NormalisedSGD([torch.nn.Parameter(torch.ones(2))], lr=0.0)
    with pytest.raises(RuntimeError, match="without gradients"):
        NormalisedSGD([torch.nn.Parameter(torch.ones(2))], lr=1.0).step()
