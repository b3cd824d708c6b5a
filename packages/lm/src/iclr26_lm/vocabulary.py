"""A word tokenizer for the tiny models: words are separated by spaces, a word's id is its place in the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def word_tokenizer(words: Sequence[str], *, mask: bool = False) -> Any:
    """Return a ``PreTrainedTokenizerFast`` for text whose words are separated by spaces.

    Args:
        words: the vocabulary; holds ``<pad>``, ``<bos>``, ``<eos>``, ``<unk>`` and, with ``mask``, ``<mask>``
        mask: whether ``<mask>`` is the mask token

    Raises:
        ValueError: a word twice, or a special token that is missing
    """
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}
    if mask:
        special["mask_token"] = "<mask>"
    if len(set(words)) < len(words) or not set(special.values()) <= set(words):
        raise ValueError(f"words must be distinct and hold {', '.join(special.values())} (got {list(words)[:8]} …)")
    tokenizer: Any = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped: Any = PreTrainedTokenizerFast
    return wrapped(tokenizer_object=tokenizer, padding_side="left", **special)
