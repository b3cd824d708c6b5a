"""Loads a masked diffusion model from a local folder; code in the folder runs only when the user says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from iclr26_lm.adapter import MaskedDiffusionLM


def load_diffusion_model(
    path: str | Path,
    *,
    trust_remote_code: bool = False,
    dtype: torch.dtype | None = None,
    device: str | torch.device = "cpu",
    **adapting: Any,
) -> tuple[MaskedDiffusionLM, Any]:
    """Return the adapted model in eval mode and its tokenizer.

    Args:
        path: a folder with ``config.json``, weights and tokenizer
        trust_remote_code: run the modeling code in the folder (LLaDA and Dream come with theirs)
        dtype: of the weights; as saved if None
        device: where the model goes
        adapting: options of ``adapt``, e.g. ``block=32``

    Raises:
        FileNotFoundError: no ``config.json`` in the folder
        ValueError: the folder brings code and ``trust_remote_code`` is False, or the model fits no family
    """
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    from iclr26_lm.adapter import adapt

    folder = Path(path)
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"{folder} holds no model: no config.json in it")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    brings_code = "auto_map" in config
    if brings_code and not trust_remote_code:
        raise ValueError(
            f"{folder} brings modeling code ({', '.join(sorted(set(config['auto_map'].values())))}): "
            "read it, then pass trust_remote_code=True to run it"
        )
    loader: Any = AutoModel if brings_code else AutoModelForMaskedLM
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    model = loader.from_pretrained(folder, dtype="auto" if dtype is None else dtype, **options)
    tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    return adapt(model.eval().to(device), tokenizer, **adapting), tokenizer
