"""Oracles 5-8 and 12-15: the algorithm, its certificates and its guarantees."""

import math
import warnings

import numpy as np
import pytest
import torch
from geometry import SINGLE, SOLVED, direction, manifold_and_center
from iclr26_riemannian_fw import (
    SPD,
    Euclidean,
    GeodesicBall,
    Hyperbolic,
    ProductSet,
    SPDInterval,
    Sphere,
    WithOracle,
    minimize,
    poincare_to_lorentz,
    predicted_rate,
)
from iclr26_riemannian_fw.baselines import slsqp
from iclr26_riemannian_fw.feasible.convexity import ball_alpha, zeta
from iclr26_riemannian_fw.geometry.matrix_functions import symmetric_exp, symmetric_log
from iclr26_riemannian_fw.objectives import FrechetMean, QuadraticSphere

STEPS = ("backtracking", "short", "open-loop", "line-search")


def projection_problem(name, radius, distance, seed=0, size=5):
    """Return (ball, f, x0, x*, f*) of f = d(x, p)^2 / 2 with p at `distance` from the centre: x* = Exp_c(R e)."""
    generator = torch.Generator().manual_seed(seed)
    manifold, center = manifold_and_center(name, size)
    e = direction(manifold, center, generator)
    ball = GeodesicBall(manifold, center, radius)
    f = FrechetMean(manifold, manifold.exp(center, distance * e)[None])
    return ball, f, ball.random(1, generator)[0], manifold.exp(center, radius * e), (distance - radius) ** 2 / 2


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", SOLVED)
def test_projection_onto_a_ball(name, step):
    """Oracle 6: x* = Exp_c(R e) and f* = (D - R)^2 / 2; open loop is O(1/t), so 0.02 after 100 steps."""
    ball, f, x0, expected, lowest = projection_problem(name, 0.5, 1.2)
    result = minimize(f, x0, ball, step=step, smoothness=2.0, tol=1e-9, max_iter=100 if step == "open-loop" else 500)
    if step == "open-loop":
        assert -1e-12 <= result.fun - lowest <= 2e-2
        return
    assert result.converged, result
    assert result.fun == pytest.approx(lowest, abs=1e-9)
    assert float(ball.manifold.dist(result.x, expected)) <= 1e-4


def test_spd_projection_with_given_numbers():
    """Oracle 6: c = I_3, p = diag(e^2, 1, e^-1), R = 1: d = sqrt 5, f* = 0.7639320225."""
    manifold = SPD()
    p = torch.diag(torch.tensor([2.0, 0.0, -1.0]).exp())
    assert float(manifold.dist(torch.eye(3), p)) == pytest.approx(math.sqrt(5), abs=1e-14)
    x0 = torch.diag(torch.tensor([-0.5, 0.3, 0.2]).exp())
    result = minimize(FrechetMean(manifold, p[None]), x0, GeodesicBall(manifold, torch.eye(3), 1.0), tol=1e-11)
    assert result.fun == pytest.approx(0.7639320225, abs=1e-10)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["sphere", "lorentz", "poincare", "euclidean"])
def test_gap_is_above_the_error_at_every_iterate(name, step):
    """Oracle 7: gap >= h >= 0 for g-convex f with an exact oracle."""
    ball, f, x0, _, lowest = projection_problem(name, 0.4, 0.9)
    history = minimize(f, x0, ball, step=step, smoothness=2.0, tol=1e-10, max_iter=100).history
    error = history["fun"] - lowest
    assert (error >= -1e-12).all()
    assert (history["gap"] >= error - 1e-12).all()


@pytest.mark.parametrize("name", ["lorentz", "poincare", "spd", "log-euclidean", "euclidean"])
def test_comparison_bound_is_above_the_gap_on_hadamard_manifolds(name, generator):
    """Oracle 7: cert_cat0 >= gap (the SPD oracle is exact to 1e-12 here)."""
    manifold, center = manifold_and_center(name)
    ball = GeodesicBall(manifold, center, 1.3)
    x = torch.cat([ball.random(50, generator), ball.random_boundary(50, generator)])
    g = manifold.random_tangent(x, generator)
    assert (ball.comparison_bound(x, g) >= -ball.lmo(x, g).value - 1e-10).all()


