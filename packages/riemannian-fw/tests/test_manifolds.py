"""Oracle 1 and the geometry behind it."""

import mpmath
import pytest
import torch
from geometry import EVERY, direction, manifold_and_center
from iclr26_riemannian_fw import (
    SPD,
    Euclidean,
    GeodesicBall,
    Hyperbolic,
    Product,
    Sphere,
    lorentz_to_poincare,
    poincare_to_lorentz,
)
from iclr26_riemannian_fw.objectives import FrechetMean

DISTANCES = (1e-9, 1e-7, 1e-5, 1e-3, 0.1, 0.5, 1.0)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("name", EVERY)
def test_exp_and_log_are_inverse(name, distance, generator):
    """Oracle 1: round trip <= 1e-12 for distances 1e-9..R."""
    manifold, center = manifold_and_center(name)
    x = GeodesicBall(manifold, center, 0.5).random(50, generator)
    u = distance * direction(manifold, x, generator)
    assert float(manifold.norm(x, manifold.log(x, manifold.exp(x, u)) - u).max()) <= 1e-12


@pytest.mark.parametrize("name", EVERY)
def test_log_is_accurate_at_a_billionth(name, generator):
    """Oracle 1: relative error <= 1e-6 at distance 1e-9 (rounding of y alone allows about 1e-7)."""
    manifold, center = manifold_and_center(name)
    x = GeodesicBall(manifold, center, 0.2).random(50, generator)
    y = manifold.exp(x, 1e-9 * direction(manifold, x, generator))
    assert float((manifold.dist(x, y) / 1e-9 - 1).abs().max()) <= 1e-6


def test_geoopt_sphere_fails_the_same_check(generator):
    """The reason for our own geometry: geoopt clamps the inner product, so close points get distance 4.5e-4."""
    geoopt = pytest.importorskip("geoopt")
    x = torch.eye(5)[0]
    y = Sphere().exp(x, 1e-9 * torch.eye(5)[1])
    assert float(geoopt.Sphere().dist(x, y)) > 1e-5


@pytest.mark.parametrize("model", ["sphere", "lorentz", "poincare"])
@pytest.mark.parametrize("distance", [1e-6, 1e-2, 1.0, 2.5])
def test_distance_agrees_with_fifty_digits(model, distance, generator):
    """Against mpmath on the same float64 points; 4e-16 / distance is what rounding the points allows."""
    manifold, center = manifold_and_center(model)
    x = GeodesicBall(manifold, center, 0.8).random(1, generator)[0]
    y = manifold.exp(x, distance * direction(manifold, x, generator))
    with mpmath.workdps(50):
        expected = _precise_distance(model, [mpmath.mpf(float(t)) for t in x], [mpmath.mpf(float(t)) for t in y])
        assert abs(float(manifold.dist(x, y)) - float(expected)) <= 2e-14 + 1e-9 * distance * (distance < 1e-3)


def _precise_distance(model, x, y):
    square = sum((b - a) ** 2 for a, b in zip(x, y, strict=True))
    if model == "sphere":
        return 2 * mpmath.asin(mpmath.sqrt(square) / 2)
    if model == "poincare":
        inside = (1 - sum(a * a for a in x)) * (1 - sum(b * b for b in y))
        return mpmath.acosh(1 + 2 * square / inside)
    return 2 * mpmath.asinh(mpmath.sqrt(square - 2 * (y[0] - x[0]) ** 2) / 2)


def test_affine_distance_is_the_norm_of_the_generalised_log_eigenvalues(generator):
    import scipy.linalg

    manifold, center = manifold_and_center("spd")
    x, y = GeodesicBall(manifold, center, 1.5).random(2, generator)
    eigenvalues = scipy.linalg.eigvalsh(y.numpy(), x.numpy())
    assert float(manifold.dist(x, y)) == pytest.approx(
        float((torch.tensor(eigenvalues).log() ** 2).sum().sqrt()), rel=1e-12
    )


@pytest.mark.parametrize("name", EVERY)
def test_gradient_of_half_the_squared_distance_is_minus_the_log(name, generator):
    """grad d(x, p)^2 / 2 = -Log_x p: autograd, egrad2rgrad and log agree."""
    manifold, center = manifold_and_center(name)
    x, p = GeodesicBall(manifold, center, 0.5).random(2, generator)
    leaf = x.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(0.5 * manifold.dist(leaf, p) ** 2, leaf)
    assert torch.allclose(manifold.egrad2rgrad(x, gradient), -manifold.log(x, p), atol=1e-10)


