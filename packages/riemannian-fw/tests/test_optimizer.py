"""`FrankWolfe` under torch's contract of optimisers, and what a set adds to it."""

import math
import warnings

import pytest
import torch
from geometry import SOLVED, direction, manifold_and_center
from iclr26_core.testing import OptimizerContract
from iclr26_riemannian_fw import Euclidean, FrankWolfe, GeodesicBall, SPDInterval, Sphere, minimize
from iclr26_riemannian_fw.objectives import FrechetMean


class TestFrankWolfe(OptimizerContract):
    """Two parameters in a ball around their start; the target lies outside, so every set is active."""

    method = "riemannian-fw"

    def make(self, params):
        groups = []
        for p in params:
            ball = GeodesicBall(
                Euclidean(max(p.ndim, 1)), torch.zeros(p.shape or (1,), dtype=p.dtype, device=p.device), 0.8
            )
            groups.append({"params": [p], "feasible_set": ball})
        return FrankWolfe(groups)

    def example(self, *, dtype=torch.float64, device="cpu"):
        generator = torch.Generator().manual_seed(0)
        target = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((3, 2), (4,))]
        target = [t.to(device=device, dtype=dtype) for t in target]
        params = [torch.zeros_like(t).requires_grad_() for t in target]
        return (
            params,
            lambda: torch.stack([((p - t) ** 2).sum() for p, t in zip(params, target, strict=True)]).sum() / 2,
        )


def problem(name):
    manifold, center = manifold_and_center(name)
    p = manifold.exp(center, 1.2 * direction(manifold, center, torch.Generator().manual_seed(0)))
    return GeodesicBall(manifold, center, 0.5), FrechetMean(manifold, p[None])


@pytest.mark.parametrize("step", ["backtracking", "short"])
@pytest.mark.parametrize("name", SOLVED)
def test_optimiser_walks_the_path_of_minimize(name, step):
    ball, f = problem(name)
    x0 = ball.random(1, torch.Generator().manual_seed(1))[0]
    x = torch.nn.Parameter(x0.clone())
    optimizer = FrankWolfe([x], ball, step=step, smoothness=2.0)
    for _ in range(5):
        optimizer.step(lambda: f(x))
    result = minimize(f, x0, ball, step=step, smoothness=2.0, max_iter=5, tol=0)
    assert torch.allclose(x.detach(), result.x, atol=1e-9)
    assert optimizer.gap() == pytest.approx(result.history["gap"][4], rel=1e-6, abs=1e-12)


def test_line_search_finds_the_optimum():
    ball, f = problem("sphere")
    x = torch.nn.Parameter(ball.random(1, torch.Generator().manual_seed(1))[0])
    optimizer = FrankWolfe([x], ball, step="line-search")
    for _ in range(15):
        optimizer.step(lambda: f(x))
    assert float(f(x.detach())) == pytest.approx(0.5 * 0.7**2, abs=1e-8)


def test_geoopt_parameter_is_accepted_and_a_wrong_manifold_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import geoopt
    ball, f = problem("sphere")
    x = geoopt.ManifoldParameter(ball.center.clone(), manifold=geoopt.Sphere())
    FrankWolfe([x], ball).step(lambda: f(x))
    assert bool(ball.contains(x.detach()))
    wrong = geoopt.ManifoldParameter(ball.center.clone(), manifold=geoopt.Euclidean(ndim=1))
    with pytest.raises(ValueError, match="use one manifold"):
        FrankWolfe([wrong], ball)


def test_stochastic_gradients_with_open_loop_steps():
    """Minibatches of a linear loss on a cap: the answer is Exp_c(R e) up to the noise of 0.2 / sqrt(300)."""
    generator = torch.Generator().manual_seed(0)
    center, e = torch.eye(3)[2], torch.eye(3)[0]
    x = torch.nn.Parameter(center.clone())
    optimizer = FrankWolfe([x], GeodesicBall(Sphere(), center, 0.5), step="open-loop")
    for _ in range(300):
        noisy = e + 0.2 * torch.randn(3, generator=generator)
        optimizer.step(lambda noisy=noisy: -(noisy @ x))
    assert float(x.detach() @ e) == pytest.approx(math.sin(0.5), abs=2e-2)


def test_gradients_already_stored_are_used_without_a_closure():
    ball, f = problem("sphere")
    x = torch.nn.Parameter(ball.center.clone())
    optimizer = FrankWolfe([x], ball, step="open-loop")
    f(x).backward()
    assert optimizer.step() is None
    assert bool(ball.contains(x.detach()))
    with pytest.raises(ValueError, match="needs step\\(closure\\)"):
        FrankWolfe([x], ball).step()


def test_two_groups_with_two_sets():
    cap, disc = GeodesicBall(Sphere(), torch.eye(3)[2], 0.5), GeodesicBall(Euclidean(), torch.zeros(2), 1.0)
    x, y = torch.nn.Parameter(torch.eye(3)[2].clone()), torch.nn.Parameter(torch.zeros(2))
    optimizer = FrankWolfe([{"params": [x], "feasible_set": cap}, {"params": [y], "feasible_set": disc}])
    for _ in range(30):
        optimizer.step(lambda: -x[0] - y[1])
    assert float(x.detach()[0]) == pytest.approx(math.sin(0.5), abs=1e-9)
    assert y.detach().tolist() == pytest.approx([0.0, 1.0], abs=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: FrankWolfe([x]), "feasible_set must be given"),
        (lambda x: FrankWolfe([x], GeodesicBall(Sphere(), torch.eye(3)[0], 0.5)), "must lie in the ball"),
        (lambda x: FrankWolfe([x], GeodesicBall(Sphere(), torch.eye(3)[2], 0.5), step="adam"), "step must be one of"),
        (
            lambda x: FrankWolfe([x], GeodesicBall(Sphere(), torch.eye(3)[2], 0.5), step="short"),
            "smoothness must be given",
        ),
        (
            lambda x: FrankWolfe([x], GeodesicBall(Sphere(), torch.eye(3)[2], 0.5), smoothness=0.0),
            "smoothness must be > 0",
        ),
    ],
)
def test_impossible_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make(torch.nn.Parameter(torch.eye(3)[2].clone()))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_loss_that_is_not_finite_leaves_the_parameter(bad):
    ball, f = problem("sphere")
    x = torch.nn.Parameter(ball.center.clone())
    with pytest.raises(RuntimeError, match="must be finite"):
        FrankWolfe([x], ball).step(lambda: f(x) * bad)
    assert torch.equal(x.detach(), ball.center)


def test_interval_parameter_stays_between_its_ends():
    interval = SPDInterval(0.5 * torch.eye(2), 2 * torch.eye(2))
    x = torch.nn.Parameter(torch.eye(2))
    optimizer = FrankWolfe([x], interval)
    target = torch.tensor([[3.0, 1.0], [1.0, 1.0]])
    losses = [float(optimizer.step(lambda: 0.5 * (x - target).square().sum())) for _ in range(20)]
    assert losses[-1] < losses[0]
    assert bool(interval.contains(x.detach(), 1e-9))
