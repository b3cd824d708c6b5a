"""Any image-text-to-text model of transformers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iclr26_core.errors import MissingExtra

from .chat import Reply

if TYPE_CHECKING:
    from PIL.Image import Image


class HFVisionChat:
    """A model of ``AutoModelForImageTextToText`` with its processor, decoded greedily.

    Args:
        model: id on the hub or a folder
        dtype: of the weights
        device_map: as in transformers; None leaves the model on the CPU
        attn_implementation: as in transformers
        max_new_tokens: of a reply

    Raises:
        MissingExtra: torch or transformers is not installed
    """

    def __init__(
        self,
        model: str | Path,
        *,
        dtype: str = "auto",
        device_map: str | None = "auto",
        attn_implementation: str | None = None,
        max_new_tokens: int = 2048,
    ) -> None:
        for module in ("torch", "transformers"):
            if find_spec(module) is None:
                raise MissingExtra(module, package="iclr26-human-mme", extra="hf")
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self.name = Path(model).name if Path(model).is_dir() else str(model)
        self.settings = {"max_new_tokens": max_new_tokens, "temperature": 0.0, "dtype": dtype}
        options: dict[str, Any] = {"dtype": dtype, "attn_implementation": attn_implementation}
        if device_map is not None and find_spec("accelerate") is not None:
            options["device_map"] = device_map
        self._processor = AutoProcessor.from_pretrained(str(model))
        self._processor.tokenizer.padding_side = "left"
        self._model = AutoModelForImageTextToText.from_pretrained(str(model), **options).eval()
        self._lock = threading.Lock()

    def generate(self, image: Image, text: str) -> Reply:
        """Return the greedy reply."""
        return self.generate_batch([image], [text])[0]

    def generate_batch(self, images: Sequence[Image], texts: Sequence[str]) -> list[Reply]:
        """Return the greedy replies to pictures of one size."""
        import torch

        asked = [
            [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}] for text in texts
        ]
        prompts = [self._processor.apply_chat_template(each, add_generation_prompt=True) for each in asked]
        with self._lock, torch.inference_mode():
            inputs = self._processor(
                text=prompts, images=[[image] for image in images], return_tensors="pt", padding=True
            ).to(self._model.device)
            limit = self.settings["max_new_tokens"]
            out = self._model.generate(**inputs, max_new_tokens=limit, do_sample=False)
        new = out[:, inputs["input_ids"].shape[1] :]
        ends = self._ends()
        said = self._processor.batch_decode(new, skip_special_tokens=True)
        return [
            Reply(text, "stop" if any(int(token) in ends for token in row) else "length")
            for text, row in zip(said, new, strict=True)
        ]

    def _ends(self) -> set[int]:
        found = self._model.generation_config.eos_token_id
        return set() if found is None else set(found if isinstance(found, list) else [found])