def test_comparison_bound_would_be_wrong_on_the_sphere_and_is_not_offered(generator):
    """Oracle 7: on S^2 the same formula falls below the gap, so the ball returns None."""
    manifold, center = Sphere(), torch.eye(3)[2]
    ball = GeodesicBall(manifold, center, 1.2)
    x = ball.random_boundary(200, generator)
    g = manifold.random_tangent(x, generator)
    formula = ball.radius * manifold.norm(x, g) - manifold.inner(x, g, manifold.log(x, center))
    assert (formula < -ball.lmo(x, g).value - 1e-6).any()
    assert ball.comparison_bound(x, g) is None
    mixed = ProductSet([ball, GeodesicBall(Euclidean(), torch.zeros(2), 1.0)])
    assert mixed.comparison_bound(mixed.random(1, generator)[0], torch.ones(5)) is None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("radius", "distance", "rate"), [(0.5, 1.0, 0.771), (0.8, 1.4, 0.854), (1.0, 1.3, 0.952)])
def test_short_steps_shrink_the_error_as_predicted(radius, distance, rate, seed):
    """Oracle 8: every factor <= max(1/2, 1 - alpha c / 2L) with alpha = cot(R)/2, c = D - R, L = 1."""
    ball, f, x0, _, lowest = projection_problem("sphere", radius, distance, seed)
    bound = predicted_rate(ball_alpha(radius, (1.0, 1.0)), distance - radius, 1.0)
    assert bound == pytest.approx(rate, abs=1e-3)
    error = minimize(f, x0, ball, step="short", smoothness=1.0, tol=1e-9).history["fun"] - lowest
    error = error[error > 1e-12]
    assert (error[1:] / error[:-1]).max() <= bound


@pytest.mark.parametrize(
    ("name", "radius", "distance", "iterations", "alpha", "bound", "open_loop"),
    [
        ("sphere", 0.5, 1.0, 12, 0.5 / math.tan(0.5), 0.771, 1.4e-6),
        ("lorentz", 1.0, 3.0, 20, 0.477, 0.881, 1.0e-4),
        ("lorentz", 2.0, 5.0, 22, 0.198, 0.958, 4.2e-3),
    ],
)
def test_iterations_of_section_six(name, radius, distance, iterations, alpha, bound, open_loop):
    """Within 20 % of the iteration counts to gap 1e-12 (median of 5 starts); open loop within a factor 6 at t = 100.

    alpha is the RSI constant: cot(R)/2 on the sphere, the exhaustive search of `test_convexity` in hyperbolic space.
    """
    reach = distance + radius
    smoothness = 1.0 if name == "sphere" else reach / math.tanh(reach)
    counts, rates, loops = [], [], []
    for seed in range(5):
        ball, f, x0, _, lowest = projection_problem(name, radius, distance, seed)
        result = minimize(f, x0, ball, step="short", smoothness=smoothness, tol=1e-12)
        counts.append(result.n_iter)
        error = result.history["fun"] - lowest
        error = error[error > 1e-14]
        rates.append((error[-1] / error[0]) ** (1 / (len(error) - 1)))
        loops.append(minimize(f, x0, ball, step="open-loop", max_iter=100, tol=0).fun - lowest)
    assert np.median(counts) == pytest.approx(iterations, rel=0.2)
    assert predicted_rate(alpha, distance - radius, smoothness) == pytest.approx(bound, abs=1e-3)
    assert np.median(rates) <= bound
    assert open_loop / 6 <= np.median(loops) <= 6 * open_loop


