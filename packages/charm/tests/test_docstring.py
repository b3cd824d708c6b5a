import doctest
from importlib import import_module

MODULE = import_module("iclr26_charm.charm")


def test_example_in_the_docstring_is_true() -> None:
    failed, attempted = doctest.testmod(MODULE)
    assert attempted > 0
    assert failed == 0
