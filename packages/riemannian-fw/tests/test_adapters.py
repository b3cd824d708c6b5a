"""Real geoopt and pymanopt manifolds through the adapters: the same coordinates, the same distances."""

import warnings

import numpy as np
import pymanopt.manifolds
import pytest
import torch
from geometry import manifold_and_center
from iclr26_riemannian_fw import SPD, Euclidean, GeodesicBall, Hyperbolic, Product, Sphere, from_geoopt, from_pymanopt
from iclr26_riemannian_fw.geometry.adapters import to_geoopt, to_pymanopt

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import geoopt

    LEM, STEIN = geoopt.SymmetricPositiveDefinite("LEM"), geoopt.SymmetricPositiveDefinite("SM")  # warn: incomplete


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (geoopt.Sphere(), Sphere()),
        (geoopt.Lorentz(), Hyperbolic("lorentz")),
        (geoopt.PoincareBall(), Hyperbolic("poincare")),
        (geoopt.SymmetricPositiveDefinite("AIM"), SPD("affine")),
        (LEM, SPD("log-euclidean")),
        (geoopt.Euclidean(ndim=1), Euclidean()),
        (geoopt.Euclidean(ndim=2), Euclidean(2)),
    ],
)
def test_geoopt_manifolds(theirs, ours):
    assert from_geoopt(theirs) == ours
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = to_geoopt(ours)
    assert from_geoopt(back) == ours


@pytest.mark.parametrize("name", ["sphere", "lorentz", "poincare", "spd"])
def test_distances_agree_with_geoopt_where_it_is_accurate(name, generator):
    manifold, center = manifold_and_center(name)
    x, y = GeodesicBall(manifold, center, 0.5).random(2, generator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = float(to_geoopt(manifold).dist(x, y))
    assert float(manifold.dist(x, y)) == pytest.approx(theirs, rel=1e-4)


def test_geoopt_product_keeps_its_flat_points():
    theirs = geoopt.ProductManifold(
        (geoopt.Sphere(), 3), (geoopt.SymmetricPositiveDefinite(), (2, 2)), (geoopt.Euclidean(), 2)
    )
    ours = from_geoopt(theirs)
    point = torch.randn(9)
    assert ours == Product([Sphere(), SPD(), Euclidean()], [(3,), (2, 2), (2,)])
    for part, index in zip(ours.split(point), range(3), strict=True):
        assert torch.equal(part, theirs.take_submanifold_value(point, index))


@pytest.mark.parametrize(
    ("manifold", "message"),
    [
        (geoopt.PoincareBall(c=2.0), "c must be 1"),
        (geoopt.Lorentz(k=0.5), "k must be 1"),
        (geoopt.Stiefel(), "no counterpart for geoopt's CanonicalStiefel"),
        (STEIN, "AIM"),
    ],
)
def test_other_geoopt_manifolds_are_refused(manifold, message):
    with pytest.raises(ValueError, match=message):
        from_geoopt(manifold)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (pymanopt.manifolds.Sphere(4), Sphere()),
        (pymanopt.manifolds.PoincareBall(3), Hyperbolic("poincare")),
        (pymanopt.manifolds.SymmetricPositiveDefinite(3), SPD("affine")),
        (pymanopt.manifolds.Euclidean(3, 2), Euclidean(2)),
        (
            pymanopt.manifolds.Product([pymanopt.manifolds.Sphere(3), pymanopt.manifolds.SymmetricPositiveDefinite(2)]),
            Product([Sphere(), SPD()], [(3,), (2, 2)]),
        ),
    ],
)
def test_pymanopt_manifolds(theirs, ours):
    assert from_pymanopt(theirs) == ours


@pytest.mark.parametrize("name", ["sphere", "poincare", "spd"])
def test_distances_agree_with_pymanopt(name, generator):
    manifold, center = manifold_and_center(name)
    x, y = GeodesicBall(manifold, center, 0.5).random(2, generator)
    theirs = to_pymanopt(manifold, tuple(x.shape))
    assert float(manifold.dist(x, y)) == pytest.approx(float(theirs.dist(x.numpy(), y.numpy())), rel=1e-6)
    assert from_pymanopt(theirs) == manifold


@pytest.mark.parametrize(
    ("manifold", "message"),
    [
        (pymanopt.manifolds.SymmetricPositiveDefinite(2, k=3), "2 axes"),
        (pymanopt.manifolds.Sphere(3, 2), "1 axes"),
        (pymanopt.manifolds.Stiefel(4, 2), "no counterpart for pymanopt's Stiefel"),
    ],
)
def test_other_pymanopt_manifolds_are_refused(manifold, message):
    with pytest.raises(ValueError, match=message):
        from_pymanopt(manifold)


def test_our_logarithm_is_accurate_where_theirs_is_not():
    """pymanopt's sphere distance is 0 below 1e-8; ours is not."""
    x = torch.eye(5)[0]
    y = Sphere().exp(x, 1e-9 * torch.eye(5)[1])
    assert float(pymanopt.manifolds.Sphere(5).dist(x.numpy(), y.numpy())) == 0.0
    assert float(Sphere().dist(x, y)) == pytest.approx(1e-9, rel=1e-6)
    assert np.isfinite(y.numpy()).all()