@pytest.mark.parametrize(
    ("size", "radius", "distance", "iterations"), [(3, 0.5, 1.5, 8), (3, 1.0, 2.5, 10), (5, 1.5, 3.0, 12)]
)
def test_spd_iterations_of_section_six(size, radius, distance, iterations):
    """Iterations to 1e-10, cert >= gap >= h in all.

    The figures come without the step rule and the start, and no single rule has all three (next test). From random
    starts the short step with L = zeta(D + R) needs 7, 11 and 21 iterations, backtracking 10, 14 and 12: in every row
    one of the two is within 20 %.
    """
    manifold, counts = SPD(), {"short": [], "backtracking": []}
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        e = direction(manifold, torch.eye(size), generator)
        ball = GeodesicBall(manifold, torch.eye(size), radius)
        f = FrechetMean(manifold, manifold.exp(torch.eye(size), distance * e)[None])
        x0 = ball.random(1, generator)[0]
        for step in counts:
            result = minimize(
                f, x0, ball, step=step, smoothness=zeta(distance + radius, -0.5) if step == "short" else None, tol=1e-10
            )
            error = result.history["fun"] - (distance - radius) ** 2 / 2
            assert result.certificate_kind == "cat0"
            assert (result.history["cert"] >= result.history["gap"] - 1e-12).all()
            assert (result.history["gap"] >= error - 1e-12).all()
            counts[step].append(result.n_iter)
    assert any(abs(np.median(count) - iterations) <= 0.2 * iterations for count in counts.values()), counts


@pytest.mark.slow
def test_no_step_rule_has_all_three_spd_iteration_counts():
    """8, 10 and 12 cannot all be right for one rule: each misses a row by more than 20 % from >= 3/4 of 24 starts.

    Half of the starts are random in the ball, half on its boundary; the short step is tried with four constants.
    """
    cases = {(3, 0.5, 1.5): 8, (3, 1.0, 2.5): 10, (5, 1.5, 3.0): 12}
    rules = [("short", reach) for reach in ("D + R", "D", "R", "flat")] + [("backtracking", ""), ("line-search", "")]
    manifold = SPD()
    for step, reach in rules:
        shares = []
        for (size, radius, distance), iterations in cases.items():
            length = {"D + R": distance + radius, "D": distance, "R": radius}.get(reach, 0.0)
            smoothness = (zeta(length, -0.5) if length else 1.0) if step == "short" else None
            within = []
            for seed in range(12):
                generator = torch.Generator().manual_seed(seed)
                e = direction(manifold, torch.eye(size), generator)
                ball = GeodesicBall(manifold, torch.eye(size), radius)
                f = FrechetMean(manifold, manifold.exp(torch.eye(size), distance * e)[None])
                for x0 in (ball.random(1, generator)[0], ball.random_boundary(1, generator)[0]):
                    result = minimize(f, x0, ball, step=step, smoothness=smoothness, tol=1e-10)
                    within.append(abs(result.n_iter - iterations) <= 0.2 * iterations)
            shares.append(np.mean(within))
        assert min(shares) <= 0.25, (step, reach, shares)


@pytest.mark.parametrize("name", SOLVED)
def test_open_loop_starts_with_a_full_step(name):
    """Oracle 12: s_0 = 1, so x_1 = v_0."""
    ball, f, x0, _, _ = projection_problem(name, 0.5, 1.2)
    result = minimize(f, x0, ball, step="open-loop", max_iter=1, tol=0)
    v0 = ball.lmo(x0, f.gradient(x0)).v
    assert result.history["step"][0] == 1.0
    assert float(ball.manifold.dist(result.x, v0)) <= 1e-6


def trajectory(f, x0, ball, **options):
    points = [x0]
    minimize(f, x0, ball, tol=0, callback=lambda state: points.append(state.x) and None, **options)
    return torch.stack(points)


def test_log_euclidean_is_euclidean_on_matrix_logarithms(generator):
    """Oracle 5: the whole trajectory, to 1e-12, against points of Sym(3) in R^9.

    Short steps are compared for 8 iterations: near the optimum a step is gap / (L D) with gap and D both rounded.
    """
    manifold = SPD("log-euclidean")
    x0, p = GeodesicBall(manifold, torch.eye(3), 0.5).random(2, generator)
    p = manifold.exp(torch.eye(3), 3 * manifold.log(torch.eye(3), p))
    flat = Euclidean(2)
    for options in ({"step": "open-loop", "max_iter": 50}, {"step": "short", "smoothness": 2.0, "max_iter": 8}):
        ours = trajectory(FrechetMean(manifold, p[None]), x0, GeodesicBall(manifold, torch.eye(3), 0.5), **options)
        ball = GeodesicBall(flat, torch.zeros(3, 3), 0.5)
        theirs = trajectory(FrechetMean(flat, symmetric_log(p)[None]), symmetric_log(x0), ball, **options)
        assert float((symmetric_log(ours) - theirs).abs().max()) <= 1e-12


