"""The SPD interval {A <= Z <= B} and its oracle.

Weber & Sra's closed form is often used as exact. It is optimal where the gradient is semidefinite or everything
commutes, and not otherwise (a 2 x 2 counterexample is in the tests), so it is the start of a refinement here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from iclr26_riemannian_fw.feasible.convexity import Certificate
from iclr26_riemannian_fw.feasible.lmo import ARMIJO, LMOResult
from iclr26_riemannian_fw.feasible.sets import FeasibleSet
from iclr26_riemannian_fw.geometry.manifolds import Manifold
from iclr26_riemannian_fw.geometry.matrix_functions import compose, derivative, log_differences, sym, symmetric_log
from iclr26_riemannian_fw.geometry.spd import SPD, whiten

ITERATIONS = 200
TOLERANCE = 1e-7


class SPDInterval(FeasibleSet):
    """The matrices A <= Z <= B in the Loewner order, affine-invariant metric.

    Args:
        lower: A, positive definite, [..., n, n].
        upper: B, with B - A positive definite.
    """

    def __init__(self, lower: Tensor, upper: Tensor) -> None:
        self.manifold = SPD("affine")
        self.manifold.check_point(lower)
        self.manifold.check_point(upper)
        gap = float(torch.linalg.eigvalsh(upper - lower)[..., 0].min())
        if gap <= 0:
            raise ValueError(
                f"lower must be strictly below upper (got a smallest eigenvalue of upper - lower of {gap:.3e})"
            )
        self.lower, self.upper = lower.detach(), upper.detach()
        self.diameter = self.manifold.dist(lower, upper)

    @property
    def anchor(self) -> Tensor:
        """The geometric mean of the ends."""
        return self.manifold.exp(self.lower, 0.5 * self.manifold.log(self.lower, self.upper))

    def excess(self, x: Tensor) -> Tensor:
        """Return the largest violated eigenvalue, in the coordinates of x (relative)."""
        F = torch.linalg.cholesky(x)
        below, above = whiten(F, self.lower - x), whiten(F, x - self.upper)
        return torch.maximum(torch.linalg.eigvalsh(below)[..., -1], torch.linalg.eigvalsh(above)[..., -1])

    def lmo(self, x: Tensor, g: Tensor, memory: Any = None) -> LMOResult:  # noqa: D102
        return spd_interval(self.manifold, self.lower, self.upper, x, g)

    def random(self, n: int, generator: Generator | None = None) -> Tensor:
        """Return A + K R K^T for random 0 <= R <= I."""
        shape = (n, *self.lower.shape)
        noise = torch.randn(shape, generator=generator, dtype=self.lower.dtype, device=self.lower.device)
        Q = torch.linalg.qr(noise).Q
        share = torch.rand(shape[:-1], generator=generator, dtype=self.lower.dtype, device=self.lower.device)
        K = torch.linalg.cholesky(self.upper - self.lower)
        drawn: Tensor = self.lower + K @ ((Q * share.unsqueeze(-2)) @ Q.mT) @ K.mT
        return drawn

    def certify(self) -> Certificate:  # noqa: D102
        reason = "commuting matrices between A and B form a box, whose faces are flat: not strongly convex for n >= 2"
        if self.lower.shape[-1] == 1:
            length = float(self.diameter.max())
            return Certificate(
                "riemannian", 1 / length, "n = 1: an interval of length 2R of the line, alpha = 1 / (2R)"
            )
        return Certificate("none", 0.0, reason)


def spd_interval(manifold: Manifold, lower: Tensor, upper: Tensor, x: Tensor, g: Tensor) -> LMOResult:
    """Return an oracle of the interval {A <= Z <= B}: a closed form where G is semidefinite, else refined from it.

    In coordinates X = F F^T: Y = F^-1 Z F^-T = A' + K R K^T with K K^T = B' - A' and 0 <= R <= I; the objective is
    tr(S log Y). Starts: the closed form of Weber & Sra with the Cholesky factor and with the symmetric root. It is
    optimal where S is semidefinite (log is operator monotone) and not in general; projected gradient with eigenvalue
    clipping refines it.
    """
    F = torch.linalg.cholesky(x)
    A, B, S = whiten(F, lower), whiten(F, upper), whiten(F, g)
    k, V = torch.linalg.eigh(B - A)
    K = compose(V, k.clamp_min(0).sqrt())

    def value_and_gradient(R: Tensor) -> tuple[Tensor, Tensor]:
        y, P = torch.linalg.eigh(sym(A + K @ R @ K.mT))
        y = y.clamp_min(torch.finfo(y.dtype).tiny)
        return (S * compose(P, y.log())).sum((-2, -1)), sym(K.mT @ derivative(P, log_differences(y), S) @ K)

    d = torch.linalg.eigvalsh(S)
    exact = (d[..., 0] * d[..., -1]) >= 0
    starts = [clip_eigenvalues(_solve_congruence(K, Y - A)) for Y in interval_closed_forms(A, B, S)]
    values = [value_and_gradient(start)[0] for start in starts]
    R = torch.where((values[0] <= values[1])[..., None, None], starts[0], starts[1])
    R, value, residual = _minimise_between(value_and_gradient, R)
    Y = sym(A + K @ R @ K.mT)
    u, v = sym(F @ symmetric_log(Y) @ F.mT), sym(F @ Y @ F.mT)
    return LMOResult(v, u, value, exact, torch.where(exact, 0.0, residual), torch.full_like(value, torch.nan))


def interval_closed_forms(A: Tensor, B: Tensor, S: Tensor) -> tuple[Tensor, Tensor]:
    """Return Weber & Sra's candidates Q (P^T [D < 0] P + A') Q^T for the upper Cholesky factor and the symmetric root.

    S = Q D Q^T; A', B' are A, B in the basis Q and P^T P = B' - A'.
    """
    D, Q = torch.linalg.eigh(S)
    difference = sym(Q.mT @ (B - A) @ Q)
    k, V = torch.linalg.eigh(difference)
    negative = (D < 0).to(S.dtype)
    factors = torch.linalg.cholesky(difference).mT, compose(V, k.clamp_min(0).sqrt())
    first, second = (sym(Q @ (P.mT @ (negative.unsqueeze(-1) * P)) @ Q.mT + A) for P in factors)
    return first, second


def clip_eigenvalues(R: Tensor) -> Tensor:
    """Return the projection of a symmetric matrix onto {0 <= R <= I}."""
    r, V = torch.linalg.eigh(sym(R))
    return compose(V, r.clamp(0.0, 1.0))


def _solve_congruence(K: Tensor, Y: Tensor) -> Tensor:
    """Return K^-1 Y K^-1 for symmetric K."""
    return sym(torch.linalg.solve(K, torch.linalg.solve(K, Y).mT))


def _minimise_between(
    value_and_gradient: Callable[[Tensor], tuple[Tensor, Tensor]], R: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (R, value, ||R - clip(R - grad)||) of spectral projected gradient over {0 <= R <= I}."""
    value, gradient = value_and_gradient(R)
    rate = 1 / gradient.square().sum((-2, -1)).sqrt().clamp_min(torch.finfo(R.dtype).tiny)
    eps = torch.finfo(R.dtype).eps
    moving = torch.ones_like(value, dtype=torch.bool)
    for _ in range(ITERATIONS):
        residual = (R - clip_eigenvalues(R - gradient)).square().sum((-2, -1)).sqrt()
        scale = gradient.square().sum((-2, -1)).sqrt()
        moving = moving & (residual > TOLERANCE * torch.clamp(scale, max=1.0))
        if not bool(moving.any()):
            break
        direction = clip_eigenvalues(R - rate[..., None, None] * gradient) - R
        slope = (direction * gradient).sum((-2, -1))
        step, waiting, old_R, old_gradient = torch.ones_like(value), moving.clone(), R, gradient
        while bool(waiting.any()):
            trial = old_R + step[..., None, None] * direction
            new_value, new_gradient = value_and_gradient(trial)
            accepted = waiting & (new_value <= value + ARMIJO * step * slope + 4 * eps * value.abs())
            keep = accepted[..., None, None]
            R, gradient = torch.where(keep, trial, R), torch.where(keep, new_gradient, gradient)
            value = torch.where(accepted, new_value, value)
            waiting &= ~accepted
            step = torch.where(waiting, 0.5 * step, step)
            moving = moving & ~(waiting & (step < 1e-14))
            waiting &= step >= 1e-14
        change, turn = R - old_R, gradient - old_gradient
        curvature = (change * turn).sum((-2, -1))
        barzilai_borwein = change.square().sum((-2, -1)) / curvature.clamp_min(torch.finfo(R.dtype).tiny)
        rate = torch.where(curvature > 0, barzilai_borwein, 2 * rate).clamp(1e-10, 1e10)
    return R, value, residual
