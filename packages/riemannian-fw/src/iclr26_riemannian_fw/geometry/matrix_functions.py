"""Functions of symmetric matrices whose derivatives survive repeated eigenvalues.

Daleckii-Krein: for A = Q diag(a) Q^T and a scalar function h, the derivative of h(A) in direction E is
Q (Delta o (Q^T E Q)) Q^T with the divided differences Delta_ij = (h(a_i) - h(a_j)) / (a_i - a_j), and h'(a_i) where
a_i = a_j. The map is self-adjoint, so the same formula is the gradient. torch's own backward of `eigh` divides by
a_i - a_j and returns NaN there; ours writes Delta with `log1p` and `expm1`, which is accurate at every distance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def sym(matrix: Tensor) -> Tensor:
    """Return the symmetric part, [..., n, n]."""
    return 0.5 * (matrix + matrix.mT)


def compose(vectors: Tensor, values: Tensor) -> Tensor:
    """Return Q diag(values) Q^T from eigenvectors [..., n, n] and values [..., n]."""
    return sym((vectors * values.unsqueeze(-2)) @ vectors.mT)


def log_differences(values: Tensor) -> Tensor:
    """Return the divided differences of log at positive `values` [..., n]: [..., n, n]."""
    column, row = values.unsqueeze(-1), values.unsqueeze(-2)
    ratio = (column - row) / row
    quotient = torch.where(ratio == 0, 1.0, torch.log1p(ratio) / torch.where(ratio == 0, 1.0, ratio))
    return quotient / row


def exp_differences(values: Tensor) -> Tensor:
    """Return the divided differences of exp at `values` [..., n]: [..., n, n]."""
    high = torch.maximum(values.unsqueeze(-1), values.unsqueeze(-2))
    gap = torch.minimum(values.unsqueeze(-1), values.unsqueeze(-2)) - high
    quotient = torch.where(gap == 0, 1.0, torch.expm1(gap) / torch.where(gap == 0, 1.0, gap))
    return quotient * torch.exp(high)


def derivative(vectors: Tensor, differences: Tensor, direction: Tensor) -> Tensor:
    """Return Q (differences o Q^T direction Q) Q^T: the (self-adjoint) derivative of a matrix function."""
    return sym(vectors @ (differences * (vectors.mT @ direction @ vectors)) @ vectors.mT)


class _SymmetricFunction(torch.autograd.Function):
    """h(A) for symmetric A with the Daleckii-Krein gradient (first order only)."""

    @staticmethod
    def forward(
        ctx: Any, matrix: Tensor, function: Callable[..., Tensor], differences: Callable[..., Tensor]
    ) -> Tensor:
        values, vectors = torch.linalg.eigh(matrix)
        ctx.save_for_backward(vectors, differences(values))
        return compose(vectors, function(values))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        vectors, differences = ctx.saved_tensors
        return derivative(vectors, differences, sym(gradient)), None, None


def symmetric_log(matrix: Tensor) -> Tensor:
    """Return log(A) for symmetric positive definite A [..., n, n]; differentiable at repeated eigenvalues."""
    return _apply(matrix, torch.log, log_differences)


def symmetric_log1p(matrix: Tensor) -> Tensor:
    """Return log(I + A) for symmetric A > -I [..., n, n], accurate for small A; differentiable."""
    return _apply(matrix, torch.log1p, lambda values: log_differences(1.0 + values))


def symmetric_exp(matrix: Tensor) -> Tensor:
    """Return exp(A) for symmetric A [..., n, n]; differentiable at repeated eigenvalues."""
    return _apply(matrix, torch.exp, exp_differences)


def symmetric_expm1(matrix: Tensor) -> Tensor:
    """Return exp(A) - I for symmetric A [..., n, n], accurate for small A; differentiable."""
    return _apply(matrix, torch.expm1, exp_differences)


def _apply(matrix: Tensor, function: Callable[..., Tensor], differences: Callable[..., Tensor]) -> Tensor:
    value: Tensor = _SymmetricFunction.apply(matrix, function, differences)
    return value
