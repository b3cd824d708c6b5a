"""The Triton kernel behind ``fused_statistics``; importing it needs triton."""

from __future__ import annotations

from typing import Any

import triton  # type: ignore[import-untyped,unused-ignore]
import triton.language as tl  # type: ignore[import-untyped,unused-ignore]


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def statistics(logits: Any, floats: Any, best: Any, vocabulary: Any, rows: Any, BLOCK: tl.constexpr) -> None:
    """Write lse, entropy, conf and margin (4, rows) and the argmax (rows,) of one row of logits."""
    row = tl.program_id(0)
    start = logits + row.to(tl.int64) * vocabulary
    offsets = tl.arange(0, BLOCK)
    low = float("-inf")
    top, second, total, weighted = low, low, 0.0, 0.0
    place = tl.zeros((), dtype=tl.int64)
    for begin in range(0, vocabulary, BLOCK):
        columns = begin + offsets
        values = tl.load(start + columns, mask=columns < vocabulary, other=low).to(tl.float32)
        block_top = tl.max(values, 0)
        where = tl.min(tl.where(values == block_top, columns, vocabulary), 0)
        block_second = tl.max(tl.where(columns == where, low, values), 0)
        largest = tl.maximum(top, block_top)
        shift = tl.where(largest == low, 0.0, largest)
        weight = tl.exp(values - shift)
        old = tl.exp(top - shift)
        finite = tl.where(values == low, 0.0, values - shift)
        # sum of w * (l - m) moves with the maximum: add old sum times how far it moved
        moved = tl.where(top == low, 0.0, top - shift)
        weighted = old * (weighted + moved * total) + tl.sum(weight * finite, 0)
        total = old * total + tl.sum(weight, 0)
        second = tl.maximum(tl.maximum(tl.minimum(top, block_top), second), block_second)
        place = tl.where(block_top > top, where.to(tl.int64), place)
        top = largest
    log_total = tl.log(total)
    tl.store(floats + row, top + log_total)
    tl.store(floats + rows + row, tl.maximum(log_total - weighted / total, 0.0))
    tl.store(floats + 2 * rows + row, 1.0 / total)
    tl.store(floats + 3 * rows + row, (1.0 - tl.exp(second - top)) / total)
    tl.store(best + row, place)
