"""Oracles 2, 3, 4, 5, 9 and 11: the linear oracles."""

import math

import pytest
import torch
from geometry import EVERY, SINGLE, direction, manifold_and_center
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
    WithOracle,
)
from iclr26_riemannian_fw.feasible import lmo
from iclr26_riemannian_fw.feasible.interval import interval_closed_forms


def values_of(manifold, x, g, points):
    """Return <g, Log_x z> for every z of `points`."""
    many = x.expand(len(points), *x.shape)
    return manifold.inner(many, g.expand_as(many), manifold.log(many, points))


@pytest.mark.parametrize("name", ["sphere", "lorentz", "poincare"])
def test_gradients_parallel_to_the_centre_up_to_rounding_give_finite_answers(name, generator):
    """The part of g across is then noise, which must not be normalised: 500 centres and points, x = c and x != c."""
    manifold, center = manifold_and_center(name)
    centers = GeodesicBall(manifold, center, 1.0).random(500, generator)
    e = direction(manifold, centers, generator)
    ball = GeodesicBall(manifold, centers, 0.8)
    for x in (centers, manifold.exp(centers, 0.3 * e), manifold.exp(centers, 0.8 * e)):
        g = -0.5 * manifold.log(x, manifold.exp(centers, 1.2 * e))
        answer = ball.lmo(x, g)
        assert float((manifold.dist(centers, answer.v) - 0.8).abs().max()) <= 1e-10
        assert float(manifold.dist(answer.v, manifold.exp(centers, 0.8 * e)).max()) <= 1e-7


@pytest.mark.parametrize("name", SINGLE)
def test_at_the_centre_the_answer_is_straight_against_the_gradient(name, generator):
    """Oracle 2: v = Exp_c(-R g / ||g||), to 1e-12 where the oracle is exact; the SPD iteration stops at angle 1e-7."""
    manifold, center = manifold_and_center(name)
    g = manifold.random_tangent(center, generator)
    answer = GeodesicBall(manifold, center, 0.9).lmo(center, g)
    expected = manifold.exp(center, -0.9 * manifold.unit(center, g))
    assert float(manifold.dist(answer.v, expected)) <= 1e-12
    assert float(answer.value) == pytest.approx(-0.9 * float(manifold.norm(center, g)), abs=1e-12)


@pytest.mark.parametrize("radius", [0.3, 1.0, 1.4])
@pytest.mark.parametrize("name", ["sphere", "lorentz", "poincare", "spd"])
def test_no_boundary_point_beats_the_oracle(name, radius, generator):
    """Oracle 3: 20 000 random boundary points in S^4, H^4 and SPD(3), for five x and g."""
    manifold, center = manifold_and_center(name)
    ball = GeodesicBall(manifold, center, radius)
    points = ball.random_boundary(20_000, generator)
    for x in ball.random(5, generator):
        g = manifold.random_tangent(x, generator)
        assert float(ball.lmo(x, g).value) <= float(values_of(manifold, x, g, points).min()) + 1e-12


@pytest.mark.parametrize("radius", [0.3, 1.0, 1.4, 4.0])
@pytest.mark.parametrize("name", ["sphere", "lorentz"])
def test_oracle_is_within_one_percent_of_the_best_sample_in_two_dimensions(name, radius, generator):
    """Oracle 3: 20 000 points of a circle leave no room; x also at the boundary."""
    manifold, center = manifold_and_center(name, 2)
    if name == "sphere" and radius > 1.5:
        pytest.skip("no such ball on the sphere")
    ball = GeodesicBall(manifold, center, radius)
    points = ball.random_boundary(20_000, generator)
    for x in torch.cat([ball.random(5, generator), ball.random_boundary(5, generator)]):
        g = manifold.random_tangent(x, generator)
        value, best = float(ball.lmo(x, g).value), float(values_of(manifold, x, g, points).min())
        assert value <= best + 1e-11
        assert best <= 0.99 * value + 1e-3 * float(manifold.norm(x, g))


@pytest.mark.parametrize("radius", [4.0, 7.0, 10.0])
def test_oracle_finds_the_cusp_of_large_hyperbolic_balls(radius, generator):
    """Points within e^-R of x (as seen from c) span every direction seen from x: sample angles geometrically."""
    manifold = Hyperbolic()
    center, e1, e2 = torch.eye(3)
    ball = GeodesicBall(manifold, center, radius)
    angles = torch.logspace(-radius - 12, math.log(math.pi), 4000, base=math.e)
    angles = torch.cat([-angles, angles])[:, None]
    circle = manifold.exp(center.expand(8000, 3), radius * (angles.cos() * e1 + angles.sin() * e2))
    for inside in (0.5, 1e-2, 1e-4):
        x = manifold.exp(center, (radius - inside) * e1)
        for _ in range(10):
            g = direction(manifold, x, generator)
            value, best = float(ball.lmo(x, g).value), float(values_of(manifold, x, g, circle).min())
            assert value <= best + 1e-15 * 2.72 ** (2 * radius)
            assert best <= 0.99 * value + 1e-3


