"""Offline, one thread, and a module cache of its own for the stand-ins' code."""

import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_MODULES_CACHE"] = tempfile.mkdtemp(prefix="iclr26-lm-modules-")

import pytest
import torch
from transformers.utils import logging

torch.set_num_threads(1)
logging.disable_progress_bar()


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
