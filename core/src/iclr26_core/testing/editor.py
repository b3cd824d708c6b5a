"""The contract of editors: changes in a model by request, each of which can be taken back. Needs torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from iclr26_core.interfaces import Editor
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.damage import with_nan
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb
from iclr26_core.testing.restore import through_pickle
from iclr26_core.testing.unchanged import changed, fingerprint, weights

Example = tuple[torch.nn.Module, Sequence[Mapping[str, Any]]]


class EditorContract(Contract, sealed=True):
    """Checks an editor on the author's model and requests. The model may be edited in place or copied.

    Override ``make``, ``example`` and ``achieved``; ``damaged`` for requests without a float tensor;
    ``restored`` where the editor has its own way to be saved.

    Attributes:
        gpu_tolerance: how far ``achieved`` may differ, absolutely, when the model is edited on the GPU
    """

    gpu_tolerance: ClassVar[float] = 1e-3

    def make(self) -> Editor:
        """Return a new editor with a fixed seed."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def example(self) -> Example:
        """Return a new small model and at least 2 requests that differ; the same ones at every call."""
        raise NotImplementedError(f"{type(self).__name__} must define example(self)")

    def achieved(self, model: torch.nn.Module, request: Mapping[str, Any]) -> float:
        """Return how well the model does what the request asks, higher is better: a log-probability, a distance."""
        raise NotImplementedError(f"{type(self).__name__} must define achieved(self, model, request)")

    def damaged(self) -> Mapping[str, Mapping[str, Any]]:
        """Return requests to be refused, by what is wrong with them: empty, and with a NaN if it holds floats."""
        nan = with_nan(self.example()[1][0])
        return {"an empty request": {}, **({} if nan is None else {"a request with NaN": nan})}

    def restored(self, editor: Editor, model: torch.nn.Module, folder: Path) -> Editor:
        """Return the editor, saved into the empty folder and loaded again for the edited model; here by pickle."""
        return through_pickle(editor, folder)

    def test_edit_does_what_each_request_asks(self) -> None:
        original, requests = self.example()
        edited = self._edited()[1]
        self.check(type(edited) is type(original), f"edit must return the edited model (got {type(edited).__name__})")
        self._check_improved(edited, requests, "edit")

    def test_reverting_all_restores_every_bit(self) -> None:
        original, requests = self.example()
        for order in (list(requests), list(requests)[::-1]):
            editor, _ = self._edited()
            self._check_original(self._reverted(editor, order), original, "reverting every edit")

    def test_reverting_one_keeps_the_others(self) -> None:
        requests = self.example()[1]
        editor, edited = self._edited()
        held = self.achieved(edited, requests[0])
        model = editor.revert(requests[0])
        self.check(self.achieved(model, requests[0]) < held, "a reverted request is achieved as well as before")
        self._check_improved(model, requests[1:], "reverting another request")

    def test_edits_add_up(self) -> None:
        (model, requests), editor = self.example(), self.make()
        for request in requests:
            model = editor.edit(model, [request])
        self._check_improved(model, requests, "editing one by one")
        self._check_original(self._reverted(editor, requests), self.example()[0], "reverting edits made one by one")

    def test_reverting_what_was_never_edited_is_refused(self) -> None:
        (model, requests), editor = self.example(), self.make()
        editor.edit(model, requests[:1])
        self.check_refused(lambda: editor.revert(requests[1]), LookupError, "reverting a request never made")
        editor.revert(requests[0])
        self.check_refused(lambda: editor.revert(requests[0]), LookupError, "reverting a request twice")

    def test_damaged_requests_are_refused_and_change_nothing(self) -> None:
        for what, request in self.damaged().items():
            model, requests = self.example()
            before = weights(model)
            self.check_refused(partial(self.make().edit, model, [requests[1], request]), ValueError, what)
            self.check(not changed(before, model), f"{what} was refused, and still {changed(before, model)} changed")

    def test_same_requests_give_the_same_weights(self) -> None:
        first = weights(self._edited(disturbed=1)[1])
        differ = changed(first, self._edited(disturbed=2)[1])
        self.check(not differ, f"the same edit twice gives other {differ}")

    def test_requests_are_not_changed(self) -> None:
        (model, requests), editor = self.example(), self.make()
        before = fingerprint(list(requests))
        editor.edit(model, requests)
        editor.revert(requests[0])
        self.check(fingerprint(list(requests)) == before, "edit or revert changed a request")

    def test_model_stays_as_usable_as_it_was(self) -> None:
        original, _ = self.example()
        edited = self._edited()[1]
        self.check(edited.training == original.training, "edit left the model in another mode than it was")
        for (name, was), (_, now) in zip(original.named_parameters(), edited.named_parameters(), strict=True):
            kept = now.requires_grad == was.requires_grad and now.grad is None and now.dtype == was.dtype
            self.check(kept, f"edit changed requires_grad or dtype of {name!r}, or left a gradient there")
        self.check(edited.state_dict().keys() == original.state_dict().keys(), "edit added or removed weights")

    def test_saved_editor_can_still_revert(self, tmp_path: Path) -> None:
        original, requests = self.example()
        editor, edited = self._edited()
        loaded = self.restored(editor, edited, tmp_path)
        self._check_original(self._reverted(loaded, requests), original, "reverting by a restored editor")

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        model, requests = self.example()
        there = self.make().edit(model.to(require_gpu()), requests).cpu()
        here = self._edited()[1]
        for request in requests:
            moved = abs(self.achieved(there, request) - self.achieved(here, request))
            self.check(moved <= self.gpu_tolerance, f"edited on the GPU, a request is achieved {moved} more or less")

    def _edited(self, *, disturbed: int = 0) -> tuple[Editor, torch.nn.Module]:
        (model, requests), editor = self.example(), self.make()
        disturb(disturbed)
        return editor, editor.edit(model, requests)

    def _reverted(self, editor: Editor, requests: Sequence[Mapping[str, Any]]) -> torch.nn.Module:
        return [editor.revert(request) for request in requests][-1]  # type: ignore[no-any-return]

    def _check_improved(self, model: torch.nn.Module, requests: Sequence[Mapping[str, Any]], what: str) -> None:
        original = self.example()[0]
        for number, request in enumerate(requests):
            was, now = self.achieved(original, request), self.achieved(model, request)
            self.check(now > was, f"after {what}, achieved() of request {number} is {now}, and {was} in the original")

    def _check_original(self, model: torch.nn.Module, original: torch.nn.Module, what: str) -> None:
        differ = changed(weights(original), model)
        self.check(not differ, f"{what} leaves {differ} different from the original")