@pytest.mark.parametrize("step", ["short", "backtracking", "open-loop"])
def test_rotating_the_problem_rotates_the_trajectory(step, generator):
    """Oracle 13, sphere and Lorentz (a rotation of space): 1e-9."""
    for name in ("sphere", "lorentz"):
        ball, f, x0, _, _ = projection_problem(name, 0.8, 1.2)
        manifold, size = ball.manifold, x0.shape[0]
        Q = torch.linalg.qr(torch.randn(size, size, generator=generator)).Q
        if name == "lorentz":
            Q = torch.block_diag(torch.eye(1), torch.linalg.qr(torch.randn(size - 1, size - 1, generator=generator)).Q)
        turned = trajectory(
            FrechetMean(manifold, f.points @ Q.mT),
            Q @ x0,
            GeodesicBall(manifold, Q @ ball.center, 0.8),
            step=step,
            smoothness=2.0,
            max_iter=15,
        )
        plain = trajectory(f, x0, ball, step=step, smoothness=2.0, max_iter=15)
        assert float((turned - plain @ Q.mT).abs().max()) <= 1e-9


def test_congruence_moves_the_spd_trajectory(generator):
    """Oracle 13: X -> A X A^T is an isometry; 1e-6 because the oracle stops at an angle of 1e-7."""
    ball, f, x0, _, _ = projection_problem("spd", 0.8, 1.5)
    A = torch.eye(3) + 0.3 * torch.randn(3, 3, generator=generator)

    def moved(X):
        return A @ X @ A.mT

    far = trajectory(
        FrechetMean(SPD(), moved(f.points)),
        moved(x0),
        GeodesicBall(SPD(), moved(ball.center), 0.8),
        step="short",
        smoothness=2.0,
        max_iter=10,
    )
    near = trajectory(f, x0, ball, step="short", smoothness=2.0, max_iter=10)
    assert float((far - moved(near)).abs().max()) <= 1e-6


def test_lorentz_and_poincare_trajectories_agree():
    """Oracle 13: 1e-8."""
    ball, f, x0, _, _ = projection_problem("poincare", 1.0, 2.0)
    there = Hyperbolic("lorentz")
    lifted = GeodesicBall(there, poincare_to_lorentz(ball.center), 1.0)
    ours = trajectory(f, x0, ball, step="short", smoothness=4.0, max_iter=15)
    theirs = trajectory(
        FrechetMean(there, poincare_to_lorentz(f.points)),
        poincare_to_lorentz(x0),
        lifted,
        step="short",
        smoothness=4.0,
        max_iter=15,
    )
    assert float((poincare_to_lorentz(ours) - theirs).abs().max()) <= 1e-8


@pytest.mark.parametrize("name", SINGLE)
def test_iterates_stay_in_the_set_without_projection(name, generator):
    """Oracle 14: 1000 open-loop steps with changing gradients, contains(x, 1e-9) at each."""
    manifold, center = manifold_and_center(name)
    ball, x = GeodesicBall(manifold, center, 0.7), center
    for t in range(1000):
        answer = ball.lmo(x, manifold.random_tangent(x, generator))
        x = manifold.exp(x, 2 / (t + 2) * answer.u)
        assert bool(ball.contains(x, 1e-9)), (t, float(ball.excess(x)))


@pytest.mark.parametrize("name", SOLVED)
def test_single_precision_reaches_a_tolerance_of_1e_4(name):
    """Oracle 15."""
    ball, f, x0, _, lowest = projection_problem(name, 0.5, 1.2)
    single = GeodesicBall(ball.manifold, ball.center.float(), 0.5)
    result = minimize(FrechetMean(ball.manifold, f.points.float()), x0.float(), single, tol=1e-4)
    assert result.converged
    assert result.x.dtype == torch.float32
    assert result.fun == pytest.approx(lowest, abs=2e-4)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["sphere", "spd"])
