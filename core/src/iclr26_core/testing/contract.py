"""What every contract is: tests that an implementation inherits, cannot override, and that count their checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import pytest


class Contract:
    """What one kind of method promises, as tests.

    A subclass with ``sealed=True`` defines tests and the hooks they call; the author of a method overrides the hooks
    (``make``, ``example``) and inherits the tests. Overriding a test, or what it counts checks with, raises TypeError
    when the class is made, also through a mixin; so does ``pytest.mark.skip`` on one. A check that cannot hold is
    overridden by a test marked ``pytest.mark.xfail(reason="…")``, for every reader to see.

    Attributes:
        method: name of the method under test, for the messages

    Example:
        class TestMyDetector(DetectorContract):
            method = "my-detector"

            def make(self):
                return MyDetector(seed=0)

            def example(self):
                return examples, labels
    """

    method: ClassVar[str]
    _sealed: ClassVar[bool] = True

    def __init_subclass__(cls, *, sealed: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._sealed = sealed
        for name, contract in _sealed_members(cls).items():
            if not _may_stand_for(getattr(cls, name), getattr(contract, name), name):
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

    @pytest.fixture(autouse=True)
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


def _sealed_members(cls: type[Contract]) -> dict[str, type[Contract]]:
    """Return the tests, and what they count with, that sealed bases define, each with the base it comes from."""
    sealed = [base for base in cls.__mro__[1:] if issubclass(base, Contract) and base._sealed]
    prefixes = ("test_", "check", "pytest_")
    return {name: base for base in reversed(sealed) for name in vars(base) if name.startswith(prefixes)}


def _may_stand_for(member: Any, sealed: Any, name: str) -> bool:
    """Return whether this member is the sealed one, not skipped, or a test that is expected to fail with a reason."""
    marks = {mark.name: mark for mark in getattr(member, "pytestmark", [])}
    if member is sealed:
        return not marks.keys() & {"skip", "skipif", "xfail"}
    return name.startswith("test_") and "xfail" in marks and bool(marks["xfail"].kwargs.get("reason"))
