"""Gradients against automatic differentiation, minimisers against scikit-learn, and bad data."""

import csv

import numpy as np
import pytest
import torch
from iclr26_clipped_sgd import (
    ExpectedLogistic,
    FiniteSumLogistic,
    Logistic,
    Quadratic,
    breast_cancer_logistic,
    csv_logistic,
    logistic_smoothness,
)


def points(problem, count=5):
    return torch.from_numpy(np.random.default_rng(0).standard_normal((count, problem.dimension)))


@pytest.mark.parametrize("problem", [Quadratic(6, 3.0, 2.0), Logistic(6)], ids=["quadratic", "logistic"])
def test_exact_gradient_is_the_derivative_of_the_gap(problem):
    x, h = points(problem), 1e-6
    gradient = problem.gradient(x, ())
    for i in range(problem.dimension):
        shift = torch.zeros(problem.dimension, dtype=torch.float64)
        shift[i] = h
        slope = (problem.gap(x + shift) - problem.gap(x - shift)) / (2 * h)
        np.testing.assert_allclose(gradient[:, i].numpy(), slope, atol=1e-8)


@pytest.mark.parametrize("problem", [Quadratic(6, 3.0, 2.0), Logistic(6)], ids=["quadratic", "logistic"])
def test_gradient_descent_reaches_gap_zero_and_the_radius_is_exact(problem):
    x = torch.from_numpy(problem.start())[None]
    for _ in range(3000):
        x = x - problem.gradient(x, ()) / problem.smoothness
    assert abs(problem.gap(x)[0]) < 1e-14
    distance = torch.linalg.vector_norm(x[0] - torch.from_numpy(problem.start())).item()
    assert distance == pytest.approx(problem.radius, rel=1e-6)


def autograd_loss(features, labels, x, ridge):
    return torch.nn.functional.softplus(-labels * (features @ x)).mean() + ridge / 2 * (x @ x)


def test_finite_sum_gradient_over_chosen_rows_equals_autograd():
    problem = breast_cancer_logistic(ridge=0.03, batch_size=4)
    assert problem.features.shape == (569, 31)
    (rows,) = problem.draw(np.random.default_rng(1), 5)
    assert rows.shape == (5, 4)
    x = points(problem)
    got = problem.gradient(x, (torch.from_numpy(rows),))
    for r in range(5):
        w = x[r].clone().requires_grad_()
        features, labels = torch.from_numpy(problem.features[rows[r]]), torch.from_numpy(problem.labels[rows[r]])
        autograd_loss(features, labels, w, 0.03).backward()
        torch.testing.assert_close(got[r], w.grad, rtol=1e-12, atol=1e-14)


def test_finite_sum_draws_are_unbiased():
    problem = breast_cancer_logistic(batch_size=2)
    (rows,) = problem.draw(np.random.default_rng(0), 40_000)
    counts = np.bincount(rows.ravel(), minlength=569)
    assert counts.min() > 0
    assert ((counts - 80_000 / 569) ** 2).sum() / (80_000 / 569) < 568 + 5 * np.sqrt(2 * 568)  # chi-squared


def test_breast_cancer_minimiser_equals_scikit_learns():
    from sklearn.linear_model import LogisticRegression

    problem = breast_cancer_logistic(ridge=0.01)
    reference = LogisticRegression(C=1 / (569 * 0.01), fit_intercept=False, tol=1e-12, solver="newton-cholesky")
    reference.fit(problem.features, problem.labels)
    np.testing.assert_allclose(problem.minimiser, reference.coef_[0], atol=1e-7)
    assert problem.gap(torch.from_numpy(problem.minimiser)[None])[0] == 0.0
    assert (problem.gap(points(problem)) > 0).all()
    w = torch.zeros(31, dtype=torch.float64)
    full = autograd_loss(torch.from_numpy(problem.features), torch.from_numpy(problem.labels), w, 0.01).item()
    best = autograd_loss(
        torch.from_numpy(problem.features), torch.from_numpy(problem.labels), torch.from_numpy(problem.minimiser), 0.01
    ).item()
    assert problem.gap(w[None])[0] == pytest.approx(full - best, rel=1e-12)


def test_smoothness_bounds_the_curvature_of_the_logistic_loss():
    problem = breast_cancer_logistic(ridge=0.01)
    assert problem.smoothness == pytest.approx(logistic_smoothness(problem.features, 0.01))
    signed = problem.labels[:, None] * problem.features
    for x in points(problem, 3).numpy() * 0.1:
        s = 1 / (1 + np.exp(-signed @ x))
        hessian = signed.T @ ((s * (1 - s))[:, None] * signed) / 569 + 0.01 * np.eye(31)
        assert np.linalg.eigvalsh(hessian)[-1] <= problem.smoothness