def test_two_runs_agree_bitwise(name, step):
    """Oracle 15."""
    ball, f, x0, _, _ = projection_problem(name, 0.5, 1.2)
    first, second = (minimize(f, x0, ball, step=step, smoothness=2.0, max_iter=20, tol=1e-10) for _ in range(2))
    assert torch.equal(first.x, second.x)
    assert np.array_equal(first.history["cert"], second.history["cert"], equal_nan=True)


@pytest.mark.parametrize(
    ("name", "step"),
    [(name, "backtracking") for name in SOLVED] + [("sphere", step) for step in STEPS[1:]] + [("spd", "short")],
)
def test_a_batch_of_32_problems_equals_32_single_runs(name, step, generator):
    """Oracle 15: different targets, radii and starts."""
    manifold, center = manifold_and_center(name)
    radii = 0.3 + 0.3 * torch.rand(32, generator=generator)
    centers = center.expand(32, *center.shape)
    ball = GeodesicBall(manifold, centers, radii)
    targets = manifold.exp(centers, 0.9 * direction(manifold, centers, generator))
    x0 = GeodesicBall(manifold, center, 0.3).random(32, generator)
    options = {"step": step, "smoothness": 2.0, "max_iter": 8, "tol": 1e-5}
    many = minimize(FrechetMean(manifold, targets[None]), x0, ball, **options)
    assert len(set(many.n_iter.tolist())) > 1 or step == "open-loop"
    for i in range(0, 32, 1 if manifold.point_ndim == 1 and name != "product" else 4):  # of matrices every fourth
        one = minimize(
            FrechetMean(manifold, targets[i][None]), x0[i], GeodesicBall(manifold, center, radii[i]), **options
        )
        assert one.n_iter == int(many.n_iter[i])
        assert one.converged == bool(many.converged[i])
        assert one.message == many.message[i]
        assert float(manifold.dist(one.x, many.x[i])) <= (1e-7 if step != "line-search" else 1e-5)
        assert one.fun == pytest.approx(float(many.fun[i]), abs=1e-9)


def random_problem(seed):
    """Return (ball, f, x0) of a random weighted Frechet mean on a random Hadamard manifold."""
    generator = torch.Generator().manual_seed(seed)
    name = ("lorentz", "poincare", "spd", "log-euclidean", "euclidean")[seed % 5]
    manifold, center = manifold_and_center(name, 2 + seed % 3, seed)
    radius = 0.2 + 1.5 * float(torch.rand((), generator=generator))
    count = 1 + seed % 4
    far = manifold.random_tangent(center.expand(count, *center.shape), generator)
    points = manifold.exp(center.expand(count, *center.shape), far)
    ball = GeodesicBall(manifold, center, radius)
    weights = 0.1 + torch.rand(count, generator=generator)
    return ball, FrechetMean(manifold, points, weights), ball.random(1, generator)[0]


def check_certificates(seeds):
    """Return how many iterates were checked: the certificate is never below f - f*, f* from projected gradient."""
    checked = 0
    for seed in seeds:
        ball, f, x0 = random_problem(seed)
        rough = minimize(f, x0, ball, riemannian_grad=f.gradient, max_iter=6, tol=1e-12)
        lowest = min(best_value(f, rough.x, ball), float(np.nanmin(rough.history["fun"])))
        bound, error = rough.history["cert"], rough.history["fun"] - lowest
        assert rough.certificate_kind in ("fw-gap-exact", "cat0")
        assert (bound >= error - 1e-12)[~np.isnan(bound)].all(), (seed, bound - error)
        checked += len(bound)
    return checked


def best_value(f, x, ball):
    """Return f* by plain projected gradient with L from the Hessian bound: independent of the oracle and the gap."""
    _, L = f.bounds(ball)
    for _ in range(60):
        x = ball.project(ball.manifold.exp(x, -f.gradient(x) / (L + 1e-3)))
    return float(f(x))


