"""Without a GPU a test that needs one is skipped; where one is demanded, it fails."""

from __future__ import annotations

import pytest
import torch
from iclr26_core.testing import require_gpu


@pytest.fixture
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("ICLR26_REQUIRE_GPU", raising=False)


@pytest.mark.usefixtures("_no_gpu")
def test_without_a_gpu_the_test_is_skipped() -> None:
    with pytest.raises(pytest.skip.Exception, match="torch sees no GPU"):
        require_gpu()


@pytest.mark.usefixtures("_no_gpu")
def test_where_one_is_demanded_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICLR26_REQUIRE_GPU", "1")
    with pytest.raises(pytest.fail.Exception, match="ICLR26_REQUIRE_GPU=1, and torch sees no GPU"):
        require_gpu()
    with pytest.raises(pytest.fail.Exception, match="ICLR26_REQUIRE_GPU=1"):
        require_gpu(lambda *, device="cpu": device)


def test_with_a_gpu_its_device_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert require_gpu() == "cuda"
    assert require_gpu(lambda *, device="cpu": device) == "cuda"


def test_method_for_the_cpu_only_is_skipped_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(pytest.skip.Exception, match="takes no device"):
        require_gpu(lambda: None)
