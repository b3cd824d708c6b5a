import pytest
from iclr26_charm.interval import over_seeds


def test_interval_is_the_range_around_the_median() -> None:
    measured = over_seeds([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])
    assert (measured.low, measured.value, measured.high) == (1.0, 3.5, 6.0)


def test_too_few_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="6"):
        over_seeds([1.0] * 5)