def test_certificate_is_never_below_the_error_in_40_random_problems():
    assert check_certificates(range(40)) >= 100


@pytest.mark.slow
def test_certificate_is_never_below_the_error_in_1000_random_problems():
    """The 1,000 random problems on Hadamard manifolds of the acceptance list."""
    assert check_certificates(range(1000)) >= 3000


def test_small_problems_agree_with_slsqp():
    """An independent solver in normal coordinates; three target points, optimum on the boundary."""
    generator = torch.Generator().manual_seed(5)
    for name in ("sphere", "lorentz", "spd", "euclidean"):
        manifold, center = manifold_and_center(name, 3)
        ball = GeodesicBall(manifold, center, 0.5)
        points = GeodesicBall(manifold, manifold.exp(center, 0.9 * direction(manifold, center, generator)), 0.2).random(
            3, generator
        )
        f = FrechetMean(manifold, points)
        _, lowest = slsqp(f, ball)
        result = minimize(f, None, ball, tol=1e-9)
        assert result.fun == pytest.approx(lowest, abs=1e-7)


def test_interior_optimum_is_found_and_certified():
    ball, f, x0, _, _ = projection_problem("lorentz", 1.0, 0.4)
    result = minimize(f, x0, ball, tol=1e-6, max_iter=2000)
    assert result.converged
    assert result.fun <= 1e-6


def test_interrupted_run_resumes_identically():
    ball, f, x0, _, _ = projection_problem("spd", 0.8, 1.5)
    whole = minimize(f, x0, ball, tol=1e-10)
    kept = []
    stopped = minimize(f, x0, ball, tol=1e-10, callback=lambda state: kept.append(state) or state.iteration == 3)
    assert stopped.message == "stopped by the callback"
    assert not stopped.converged
    resumed = minimize(f, x0, ball, tol=1e-10, state=kept[-1])
    assert torch.equal(resumed.x, whole.x)
    assert resumed.n_iter == whole.n_iter
    assert np.array_equal(resumed.history["cert"], whole.history["cert"])


def test_nan_keeps_the_last_finite_iterate():
    ball, f, x0, _, _ = projection_problem("sphere", 0.5, 1.2)
    calls = []

    def breaking(x):
        calls.append(1)
        return f(x) if len(calls) < 6 else f(x) * float("nan")

    result = minimize(breaking, x0, ball, step="short", smoothness=1.0)
    assert not result.converged
    assert "not finite" in result.message
    assert math.isfinite(result.fun)
    assert float(f(result.x)) == pytest.approx(result.fun, abs=1e-15)
    assert result.n_iter == 5


def test_nan_in_one_problem_leaves_the_others_alone():
    ball, f, _, _, lowest = projection_problem("sphere", 0.5, 1.2)
    x0 = ball.random(3, torch.Generator().manual_seed(0))
    poison = torch.tensor([1.0, float("nan"), 1.0])
    result = minimize(lambda x: f(x) * poison, x0, ball)
    assert result.converged.tolist() == [True, False, True]
    assert float(result.fun[2]) == pytest.approx(lowest, abs=1e-8)


def test_exploding_smoothness_is_reported():
    """A gradient that is not f's: no L makes f descend."""
    ball, f, x0, _, _ = projection_problem("sphere", 0.5, 1.2)
    result = minimize(f, x0, ball, riemannian_grad=lambda x: -1e3 * f.gradient(x))
    assert "smoothness estimate exploded" in result.message
    assert torch.equal(result.x, x0)


def test_nonconvex_objective_has_no_certificate_and_warns_once():
    generator = torch.Generator().manual_seed(0)
    A = torch.randn(6, 4, generator=generator)
    center = torch.eye(4)[0]
    f = QuadraticSphere(A, torch.eye(4)[1])
    with pytest.warns(UserWarning, match="no certificate") as caught:
        result = minimize(f, None, GeodesicBall(Sphere(), center, 0.5), convex=False)
    assert result.certificate_kind == "none"
    assert len(caught) == 1


