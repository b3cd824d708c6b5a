"""What a schedule is, and the table of its rows that is filled block by block.

A row is (gamma_k, lambda_k, d_k, ell_k).  d is a running sum, so rows are summed in one fixed order: the same
arithmetic serves one step and the whole table, and a resumed run sees the same bits.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

BLOCK = 4096  # steps tabulated at a time: memory stays constant, the cost per step is amortised O(1)

Array = NDArray[np.float64]


@runtime_checkable
class ClipSchedule(Protocol):
    """What the optimizer asks a schedule: Python floats in double precision, no tensors.

    ``guaranteed`` is true when ``bound`` is a proven bound; otherwise ``bound`` is ``inf``.
    """

    @property
    def guaranteed(self) -> bool:
        """Whether the theorem covers this schedule."""
        ...

    def step_size(self, k: int) -> float:
        """Step size gamma_k of step k = 0, 1, ..."""
        ...

    def clip_level(self, k: int) -> float:
        """Clipping level lambda_k of step k, in units of the gradient norm."""
        ...

    def bound(self, K: int) -> float:
        """Upper bound on f(x_K) - f*, or ``inf`` without a guarantee."""
        ...

    def table(self, K: int) -> dict[str, Array]:
        """Arrays ``gamma``, ``lam``, ``d``, ``ell`` of length K for the steps 0..K-1."""
        ...


class Tabulated:
    """Rows (gamma, lambda, d, ell) computed in vectorised blocks that are summed in one fixed order.

    The same arithmetic serves ``step_size(k)`` and ``table(K)``, so a resumed run sees the same bits.
    """

    smoothness: float | None
    _starts: list[float]  # d at the beginning of each block seen so far
    _rows: tuple[int, list[tuple[float, float, float, float]]]

    def _logarithms(self, k_N: Array) -> Array:
        raise NotImplementedError

    def _step_sizes(self, k_N: Array, ell_N: Array) -> Array:
        raise NotImplementedError

    def _clip_levels(self, gamma_N: Array, d_N: Array, ell_N: Array) -> Array:
        raise NotImplementedError

    def _reset(self) -> None:
        object.__setattr__(self, "_starts", [0.0])
        object.__setattr__(self, "_rows", (-1, []))

    def _block(self, index: int) -> tuple[Array, Array, Array, Array]:
        while len(self._starts) <= index:
            self._block(len(self._starts) - 1)
        k_N = np.arange(index * BLOCK, (index + 1) * BLOCK, dtype=np.float64)
        ell_N = self._logarithms(k_N)
        gamma_N = self._step_sizes(k_N, ell_N)
        d_N1 = np.cumsum(np.concatenate([[self._starts[index]], 2.0 * (self.smoothness or 0.0) * gamma_N]))
        if len(self._starts) == index + 1:
            self._starts.append(float(d_N1[-1]))
        return gamma_N, self._clip_levels(gamma_N, d_N1[:-1], ell_N), d_N1[:-1], ell_N

    def _row(self, k: int) -> tuple[float, float, float, float]:
        if k < 0:
            raise ValueError(f"k must be >= 0 (got {k}): steps are counted from 0")
        index, offset = divmod(k, BLOCK)
        if self._rows[0] != index:
            columns = [column.tolist() for column in self._block(index)]
            object.__setattr__(self, "_rows", (index, list(zip(*columns, strict=True))))
        return self._rows[1][offset]

    def step_size(self, k: int) -> float:
        """Step size gamma_k of step k = 0, 1, ..."""
        return self._row(k)[0]

    def clip_level(self, k: int) -> float:
        """Clipping level lambda_k of step k, in units of the gradient norm."""
        return self._row(k)[1]

    def table(self, K: int) -> dict[str, Array]:
        """Arrays ``gamma``, ``lam``, ``d``, ``ell`` of length K for the steps 0..K-1."""
        if K < 1:
            raise ValueError(f"K must be >= 1 (got {K}): a table has at least one step")
        blocks = [self._block(index) for index in range(-(-K // BLOCK))]
        columns = [np.concatenate(column)[:K] for column in zip(*blocks, strict=True)]
        return dict(zip(("gamma", "lam", "d", "ell"), columns, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_starts", "_rows")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self._reset()


def schedule_arguments(schedule: ClipSchedule) -> dict[str, Any]:
    """The class name and constructor arguments of a schedule, as plain values for a state dict."""
    if is_dataclass(schedule):
        values = {item.name: getattr(schedule, item.name) for item in fields(schedule) if not item.name.startswith("_")}
    else:
        values = {name: value for name, value in vars(schedule).items() if not name.startswith("_")}
    plain = {name: value for name, value in values.items() if isinstance(value, int | float | str | None)}
    return {"kind": type(schedule).__name__, **plain}
