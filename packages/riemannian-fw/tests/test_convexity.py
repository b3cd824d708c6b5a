"""Oracles 10 and 11: which sets are strongly convex."""

import math

import pytest
import torch
from geometry import manifold_and_center
from iclr26_riemannian_fw import (
    SPD,
    Euclidean,
    GeodesicBall,
    Hyperbolic,
    Product,
    ProductBall,
    ProductSet,
    SPDInterval,
    Sphere,
    SublevelSet,
    certify,
    estimate_rsi,
    predicted_rate,
)


@pytest.mark.parametrize(
    ("manifold", "center", "radius", "alpha"),
    [
        (Sphere(), torch.eye(3, dtype=torch.float64)[0], 1.0, 0.3210463),
        (Hyperbolic(), torch.eye(3, dtype=torch.float64)[0], 1.0, 1 / (2 * math.sqrt(1 / math.tanh(1)))),
        (Hyperbolic("poincare"), torch.zeros(2, dtype=torch.float64), 1.0, 0.4363),
        (Euclidean(), torch.zeros(2, dtype=torch.float64), 2.0, 0.25),
    ],
)
def test_strong_convexity_of_balls(manifold, center, radius, alpha):
    """Oracle 10."""
    assert certify(GeodesicBall(manifold, center, radius)).alpha == pytest.approx(alpha, abs=5e-5)


def test_flat_balls_are_strongly_convex_in_every_sense():
    for manifold, center in ((Euclidean(), torch.zeros(3)), (SPD("log-euclidean"), torch.eye(2))):
        assert certify(GeodesicBall(manifold, center, 2.0)).kind == "riemannian"
        assert certify(GeodesicBall(manifold, center, 2.0)).alpha == 0.25


def test_small_balls_of_every_manifold_approach_the_flat_constant():
    """alpha * 2R -> 1 as R -> 0."""
    for name in ("sphere", "lorentz", "spd"):
        manifold, center = manifold_and_center(name)
        assert certify(GeodesicBall(manifold, center, 1e-3)).alpha * 2e-3 == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("radius", "low", "high"), [(0.3, 1.60, 1.63), (1.0, 0.315, 0.33), (1.3, 0.137, 0.142)])
def test_estimated_rsi_constant_of_spherical_caps(radius, low, high):
    """Oracle 10 and the figures 1.616, .321, .139 of an exhaustive search, which are cot(R) / 2."""
    estimate = estimate_rsi(GeodesicBall(Sphere(), torch.eye(3)[0], radius), 64, 128)
    assert estimate.kind == "estimate"
    assert "not a certificate" in estimate.reason
    assert low <= estimate.alpha <= high


@pytest.mark.parametrize(
    ("radius", "constant"), [(0.3, 1.659), (0.6, 0.820), (1.0, 0.477), (1.5, 0.296), (2.0, 0.198), (3.0, 0.0878)]
)
def test_estimated_rsi_constant_of_hyperbolic_discs(radius, constant):
    """Oracle 10 ([.19, .21] at R = 2) and the exhaustive search: a sampled minimum, so at most 5 % above."""
    estimate = estimate_rsi(GeodesicBall(Hyperbolic(), torch.eye(3)[0], radius), 64, 256)
    assert 0.98 * constant <= estimate.alpha <= 1.05 * constant


def test_estimate_is_reproducible_and_an_upper_bound_of_the_exact_constant():
    ball = GeodesicBall(Euclidean(), torch.zeros(3), 2.0)
    assert estimate_rsi(ball, 16, 64, seed=1) == estimate_rsi(ball, 16, 64, seed=1)
    assert 0.25 - 1e-9 <= estimate_rsi(ball).alpha <= 0.27


def test_every_sampled_ratio_of_a_cap_is_above_its_certified_constant():
    """On the sphere alpha_ball = cot(R)/2 is the RSI constant itself."""
    for radius in (0.5, 1.0, 1.4):
        assert estimate_rsi(GeodesicBall(Sphere(), torch.eye(4)[0], radius), 32, 128).alpha >= 0.5 / math.tan(
            radius
        ) * (1 - 1e-4)


def test_product_of_discs_is_not_strongly_convex_and_the_product_ball_is():
    """Oracle 11."""
    disc = GeodesicBall(Euclidean(), torch.zeros(2), 1.0)
    both = certify(ProductSet([disc, disc]))
    assert (both.kind, both.alpha) == ("none", 0.0)
    assert "square" in both.reason
    ball = ProductBall(Product([Euclidean(), Euclidean()], [(2,), (2,)]), torch.zeros(4), 2.0)
    assert certify(ball).alpha == 0.25
    assert certify(ball).kind in ("geodesic", "riemannian")


def test_product_of_discs_has_a_vanishing_rsi_ratio():
    """A direction that leaves one disc nearly free makes the ratio small: no positive constant survives."""
    disc = GeodesicBall(Euclidean(), torch.zeros(2), 1.0)
    both = ProductSet([disc, disc])
    x, w = torch.tensor([1.0, 0.0, -1.0, 0.0]), torch.tensor([1.0, 0.0, 1e-6, 0.0])
    u = both.lmo(x, -w).u
    assert float(w @ u / (w.norm() * u.norm() ** 2)) <= 1e-6


def test_ball_of_a_curved_product_takes_the_worst_curvature():
    product = Product([Sphere(), SPD()], [(3,), (2, 2)])
    center = product.join([torch.eye(3)[0], torch.eye(2)])
    ball = ProductBall(product, center, 0.7)
    scaled = 0.7 / math.sqrt(2)
    expected = (0.7 / math.tan(0.7)) / (2 * 0.7 * math.sqrt(scaled / math.tanh(scaled)))
    assert certify(ball).alpha == pytest.approx(expected)


def test_interval_and_sublevel_set():
    assert certify(SPDInterval(torch.eye(2), 2 * torch.eye(2))).kind == "none"
    assert certify(SPDInterval(torch.eye(1), 2 * torch.eye(1))).kind == "riemannian"
    level = SublevelSet(Euclidean(), lambda z: 0.5 * (z @ z), torch.zeros(2), mu=1.0, L=1.0, s=2.0)
    assert certify(level).alpha == pytest.approx(0.25)


def test_predicted_rate():
    assert predicted_rate(0.5, 1.0, 1.0) == 0.75
    assert predicted_rate(10.0, 1.0, 1.0) == 0.5
    with pytest.raises(ValueError, match="alpha must be > 0"):
        predicted_rate(0.0, 1.0, 1.0)
