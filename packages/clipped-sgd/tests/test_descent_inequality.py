"""Oracle 7: the deterministic inequality (D) behind the proof, and the budget of its constants."""

import numpy as np
import pytest


def test_oracle_7_potential_inequality_holds_along_random_runs():
    generator = np.random.default_rng(0)
    worst = np.inf
    for _ in range(200):
        n = int(generator.integers(1, 8))
        A = generator.standard_normal((n, n))
        H = A @ A.T
        L = np.linalg.eigvalsh(H)[-1]
        minimiser, x, d = generator.standard_normal(n), generator.standard_normal(n), 0.0
        for _ in range(40):
            gamma = generator.uniform(0, 1) / L
            gradient = H @ (x - minimiser)
            g = gradient + generator.standard_t(1.1, n)
            level = 10.0 ** generator.uniform(-3, 3)
            clipped = g * min(1.0, level / np.linalg.norm(g))
            theta = clipped - gradient
            after, d_after = x - gamma * clipped, d + 2 * L * gamma

            def potential(y, weight, H=H, L=L, minimiser=minimiser):
                return weight * 0.5 * (y - minimiser) @ H @ (y - minimiser) + L * (y - minimiser) @ (y - minimiser)

            right = (
                potential(x, d)
                - 2 * gamma * L * (x - minimiser) @ theta
                - d * gamma * gradient @ theta
                + (d_after + 1) * L * gamma**2 * theta @ theta
            )
            scale = max(1.0, abs(right), potential(x, d))
            worst = min(worst, (right - potential(after, d_after)) / scale)
            x, d = after, d_after
    assert worst >= -1e-12  # relative to the size of the terms, whose rounding it is


def test_the_constants_of_the_proof_close_the_induction():
    """Section 2.6: initial 0.558, three Freedman terms, two bias terms and the square terms stay below 2."""

    def freedman(variance, linear):
        return (linear + np.sqrt(linear**2 + 4 * variance)) / 2  # a^2 = variance + linear a

    k = 1 / 2400
    terms = [
        0.558,
        freedman(288 * k, 0.0472),
        freedman(144 * k, 0.0334),
        freedman(0.302 * k, 0.001),
        905 * k,
        640 * k,
        54 * k + 211000 * k**2,
    ]
    assert sum(terms) == pytest.approx(1.91, abs=0.01)
    assert sum(1 / (T + 1) ** 2 for T in range(1, 10**6)) < 0.65
