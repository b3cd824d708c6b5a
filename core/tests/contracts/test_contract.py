"""A contract's tests are inherited as they are; leaving one out needs a reason; the session says what was checked."""

from __future__ import annotations

import importlib
import subprocess
import sys

import iclr26_core.testing
import pytest
from iclr26_core.testing import Contract


class CountsToThree(Contract, sealed=True):
    def test_three(self) -> None:
        for number in range(3):
            self.check(number < 3, f"{number} is too much")


class Promise(CountsToThree, sealed=True):
    def make(self) -> int:
        raise NotImplementedError

    def test_made_is_positive(self) -> None:
        self.check(self.make() > 0, f"make() gave {self.make()}")


def test_subclass_with_hooks_of_its_own_is_fine() -> None:
    class Kept(Promise):
        method = "kept"

        def make(self) -> int:
            return 1

        def test_something_further(self) -> None:
            self.check(True, "")

    Kept().test_made_is_positive()


def test_override_is_refused_by_both_names() -> None:
    with pytest.raises(TypeError, match=r"Cheat overrides Promise\.test_made_is_positive: .*xfail\(reason="):

        class Cheat(Promise):
            def test_made_is_positive(self) -> None:
                pass


def test_override_of_a_grandparents_test_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Cheat overrides CountsToThree\.test_three"):

        class Cheat(Promise):
            def test_three(self) -> None:
                pass


def test_override_below_an_honest_subclass_is_refused() -> None:
    class Kept(Promise):
        pass

    with pytest.raises(TypeError, match=r"Cheat overrides Promise\.test_made_is_positive"):

        class Cheat(Kept):
            def test_made_is_positive(self) -> None:
                pass


def test_override_by_a_mixin_is_refused() -> None:
    class Mixin:
        def test_made_is_positive(self) -> None:
            pass

    with pytest.raises(TypeError, match="overrides"):

        class Cheat(Mixin, Promise):
            pass


@pytest.mark.parametrize(
    "value", [None, lambda self: None, property(lambda self: None)], ids=["None", "lambda", "property"]
)
def test_override_by_anything_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="overrides"):
        type("Cheat", (Promise,), {"test_made_is_positive": value})


@pytest.mark.parametrize("name", ["check", "check_refused"])
def test_what_counts_the_checks_cannot_be_overridden(name: str) -> None:
    with pytest.raises(TypeError, match=f"overrides Contract.{name}"):
        type("Cheat", (Promise,), {name: lambda self, *arguments: None})


@pytest.mark.parametrize(
    "mark",
    [
        pytest.mark.xfail,
        pytest.mark.xfail(reason=""),
        pytest.mark.xfail(strict=True),
        pytest.mark.skip(reason="too hard"),
        pytest.mark.skipif(True, reason="too hard"),
    ],
    ids=str,
)
def test_override_without_an_expected_failure_and_its_reason_is_refused(mark: pytest.MarkDecorator) -> None:
    @mark
    def override(self: Promise) -> None:
        raise AssertionError

    with pytest.raises(TypeError, match="overrides"):
        type("Cheat", (Promise,), {"test_made_is_positive": override})


def test_inherited_test_cannot_be_skipped_by_a_mark() -> None:
    class Once(Contract, sealed=True):
        def test_it(self) -> None:
            pass

    with pytest.raises(TypeError, match=r"Cheat overrides Once\.test_it"):
        type("Cheat", (Once,), {"test_it": pytest.mark.skip(reason="too hard")(Once.test_it)})


def test_override_that_is_expected_to_fail_with_a_reason_is_allowed() -> None:
    class Honest(Promise):
        @pytest.mark.xfail(reason="zero is positive enough here")
        def test_made_is_positive(self) -> None:
            super().test_made_is_positive()

    assert issubclass(Honest, Promise)


def test_refusal_needs_the_right_error_and_a_message() -> None:
    class Kept(Promise):
        method = "kept"

    def refuse(error: Exception) -> None:
        raise error

    kept = Kept()
    kept.check_refused(lambda: refuse(ValueError("n must be >= 1 (got 0)")), ValueError, "n = 0")
    for call, message in (
        (lambda: None, "n = 0 must raise ValueError .nothing was raised."),
        (lambda: refuse(KeyError("n")), "n = 0 must raise ValueError .got KeyError"),
        (lambda: refuse(ValueError()), "n = 0 is refused with an empty message"),
    ):
        with pytest.raises(AssertionError, match=f"kept: {message}"):
            kept.check_refused(call, ValueError, "n = 0")


SESSION = """
import pytest
from iclr26_core.testing.contract import Contract

class Promise(Contract, sealed=True):
    def test_five(self):
        for number in range(5):
            self.check(number < 5, "too much")

    def test_wrong(self):
        self.check(False, "always wrong")

class TestKept(Promise):
    method = "kept"

    @pytest.mark.xfail(reason="wrong by construction")
    def test_wrong(self):
        super().test_wrong()

class TestFailed(Promise):
    method = "failed"
"""


def test_session_says_how_many_checks_ran(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SESSION)
    result = pytester.runpytest_subprocess("-q")
    result.stdout.fnmatch_lines(
        ["*AssertionError: failed: always wrong", "*contracts*", "TestFailed: 6 checks", "TestKept: 6 checks"]
    )
    assert result.parseoutcomes() == {"passed": 2, "xfailed": 1, "failed": 1}


def test_session_without_contracts_says_nothing_of_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import iclr26_core.testing\n\ndef test_it(): pass")
    assert "contracts" not in pytester.runpytest_subprocess("-q").stdout.str()


def test_every_kind_has_a_contract() -> None:
    from iclr26_core.kinds import KINDS

    assert {f"{kind.capitalize()}Contract" for kind in KINDS} <= set(iclr26_core.testing.__all__)


@pytest.mark.parametrize("name", sorted(set(iclr26_core.testing.__all__) - {"Contract", "require_gpu"}))
def test_contract_is_sealed_and_documented(name: str) -> None:
    contract = getattr(iclr26_core.testing, name)
    assert contract._sealed
    assert contract.__doc__
    assert importlib.import_module(contract.__module__).__doc__


def test_kit_imports_no_library_of_a_kind() -> None:
    code = (
        "import sys, iclr26_core.testing, iclr26_core.testing.contract, iclr26_core.testing.benchmark\n"
        "print({'torch', 'numpy', 'sklearn', 'ase', 'gymnasium', 'transformers'} & sys.modules.keys() or 'none')"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "none\n"


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'NoSuchContract'"):
        iclr26_core.testing.NoSuchContract  # noqa: B018
