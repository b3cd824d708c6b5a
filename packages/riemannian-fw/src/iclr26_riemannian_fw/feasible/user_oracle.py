"""A set with the user's own linear oracle, checked at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from iclr26_riemannian_fw.feasible.convexity import Certificate
from iclr26_riemannian_fw.feasible.lmo import LMOResult
from iclr26_riemannian_fw.feasible.sets import FeasibleSet
from iclr26_riemannian_fw.geometry.manifolds import Manifold


class WithOracle(FeasibleSet):
    """A set whose oracle is replaced by the user's own; every answer is checked for membership and descent.

    Args:
        feasible_set: the set.
        oracle: (manifold, x, g) -> v.
        exact: whether the user proves v to be the minimiser; only then is the gap a certificate.
        seed: of the 8 random points the descent check compares with.
    """

    def __init__(
        self,
        feasible_set: FeasibleSet,
        oracle: Callable[[Manifold, Tensor, Tensor], Tensor],
        *,
        exact: bool = False,
        seed: int = 0,
    ) -> None:
        self.inner, self.oracle, self.exact, self.seed = feasible_set, oracle, exact, seed
        self.manifold, self.diameter = feasible_set.manifold, feasible_set.diameter

    @property
    def anchor(self) -> Tensor:  # noqa: D102
        return self.inner.anchor

    def excess(self, x: Tensor) -> Tensor:  # noqa: D102
        return self.inner.excess(x)

    def lmo(self, x: Tensor, g: Tensor, memory: Any = None) -> LMOResult:
        """Return the user's answer.

        Raises:
            ValueError: if v lies outside the set, or x or one of 8 random points has a smaller value.
        """
        v = self.oracle(self.manifold, x, g)
        tolerance = 1e-9 if x.dtype == torch.float64 else 1e-4
        if not bool(self.contains(v, tolerance).all()):
            excess = float(self.excess(v).max())
            raise ValueError(f"the oracle must return a point of the set (got a constraint violated by {excess:.3e})")
        u = self.manifold.log(x, v)
        value = self.manifold.inner(x, g, u)
        points = self.inner.random(8, torch.Generator(device=x.device).manual_seed(self.seed))
        points = points.reshape(8, *(1,) * (x.ndim - points.ndim + 1), *points.shape[1:])
        others = self.manifold.inner(x, g, self.manifold.log(x, points.expand(8, *x.shape)))
        lowest = torch.minimum(others.amin(0), torch.zeros_like(value))
        excess = float((value - lowest).max())
        if excess > tolerance * (1 + float(value.abs().max())):
            raise ValueError(
                f"the oracle must not be beaten by a random point of the set (got a value too high by {excess:.3e})"
            )
        known = torch.full_like(value, self.exact, dtype=torch.bool)
        return LMOResult(v, u, value, known, torch.zeros_like(value), torch.full_like(value, torch.nan))

    def comparison_bound(self, x: Tensor, g: Tensor) -> Tensor | None:  # noqa: D102
        return self.inner.comparison_bound(x, g)

    def random(self, n: int, generator: Generator | None = None) -> Tensor:  # noqa: D102
        return self.inner.random(n, generator)

    def certify(self) -> Certificate:  # noqa: D102
        return self.inner.certify()
