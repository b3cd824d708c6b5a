"""The baselines solve the problems they can solve."""

import pytest
import torch
from geometry import direction, manifold_and_center
from iclr26_riemannian_fw import GeodesicBall
from iclr26_riemannian_fw.baselines import geoopt_penalty, projected_gradient, pymanopt_penalty, slsqp
from iclr26_riemannian_fw.objectives import FrechetMean


def problem(name, distance=1.2):
    manifold, center = manifold_and_center(name, 3)
    e = direction(manifold, center, torch.Generator().manual_seed(0))
    f = FrechetMean(manifold, manifold.exp(center, distance * e)[None])
    return GeodesicBall(manifold, center, 0.5), f, 0.5 * max(0.0, distance - 0.5) ** 2


@pytest.mark.parametrize("name", ["sphere", "lorentz", "spd", "euclidean"])
def test_projected_gradient(name):
    ball, f, lowest = problem(name)
    assert float(f(projected_gradient(f, ball.center, ball))) == pytest.approx(lowest, abs=1e-10)


@pytest.mark.parametrize("name", ["sphere", "lorentz", "poincare", "spd", "euclidean"])
def test_slsqp(name):
    ball, f, lowest = problem(name)
    assert slsqp(f, ball)[1] == pytest.approx(lowest, abs=1e-7)


@pytest.mark.parametrize("name", ["sphere", "spd"])
def test_geoopt_penalty_violates_the_ball_by_one_over_rho(name):
    """With rho = 1e3 the penalised optimum lies |grad f| / (2 rho) outside."""
    ball, f, lowest = problem(name)
    x = geoopt_penalty(f, ball.center, ball, penalties=(1e1, 1e3))
    assert float(ball.excess(x)) == pytest.approx(0.7 / 2e3, rel=0.05)
    assert float(f(ball.project(x))) == pytest.approx(lowest, abs=1e-5)


def test_geoopt_sgd_penalty():
    ball, f, lowest = problem("sphere")
    x = geoopt_penalty(f, ball.center, ball, optimizer="sgd", penalties=(1e1,), max_iter=3000, learning_rate=0.5)
    assert float(f(ball.project(x))) == pytest.approx(lowest, abs=1e-3)


@pytest.mark.parametrize("solver", ["steepest-descent", "conjugate-gradient", "trust-regions"])
def test_pymanopt_agrees_where_the_optimum_is_interior(solver):
    """Sanity: without the constraint pymanopt finds the same interior optimum."""
    ball, f, _ = problem("sphere", distance=0.3)
    x = pymanopt_penalty(f, ball.center, ball, solver=solver, penalties=(0.0,))
    assert float(f(x)) <= 1e-9


def test_pymanopt_penalty():
    ball, f, lowest = problem("spd")
    x = pymanopt_penalty(f, ball.center, ball, penalties=(1e1, 1e2, 1e3))
    assert float(f(ball.project(x))) == pytest.approx(lowest, abs=1e-4)


def test_observers_stop_every_baseline():
    ball, f, _ = problem("sphere")
    for solve in (projected_gradient, geoopt_penalty, pymanopt_penalty):
        seen = []
        solve(f, ball.center, ball, observe=lambda x, seen=seen: seen.append(x) or len(seen) == 2)
        assert len(seen) == 2


@pytest.mark.parametrize(
    ("solve", "options", "message"),
    [
        (geoopt_penalty, {"optimizer": "adam"}, "optimizer must be"),
        (pymanopt_penalty, {"solver": "newton"}, "solver must be one of"),
    ],
)
def test_unknown_solver_is_refused(solve, options, message):
    ball, f, _ = problem("sphere")
    with pytest.raises(ValueError, match=message):
        solve(f, ball.center, ball, **options)
