"""Oracle 16: the Daleckii-Krein adjoints against finite differences, including repeated eigenvalues."""

import pytest
import scipy.linalg
import torch
from iclr26_riemannian_fw.feasible.lmo import affine_spd_ball
from iclr26_riemannian_fw.geometry.manifolds import Manifold
from iclr26_riemannian_fw.geometry.matrix_functions import (
    sym,
    symmetric_exp,
    symmetric_expm1,
    symmetric_log,
    symmetric_log1p,
)
from iclr26_riemannian_fw.geometry.spd import SPD

SPECTRA = {
    "distinct": [0.5, 1.0, 2.0, 3.5],
    "one pair": [0.5, 1.3, 1.3, 2.0],
    "all equal": [1.3, 1.3, 1.3, 1.3],
    "nearly equal": [1.0, 1.0 + 1e-10, 1.0 + 1e-7, 2.0],
}
FUNCTIONS = (symmetric_log, symmetric_log1p, symmetric_exp, symmetric_expm1)


def matrix(spectrum, generator):
    Q = torch.linalg.qr(torch.randn(len(spectrum), len(spectrum), generator=generator)).Q
    return sym(Q @ torch.diag(torch.tensor(spectrum)) @ Q.mT)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradcheck(function, spectrum, generator):
    A = matrix(SPECTRA[spectrum], generator).requires_grad_(True)
    assert torch.autograd.gradcheck(lambda M: function(sym(M)), A, eps=1e-6, atol=1e-7)


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_values_agree_with_scipy(spectrum, generator):
    A = matrix(SPECTRA[spectrum], generator)
    assert torch.allclose(symmetric_log(A), torch.tensor(scipy.linalg.logm(A.numpy())), atol=1e-13)
    assert torch.allclose(symmetric_exp(A), torch.tensor(scipy.linalg.expm(A.numpy())), atol=1e-12)


def test_torch_eigh_alone_has_no_gradient_at_the_identity():
    """Why the adjoints are ours: torch divides by the difference of equal eigenvalues."""
    A = torch.eye(3).requires_grad_(True)
    values, vectors = torch.linalg.eigh(A)
    log = (vectors * values.log()) @ vectors.mT
    (theirs,) = torch.autograd.grad(log[0, 1], A)
    (ours,) = torch.autograd.grad(symmetric_log(A)[0, 1], A)
    assert not torch.isfinite(theirs).all()
    assert torch.allclose(ours, sym(torch.tensor([[0.0, 1, 0], [0, 0, 0], [0, 0, 0]])))


@pytest.mark.parametrize("repeated", [False, True])
def test_gradient_of_the_spd_oracle_vanishes_along_the_sphere_at_its_answer(repeated, generator):
    """At the answer no small move on the boundary lowers <G, Log_X z>: finite differences, 1e-4 steps."""
    manifold: Manifold = SPD()
    x = torch.eye(3) if repeated else matrix([0.6, 1.0, 1.7], generator)
    g, radius = manifold.random_tangent(x, generator), torch.tensor(1.2)
    answer = affine_spd_ball(manifold, torch.eye(3), radius, x, g)
    W = symmetric_log(answer.v)
    for _ in range(50):
        moved = W + 1e-4 * sym(torch.randn(3, 3, generator=generator))
        z = symmetric_exp(radius * moved / moved.norm())
        assert float(manifold.inner(x, g, manifold.log(x, z))) >= float(answer.value) - 1e-13