@pytest.mark.parametrize("name", EVERY)
def test_interior_points_never_beat_the_oracle_and_it_answers_on_the_boundary(name, generator):
    """Oracle 4: |d(c, v) - R| <= 1e-10; u = Log_x v and value = <g, u>."""
    manifold, center = manifold_and_center(name)
    ball = GeodesicBall(manifold, center, 0.8)
    points = ball.random(2000, generator)
    for x in ball.random(5, generator):
        g = manifold.random_tangent(x, generator)
        answer = ball.lmo(x, g)
        assert float(answer.value) <= float(values_of(manifold, x, g, points).min()) + 1e-12
        assert abs(float(manifold.dist(center, answer.v)) - 0.8) <= 1e-10
        assert float(manifold.norm(x, manifold.log(x, answer.v) - answer.u)) <= 1e-10
        assert float(manifold.inner(x, g, answer.u)) == pytest.approx(float(answer.value), abs=1e-10)


@pytest.mark.parametrize("name", ["sphere", "lorentz", "poincare", "spd"])
def test_small_balls_are_flat(name, generator):
    """Oracle 5: at radius 1e-3 the value is the Euclidean one, <g, Log_x c> - R ||g||, to 1e-5 relative."""
    manifold, center = manifold_and_center(name)
    ball = GeodesicBall(manifold, center, 1e-3)
    for x in ball.random(10, generator):
        g = manifold.random_tangent(x, generator)
        flat = manifold.inner(x, g, manifold.log(x, center)) - 1e-3 * manifold.norm(x, g)
        assert float(ball.lmo(x, g).value) == pytest.approx(float(flat), rel=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_a_batch_of_oracles_equals_single_ones(name, generator):
    manifold, center = manifold_and_center(name)
    radii = 0.3 + torch.rand(32, generator=generator)
    ball = GeodesicBall(manifold, center.expand(32, *center.shape), radii)
    x = GeodesicBall(manifold, center, 0.3).random(32, generator)
    g = manifold.random_tangent(x, generator)
    many = ball.lmo(x, g)
    for i in range(32):
        one = GeodesicBall(manifold, center, radii[i]).lmo(x[i], g[i])
        assert float(one.value) == pytest.approx(float(many.value[i]), abs=1e-11)
        tolerance = 1e-9 if bool(one.exact) else 1e-5
        assert torch.allclose(one.v, many.v[i], atol=tolerance)


@pytest.mark.parametrize("name", EVERY)
def test_slope_is_what_the_value_loses_per_radius(name, generator):
    """Finite differences of the value in R; the envelope theorem behind the product ball."""
    manifold, center = manifold_and_center(name)
    for x in GeodesicBall(manifold, center, 0.7).random(5, generator):
        g = manifold.random_tangent(x, generator)
        low, middle, high = (GeodesicBall(manifold, center, 0.8 + h).lmo(x, g) for h in (-1e-4, 0.0, 1e-4))
        assert float(middle.slope) == pytest.approx(-float(high.value - low.value) / 2e-4, rel=1e-5)


@pytest.mark.parametrize("name", ["sphere", "lorentz"])
def test_gradient_parallel_to_the_centre(name):
    """Both ends of the diameter through x; the oracle must pick the right one and stay finite."""
    manifold, center = manifold_and_center(name)
    u = manifold.unit(center, manifold.random_tangent(center, torch.Generator().manual_seed(1)))
    x = manifold.exp(center, 0.5 * u)
    toward = manifold.unit(x, manifold.log(x, center))
    ball = GeodesicBall(manifold, center, 0.8)
    assert float(ball.lmo(x, toward).value) == pytest.approx(-0.3, abs=1e-12)
    assert float(ball.lmo(x, -toward).value) == pytest.approx(-1.3, abs=1e-12)
    assert float(ball.lmo(x, torch.zeros_like(x)).value) == 0.0


def test_interval_closed_form_is_not_optimal_and_ours_is():
    """Oracle 9: optimum -0.69646; the peers' closed form with the upper Cholesky factor gives -0.31916."""
    X, A = torch.eye(2), 0.5 * torch.eye(2)
    B = A + torch.tensor([[1.0, 0.8], [0.8, 1.0]])
    S = torch.diag(torch.tensor([-1.0, 1.0]))
    cholesky, root = interval_closed_forms(A, B, S)
    value = [float((S * SPD().log(X, Z)).sum()) for Z in (cholesky, root)]
    assert value[0] == pytest.approx(-0.31916, abs=1e-5)
    assert value[1] == pytest.approx(-0.659, abs=1e-3)
    answer = SPDInterval(A, B).lmo(X, S)
    assert float(answer.value) == pytest.approx(-0.69646, abs=1e-4)
    assert not bool(answer.exact)


def test_no_point_of_the_interval_beats_its_oracle(generator):
    for _ in range(10):
        a, b = torch.randn(2, 3, 3, generator=generator)
        A = a @ a.mT / 3 + 0.3 * torch.eye(3)
        interval = SPDInterval(A, A + b @ b.mT / 3 + 0.1 * torch.eye(3))
        x = interval.random(1, generator)[0]
        g = SPD().random_tangent(x, generator)
        answer = interval.lmo(x, g)
        assert bool(interval.contains(answer.v, 1e-10))
        assert float(answer.value) <= float(values_of(SPD(), x, g, interval.random(3000, generator)).min()) + 1e-9


def test_interval_oracle_is_exact_for_semidefinite_gradients(generator):
    """log is operator monotone: the minimum is at an end of the interval."""
    x, lower, upper = torch.eye(3), 0.5 * torch.eye(3), torch.diag(torch.tensor([2.0, 3.0, 4.0]))
    half = torch.randn(3, 3, generator=generator)
    interval = SPDInterval(lower, upper)
    assert torch.allclose(interval.lmo(x, half @ half.mT).v, lower, atol=1e-12)
    down = interval.lmo(x, -half @ half.mT)
    assert torch.allclose(down.v, upper, atol=1e-12)
    assert bool(down.exact)


def test_product_ball_of_planes_is_the_ball_of_their_sum(generator):
    """Oracle 11: R^2 x R^2 against R^4."""
    product = Product([Euclidean(), Euclidean()], [(2,), (2,)])
    x, g = 0.3 * torch.randn(4, generator=generator), torch.randn(4, generator=generator)
    ours = ProductBall(product, torch.zeros(4), 1.0).lmo(x, g)
    theirs = GeodesicBall(Euclidean(), torch.zeros(4), 1.0).lmo(x, g)
    assert torch.allclose(ours.v, theirs.v, atol=1e-12)


def test_product_ball_descent_on_radii_finds_the_flat_answer(generator):
    """The general route over factor radii, on factors where the closed form is known: log-Euclidean x Euclidean."""
    from iclr26_riemannian_fw.feasible.lmo import product_ball

    product = Product([SPD("log-euclidean"), Euclidean()], [(2, 2), (3,)])
    center = product.join([torch.eye(2), torch.zeros(3)])
    ball = ProductBall(product, center, 1.0)
    x = ball.random(1, generator)[0]
    g = product.random_tangent(x, generator)
    assert float(product_ball(product, center, torch.tensor(1.0), x, g).value) == pytest.approx(
        float(ball.lmo(x, g).value), abs=1e-12
    )


def test_no_point_beats_the_product_ball_oracle(generator):
    manifold, center = manifold_and_center("mixed")
    ball = GeodesicBall(manifold, center, 0.9)
    points = torch.cat([ball.random(3000, generator), ball.random_boundary(3000, generator)])
    for x in torch.cat([ball.random(3, generator), ball.random_boundary(2, generator)]):
        g = manifold.random_tangent(x, generator)
        assert float(ball.lmo(x, g).value) <= float(values_of(manifold, x, g, points).min()) + 1e-9


def test_product_set_answers_componentwise(generator):
    disc, cap = GeodesicBall(Euclidean(), torch.zeros(2), 1.0), GeodesicBall(Sphere(), torch.eye(3)[0], 0.5)
    both = ProductSet([disc, cap])
    x = both.random(1, generator)[0]
    g = both.manifold.random_tangent(x, generator)
    answer = both.lmo(x, g)
    assert float(answer.value) == pytest.approx(float(disc.lmo(x[:2], g[:2]).value + cap.lmo(x[2:], g[2:]).value))
    assert torch.allclose(answer.v[:2], disc.lmo(x[:2], g[:2]).v)
    assert bool(answer.exact)


def test_sublevel_set_of_the_squared_distance_is_the_ball(generator):
    """The numerical oracle of {d(c, .)^2 / 2 <= R^2 / 2} against the ball's closed form."""
    manifold, center = manifold_and_center("lorentz", 3)
    level = SublevelSet(manifold, lambda z: 0.5 * manifold.dist(z, center) ** 2, center, mu=1.0, L=1.32, s=0.32)
    ball = GeodesicBall(manifold, center, 0.8)
    for x in ball.random(3, generator):
        g = manifold.random_tangent(x, generator)
        answer = level.lmo(x, g)
        assert float(answer.value) == pytest.approx(float(ball.lmo(x, g).value), abs=1e-6)
        assert bool(level.contains(answer.v, 1e-12))
        assert not bool(answer.exact)


def test_user_oracle_is_checked():
    ball = GeodesicBall(Sphere(), torch.eye(3)[2], 0.5)
    x, g = torch.eye(3)[2], torch.eye(3)[0]
    honest = WithOracle(ball, lambda m, x, g: ball.lmo(x, g).v, exact=True)
    assert torch.allclose(honest.lmo(x, g).v, ball.lmo(x, g).v)
    with pytest.raises(ValueError, match="point of the set"):
        WithOracle(ball, lambda m, x, g: -g).lmo(x, g)
    with pytest.raises(ValueError, match="beaten by a random point"):
        WithOracle(ball, lambda m, x, g: ball.lmo(x, -g).v).lmo(x, g)


def test_memory_of_the_spd_oracle_does_not_change_its_answer(generator):
    manifold, center = manifold_and_center("spd")
    ball = GeodesicBall(manifold, center, 1.5)
    x = ball.random(1, generator)[0]
    g = manifold.random_tangent(x, generator)
    cold = ball.lmo(x, g)
    other = ball.lmo(x, manifold.random_tangent(x, generator))
    assert float(ball.lmo(x, g, other.memory).value) == pytest.approx(float(cold.value), abs=1e-12)


@pytest.mark.parametrize("start", range(5))
def test_spd_oracle_does_not_depend_on_its_start(start):
    """Random starts have one common minimum, at (n, R) = (5, 3)."""
    generator = torch.Generator().manual_seed(start)
    ball = GeodesicBall(SPD(), torch.eye(5), 3.0)
    x = ball.random(1, generator)[0]
    g = SPD().random_tangent(x, generator)
    W = torch.randn(5, 5, generator=generator)
    W = 3.0 * (W + W.mT) / (W + W.mT).norm()
    cold = ball.lmo(x, g)
    better = ball.lmo(x, g, W)
    assert float(better.value) == pytest.approx(float(cold.value), rel=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GeodesicBall(Sphere(), torch.eye(3)[0], 1.6), "ball not strictly convex"),
        (lambda: GeodesicBall(Sphere(), torch.eye(3)[0], 0.0), "radius must be > 0"),
        (lambda: GeodesicBall(Euclidean(), torch.zeros(2), float("nan")), "radius must be > 0"),
        (lambda: GeodesicBall(Hyperbolic(), torch.zeros(3), 1.0), "x_0 > 0"),
        (lambda: SPDInterval(torch.eye(2), torch.eye(2)), "strictly below"),
        (lambda: ProductBall(Euclidean(), torch.zeros(2), 1.0), "must be a Product"),
        (lambda: ProductSet([]), "at least one"),
        (lambda: SublevelSet(Euclidean(), lambda z: z @ z, torch.zeros(2), mu=2.0, L=1.0, s=1.0), "mu must be <= L"),
    ],
)
def test_impossible_sets_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(("size", "radius", "evaluations"), [(3, 1.0, 20), (5, 3.0, 60), (8, 5.0, 150)])
def test_the_spd_oracle_converges_on_large_balls(size, radius, evaluations, monkeypatch):
    """20 random problems: the angle to stationarity is <= 1e-7; bounds twice the worst seen."""
    counts = []
    plain = lmo.minimise_on_sphere

    def counted(value_and_gradient, *arguments, **options):
        counts.append(0)

        def one(W):
            counts[-1] += 1
            return value_and_gradient(W)

        return plain(one, *arguments, **options)

    monkeypatch.setattr(lmo, "minimise_on_sphere", counted)
    ball = GeodesicBall(SPD(), torch.eye(size, dtype=torch.float64), radius)
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        x = ball.random(1, generator)[0]
        assert float(ball.lmo(x, ball.manifold.random_tangent(x, generator)).residual) <= 1e-7
    assert max(counts) <= evaluations