def test_inexact_oracle_without_comparison_gives_no_certificate():
    interval = SPDInterval(0.5 * torch.eye(2), torch.tensor([[1.5, 0.8], [0.8, 1.5]]))
    f = FrechetMean(SPD(), torch.tensor([[[3.0, 1.0], [1.0, 0.4]]]))
    with pytest.warns(UserWarning, match="no certificate"):
        result = minimize(f, None, interval, tol=1e-4)
    assert result.certificate_kind == "none"
    assert bool(interval.contains(result.x))


def test_broken_oracle_is_reported():
    ball, f, x0, _, _ = projection_problem("sphere", 0.5, 1.2)

    class Broken(GeodesicBall):
        def lmo(self, x, g, memory=None):
            return (
                super()
                .lmo(x, -g, memory)
                .__class__(**{**super().lmo(x, -g, memory).__dict__, "value": torch.tensor(0.3)})
            )

    with pytest.raises(RuntimeError, match=r"worse than x \(got value 0.3"):
        minimize(f, x0, Broken(ball.manifold, ball.center, 0.5))


def test_user_oracle_with_and_without_proof():
    ball, f, x0, _, _ = projection_problem("sphere", 0.5, 1.2)

    def oracle(manifold, x, g):
        return ball.lmo(x, g).v

    assert minimize(f, x0, WithOracle(ball, oracle, exact=True)).certificate_kind == "fw-gap-exact"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert minimize(f, x0, WithOracle(ball, oracle)).certificate_kind == "none"


def test_numpy_in_numpy_out():
    p, c = np.eye(3)[0], np.eye(3)[2]
    result = minimize(lambda x: -p @ x, c, GeodesicBall(Sphere(), torch.tensor(c), 0.5), grad=lambda x: -p)
    assert isinstance(result.x, np.ndarray)
    assert result.x == pytest.approx([math.sin(0.5), 0.0, math.cos(0.5)], abs=1e-4)


@pytest.mark.parametrize("step", ["open-loop"])
def test_open_loop_bound(step):
    """h_t <= 2 L diam^2 / (t + 2), at every t of 200."""
    ball, f, x0, _, lowest = projection_problem("lorentz", 1.0, 2.0)
    smoothness = 3 / math.tanh(3)
    error = minimize(f, x0, ball, step=step, max_iter=200, tol=0).history["fun"] - lowest
    t = np.arange(len(error))
    assert (error[1:] <= (2 * smoothness * 4.0 / (t + 2))[1:]).all()


def test_observed_rate_is_reported():
    ball, f, x0, _, _ = projection_problem("lorentz", 1.0, 3.0)
    assert 0.1 < minimize(f, x0, ball, tol=1e-11).observed_rate < 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": "newton"}, "step must be one of"),
        ({"step": "short"}, "smoothness must be given"),
        ({"smoothness": -1.0}, "smoothness must be > 0"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": float("nan")}, "tol"),
    ],
)
def test_bad_options_are_refused(options, message):
    ball, f, x0, _, _ = projection_problem("sphere", 0.5, 1.2)
    with pytest.raises(ValueError, match=message):
        minimize(f, x0, ball, **options)


def test_start_outside_is_refused_or_projected():
    ball, f, _, expected, _ = projection_problem("sphere", 0.5, 1.2)
    outside = f.points[0]
    with pytest.raises(ValueError, match=r"distance 1.2 from the centre, radius 0.5.*project_x0=True"):
        minimize(f, outside, ball)
    assert float(ball.manifold.dist(ball.project(outside), expected)) <= 1e-12
    assert minimize(f, outside, ball, project_x0=True).converged
    with pytest.raises(ValueError, match="finite"):
        minimize(f, outside * float("nan"), ball)


def test_function_of_the_wrong_shape_is_refused():
    ball, _, x0, _, _ = projection_problem("sphere", 0.5, 1.2)
    with pytest.raises(ValueError, match="one value per problem"):
        minimize(lambda x: x, x0, ball)


def test_exp_of_symmetric_is_inverse_of_log(generator):
    X = SPD().exp(torch.eye(3), SPD().random_tangent(torch.eye(3), generator))
    assert torch.allclose(symmetric_exp(symmetric_log(X)), X, atol=1e-13)
