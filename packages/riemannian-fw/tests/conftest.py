"""One thread and double precision for every test; geometry to draw problems from."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _double_precision():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)
