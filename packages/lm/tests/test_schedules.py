"""The arithmetic of committing, with the figures of the papers' code."""

import numpy as np
import pytest
import torch
from iclr26_lm import block_counts, dream_counts, even_counts


def test_even_split_takes_the_remainder_first():
    for masked in range(40):
        for steps in range(1, 20):
            counts = even_counts(masked, steps)
            assert counts == [masked // steps + (1 if t < masked % steps else 0) for t in range(steps)]
            assert sum(counts) == masked


def test_blocks_share_the_passes_equally():
    assert block_counts(32, 16, 8) == [[2, 2, 2, 2]] * 4
    assert block_counts(12, 6, 4) == [[2, 2], [2, 2], [2, 2]]
    assert block_counts(10, 6, 5) == [[2, 2, 1], [2, 2, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 4, 3), r"block must divide the canvas of 10 \(got 3\)"),
        ((12, 4, 4), r"steps must be a multiple of the 3 blocks \(got 4\)"),
        ((12, 0, 4), r"steps must be >= 1 \(got 0\)"),
        ((12, 4, 0), r"block must be >= 1 \(got 0\)"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        block_counts(*arguments)


def test_dream_truncates_so_that_the_first_pass_is_small():
    assert dream_counts(12, 12) == [0, *[1] * 10, 2]
    assert dream_counts(12, 6) == [1, 2, 2, 2, 2, 3]
    assert dream_counts(12, 4) == [2, 3, 3, 4]


def test_dream_commits_every_position_and_agrees_with_its_float32_clock():
    for masked in range(1, 60):
        for steps in (1, 3, 8, 32):
            clock = torch.linspace(1, 1e-3, steps + 1).numpy().astype(np.float32)
            left, expected = masked, []
            for t in range(steps):
                k = int(left * float(np.float32(1) - clock[t + 1] / clock[t])) if t < steps - 1 else left
                expected.append(k)
                left -= k
            assert dream_counts(masked, steps) == expected
            assert sum(expected) == masked