@pytest.mark.parametrize("name", EVERY)
def test_distance_has_gradient_zero_at_its_own_point(name):
    manifold, x = manifold_and_center(name)
    leaf = x.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(0.5 * manifold.dist(leaf, x) ** 2, leaf)
    assert torch.isfinite(gradient).all()
    assert float(manifold.norm(x, manifold.egrad2rgrad(x, gradient))) <= 1e-12


@pytest.mark.parametrize("name", EVERY)
def test_frechet_mean_has_the_same_gradient_by_autograd_at_the_identity(name):
    """Repeated eigenvalues of x are where an eigendecomposition has no derivative."""
    manifold, center = manifold_and_center(name)
    x = torch.eye(3) if manifold.point_ndim == 2 else center
    points = GeodesicBall(manifold, center, 0.5).random(3, torch.Generator().manual_seed(0))
    f = FrechetMean(manifold, points)
    leaf = x.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(f(leaf), leaf)
    assert torch.allclose(manifold.egrad2rgrad(x, gradient), f.gradient(x), atol=1e-10)


@pytest.mark.parametrize("name", EVERY)
def test_random_tangents_are_isotropic_in_the_metric(name, generator):
    """The mean square norm of a standard Gaussian is the dimension; 5 standard errors of chi^2."""
    manifold, center = manifold_and_center(name)
    x = center.expand(4000, *center.shape)
    dimension = manifold.dimension(center.shape)
    mean = float(manifold.norm(x, manifold.random_tangent(x, generator)).square().mean())
    assert mean == pytest.approx(dimension, abs=5 * (2 * dimension / 4000) ** 0.5)


@pytest.mark.parametrize("name", EVERY)
def test_exp_stays_on_the_manifold_over_a_thousand_steps(name, generator):
    manifold, x = manifold_and_center(name)
    for _ in range(1000):
        x = manifold.exp(x, 1e-2 * direction(manifold, x, generator))
    manifold.check_point(x)


def test_antipodal_log_is_refused():
    x = torch.tensor([1.0, 0.0, 0.0])
    with pytest.raises(RuntimeError, match="log undefined: antipodal"):
        Sphere().log(x, -x)


def test_lorentz_and_poincare_are_one_space(generator):
    lorentz, poincare = Hyperbolic("lorentz"), Hyperbolic("poincare")
    x, y = GeodesicBall(poincare, torch.zeros(4), 3.0).random(2, generator)
    assert torch.allclose(lorentz_to_poincare(poincare_to_lorentz(x)), x, atol=1e-14)
    assert float(lorentz.dist(poincare_to_lorentz(x), poincare_to_lorentz(y))) == pytest.approx(
        float(poincare.dist(x, y)), abs=1e-12
    )


def test_product_splits_and_joins(generator):
    manifold = Product([Sphere(), SPD()], [(3,), (2, 2)])
    point = manifold.join([torch.eye(3)[0], torch.eye(2)])
    assert [tuple(part.shape) for part in manifold.split(point)] == [(3,), (2, 2)]
    assert manifold.curvature == (-0.5, 1.0)
    assert not manifold.hadamard
    assert Product([SPD(), Hyperbolic()], [(2, 2), (3,)]).hadamard


@pytest.mark.parametrize(
    ("manifold", "point", "message"),
    [
        (Sphere(), [2.0, 0.0], "norm 1"),
        (Sphere(), [float("nan"), 0.0], "finite"),
        (Hyperbolic(), [0.0, 1.0], "x_0 > 0"),
        (Hyperbolic("poincare"), [1.0, 0.5], "norm < 1"),
        (SPD(), [[1.0, 0.0], [0.0, -1.0]], "positive eigenvalues"),
        (SPD(), [[1.0, 0.5], [0.0, 1.0]], "symmetric"),
        (Euclidean(), [float("inf")], "finite"),
    ],
)
def test_points_off_the_manifold_are_refused(manifold, point, message):
    with pytest.raises(ValueError, match=message):
        manifold.check_point(torch.tensor(point))


@pytest.mark.parametrize("make", [lambda: Hyperbolic("klein"), lambda: SPD("bures")])
def test_unknown_model_is_refused(make):
    with pytest.raises(ValueError, match="must be"):
        make()