def test_expected_logistic_streams_the_law_of_its_held_out_data():
    problem = ExpectedLogistic(3, tail=5.0, held_out=200_000)
    (pairs,) = problem.draw(np.random.default_rng(7), 200_000)
    assert pairs.shape == (200_000, 1, 3)
    x = torch.tensor([[0.3, -0.2, 0.5]], dtype=torch.float64)
    streamed = np.logaddexp(0, -(pairs[:, 0] @ x[0].numpy())).mean()
    held_out = np.logaddexp(0, -(problem._signed @ x[0].numpy())).mean()
    assert streamed == pytest.approx(held_out, abs=5e-3)
    # the model is well specified: the minimiser is w up to sampling error
    np.testing.assert_allclose(problem.minimiser, np.ones(3) / np.sqrt(3), atol=0.05)
    mean = torch.from_numpy(pairs.reshape(1, -1, 3))
    gradient = problem.gradient(torch.from_numpy(problem.minimiser)[None], (mean,))
    assert torch.linalg.vector_norm(gradient).item() < 0.01


def test_expected_logistic_gap_is_zero_only_at_its_minimiser():
    problem = ExpectedLogistic(4, held_out=20_000)
    assert problem.gap(torch.from_numpy(problem.minimiser)[None])[0] == 0.0
    assert (problem.gap(points(problem)) > 0).all()


@pytest.mark.slow
def test_expected_logistic_at_the_papers_size():
    problem = ExpectedLogistic()
    assert problem._signed.shape == (1_000_000, 10)
    assert problem.gap(torch.from_numpy(problem.start())[None])[0] > 0.1
    np.testing.assert_allclose(problem.minimiser, np.ones(10) / np.sqrt(10), atol=0.01)


def test_csv_gives_the_same_problem_as_the_arrays(tmp_path):
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    with (tmp_path / "cancer.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*data.feature_names, "target"])
        rows.writerows(
            [*map(repr, map(float, row)), int(label)] for row, label in zip(data.data, data.target, strict=True)
        )
    problem = csv_logistic(tmp_path / "cancer.csv", "target", ridge=0.02, batch_size=3)
    expected = breast_cancer_logistic(ridge=0.02, batch_size=3)
    np.testing.assert_allclose(problem.features, expected.features, rtol=1e-12)
    np.testing.assert_array_equal(problem.labels, expected.labels)
    assert problem.name == "cancer"


@pytest.mark.parametrize(
    ("text", "target", "words"),
    [
        ("a,b\n1,0\n2,1\n", "c", r"target must be a column.*'c'.*a, b"),
        ("a,b\n1,0\n2,1\n3,2\n", "b", r"must have 2 values \(got 3"),
        ("a,b\n1,0\nx,1\n", "b", r"line 3, column 'a' must be a finite number \(got 'x'\)"),
        ("a,b\n1,0\n2,1,9\n3,1\n", "b", r"line 3 must have 2 cells \(got 3\)"),
        ("a,b\nnan,0\n2,1\n", "b", r"line 2, column 'a' must be a finite number \(got 'nan'\)"),
    ],
)
def test_bad_csv_is_refused_with_its_place(tmp_path, text, target, words):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        csv_logistic(tmp_path / "bad.csv", target)


def test_repr_identifies_the_data():
    features, labels = np.eye(3), np.array([1.0, -1.0, 1.0])
    same, other = FiniteSumLogistic(features, labels), FiniteSumLogistic(2 * features, labels)
    assert repr(same) == repr(FiniteSumLogistic(features.copy(), labels))
    assert repr(same) != repr(other)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Quadratic(0), "dimension must be > 0"),
        (lambda: Logistic(3, ridge=0.0), "ridge must be > 0"),
        (lambda: ExpectedLogistic(tail=0.5), "tail"),
        (lambda: FiniteSumLogistic(np.eye(2), np.array([0.0, 1.0])), "labels must be -1 or"),
        (lambda: FiniteSumLogistic(np.eye(2), np.ones(3)), r"\(2, 2\) and \(3,\)"),
        (lambda: FiniteSumLogistic(np.eye(2), np.ones(2), batch_size=0), "batch_size"),
    ],
)
def test_bad_problems_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
