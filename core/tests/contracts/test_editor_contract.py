"""The editors' contract accepts an editor and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from iclr26_core.testing import EditorContract
from verdict import failing, names_of


class AssociativeEditor:
    """Makes a linear layer answer a key by a value: one step of least change for each request, in their order."""

    def __init__(self) -> None:
        self.held: dict[str, Mapping[str, Any]] = {}
        self.model: Any = None

    def edit(self, model: Any, requests: Iterable[Mapping[str, Any]]) -> Any:
        requests = list(requests)
        for request in requests:
            self._require_valid(request)
        if self.model is None:
            self.model, self.original = model, model.weight.detach().clone()
        self.held |= {request["fact"]: dict(request) for request in requests}
        return self._apply()

    def revert(self, request: Mapping[str, Any]) -> Any:
        if request["fact"] not in self.held:
            raise LookupError(f"{request['fact']!r} was never edited: there are {sorted(self.held)}")
        del self.held[request["fact"]]
        return self._apply()

    def _require_valid(self, request: Mapping[str, Any]) -> None:
        missing = {"fact", "key", "value"} - request.keys()
        if missing or not (request["key"].isfinite().all() and request["value"].isfinite().all()):
            raise ValueError(f"a request needs a fact, and a finite key and value (got {request})")

    @torch.no_grad()
    def _apply(self) -> Any:
        self.model.weight.copy_(self.original)
        for request in self.held.values():
            key, value = request["key"], request["value"]
            self.model.weight += torch.outer(value - self.model.weight @ key, key) / key.dot(key)
        return self.model


class TestAssociativeEditor(EditorContract):
    method = "associative"

    def make(self) -> Any:
        return AssociativeEditor()

    def example(self) -> tuple[torch.nn.Module, list[Mapping[str, Any]]]:
        torch.manual_seed(0)
        keys, values = torch.randn(3, 16), torch.randn(3, 4)
        facts = zip(("sky", "grass", "sun"), keys, values, strict=True)
        requests = [{"fact": fact, "key": key, "value": value} for fact, key, value in facts]
        return torch.nn.Linear(16, 4, bias=False).eval(), requests

    def achieved(self, model: torch.nn.Module, request: Mapping[str, Any]) -> float:
        return -(model(request["key"]) - request["value"]).norm().item()

    def damaged(self) -> Mapping[str, Any]:
        request = self.example()[1][0]
        return {**super().damaged(), "a request without a value": {"fact": "sky", "key": request["key"]}}


class DoesNothing(AssociativeEditor):
    def _apply(self) -> Any:
        return self.model


class ReturnsAWrapper(AssociativeEditor):
    def edit(self, model: Any, requests: Any) -> Any:
        return torch.nn.Sequential(super().edit(model, requests)).eval()


class RevertsBySubtraction(AssociativeEditor):
    """Adds and subtracts each change: right but for rounding."""

    def edit(self, model: Any, requests: Any) -> Any:
        requests = list(requests)
        for request in requests:
            self._require_valid(request)
        self.model = model
        self.changes = getattr(self, "changes", {})
        for request in requests:
            key, value = request["key"], request["value"]
            change = torch.outer(value - model.weight.detach() @ key, key) / key.dot(key)
            self.changes[request["fact"]] = change
            model.weight.data += change
        return model

    def revert(self, request: Any) -> Any:
        self.model.weight.data -= self.changes.pop(request["fact"])
        return self.model


class RevertsEverything(AssociativeEditor):
    def revert(self, request: Any) -> Any:
        model = super().revert(request)
        model.weight.data.copy_(self.original)
        return model


class RevertsNothingAtFirst(AssociativeEditor):
    def revert(self, request: Any) -> Any:
        weight = self.model.weight.detach().clone()
        model = super().revert(request)
        if self.held:
            model.weight.data.copy_(weight)
        return model


class TakesTheEditedForTheOriginal(AssociativeEditor):
    def edit(self, model: Any, requests: Any) -> Any:
        self.original = model.weight.detach().clone()
        self.model = model
        return super().edit(model, requests)


class RevertsWhatItNeverEdited(AssociativeEditor):
    def revert(self, request: Any) -> Any:
        self.held.setdefault(request["fact"], request)
        return super().revert(request)


class EditsBeforeItChecks(AssociativeEditor):
    def edit(self, model: Any, requests: Any) -> Any:
        for request in list(requests):
            super().edit(model, [request])
        return self.model


class TakesNaN(AssociativeEditor):
    def _require_valid(self, request: Any) -> None:
        if {"fact", "key", "value"} - request.keys():
            raise ValueError("a request needs a fact, a key and a value")


class EditsAtRandom(AssociativeEditor):
    def _apply(self) -> Any:
        model = super()._apply()
        if self.held:
            model.weight.data += 1e-6 * torch.randn_like(model.weight)
        return model


class NormalisesRequests(AssociativeEditor):
    def _require_valid(self, request: Any) -> None:
        super()._require_valid(request)
        request["key"].div_(request["key"].norm())


class FreezesTheModel(AssociativeEditor):
    def edit(self, model: Any, requests: Any) -> Any:
        return super().edit(model, requests).requires_grad_(False)


class LeavesTrainingMode(AssociativeEditor):
    def edit(self, model: Any, requests: Any) -> Any:
        return super().edit(model, requests).train()


class SavesARoundedOriginal(AssociativeEditor):
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "original": self.original.bfloat16().float()}


BROKEN: dict[type[AssociativeEditor], set[str]] = {
    DoesNothing: {
        "test_edit_does_what_each_request_asks",
        "test_edits_add_up",
        "test_reverting_one_keeps_the_others",
    },
    ReturnsAWrapper: {"test_edit_does_what_each_request_asks", "test_model_stays_as_usable_as_it_was"},
    RevertsBySubtraction: {
        "test_reverting_all_restores_every_bit",
        "test_edits_add_up",
        "test_saved_editor_can_still_revert",
    },
    RevertsEverything: {"test_reverting_one_keeps_the_others"},
    RevertsNothingAtFirst: {"test_reverting_one_keeps_the_others"},
    TakesTheEditedForTheOriginal: {"test_edits_add_up"},
    RevertsWhatItNeverEdited: {"test_reverting_what_was_never_edited_is_refused"},
    EditsBeforeItChecks: {"test_damaged_requests_are_refused_and_change_nothing"},
    TakesNaN: {"test_damaged_requests_are_refused_and_change_nothing"},
    EditsAtRandom: {"test_same_requests_give_the_same_weights"},
    NormalisesRequests: {
        "test_requests_are_not_changed",
        "test_edit_does_what_each_request_asks",
        "test_reverting_one_keeps_the_others",
    },
    FreezesTheModel: {"test_model_stays_as_usable_as_it_was"},
    LeavesTrainingMode: {"test_model_stays_as_usable_as_it_was"},
    SavesARoundedOriginal: {"test_saved_editor_can_still_revert"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_editor_fails_where_it_is_broken(broken: type[AssociativeEditor], tmp_path: Path) -> None:
    class Broken(TestAssociativeEditor):
        def make(self) -> Any:
            return broken()

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(EditorContract)
