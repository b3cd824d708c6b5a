"""What every contract is: tests that an implementation inherits, cannot override, and that count their checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import pytest


class Contract:
    """Base of the contracts.

    A subclass with ``sealed=True`` defines tests; every other subclass inherits them as they are. Overriding one
    raises TypeError when the class is made, unless the override is marked ``pytest.mark.xfail(reason="…")``.

    Attributes:
        method: name of the method under test
    """

    method: ClassVar[str]
    _sealed: ClassVar[bool] = True

    def __init_subclass__(cls, *, sealed: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._sealed = sealed
        for name, contract in _sealed_tests(cls).items():
            test = getattr(cls, name)
            if test is not getattr(contract, name) and not _expected_to_fail(test):
                raise TypeError(
                    f"{cls.__name__} overrides {contract.__name__}.{name}: a contract's tests are inherited as they "
                    f'are; to leave one out mark the override with pytest.mark.xfail(reason="why")'
                )

    def check(self, holds: object, otherwise: str) -> None:
        """Count one check; raise AssertionError with the message if it does not hold."""
        _checks[type(self).__name__] += 1
        if not holds:
            raise AssertionError(f"{self.method}: {otherwise}")

    def check_refused(self, call: Callable[[], object], error: type[Exception], what: str) -> None:
        """Count one check: the call raises this error, with a message."""
        try:
            call()
        except error as raised:
            self.check(str(raised), f"{what} is refused with an empty message: say what would be right")
        except Exception as raised:
            self.check(False, f"{what} must raise {error.__name__} (got {type(raised).__name__}: {raised})")
        else:
            self.check(False, f"{what} must raise {error.__name__} (nothing was raised)")

    @pytest.fixture(autouse=True, scope="class")
    def _counted(self, request: pytest.FixtureRequest) -> None:
        """Say at the end of the session how many checks the contracts made."""
        plugins = request.config.pluginmanager
        if not plugins.has_plugin(_Summary.name):
            plugins.register(_Summary(), _Summary.name)


class _Summary:
    """A pytest plugin of one session, registered by the first contract that runs."""

    name = "iclr26-contracts"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("contracts")
        for contract, count in sorted(_checks.items()):
            terminalreporter.write_line(f"{contract}: {count} checks")


_checks: Counter[str] = Counter()


def _sealed_tests(cls: type[Contract]) -> dict[str, type[Contract]]:
    """Return the tests that sealed bases define, each with the base it comes from."""
    sealed = [base for base in cls.__mro__[1:] if issubclass(base, Contract) and base._sealed]
    return {name: base for base in reversed(sealed) for name in vars(base) if name.startswith("test_")}


def _expected_to_fail(test: Any) -> bool:
    marks = getattr(test, "pytestmark", [])
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
