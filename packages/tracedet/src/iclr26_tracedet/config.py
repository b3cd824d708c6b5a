"""What can be asked of the jobs; every field is a flag of ``iclr26 run tracedet`` and a key of its TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

MethodName = Literal[
    "tracedet",
    "tracedet-paper",
    "nomask",
    "lstm",
    "flat-lr",
    "mean-entropy",
    "first-entropy",
    "last-entropy",
    "max-entropy",
    "commit-entropy",
    "perplexity",
]
FeatureName = Literal["entropy", "conf", "margin", "changed", "committed"]


@dataclass(frozen=True)
class DetectorConfig:
    """The detectors and how they are trained; defaults are those of the authors' code.

    Attributes:
        layers: Encoder layers.
        dropout: Of the encoder.
        encoder_residual: Standard encoder layers, with the residual that the authors left out.
        beta: Paper variant: weight of the KL term.
        tau: Paper variant: prior keep rate.
        pool: Paper variant: mean over all passes, or over the selected ones.
        lam: Reference variant: weight of the L2 norm of the keep probabilities.
        gamma: Reference variant: weight of their variation.
        lr: Learning rate of AdamW.
        weight_decay: Of AdamW.
        batch_size: Traces per update.
        epochs: At most.
        patience: Epochs without a better validation AUROC before training stops.
        normalize: none as the authors, log1p, or zscore per channel.
        features: What is read of a trace; beyond entropy they are ours.
        canvas: Length to which canvases of different length are padded; 0 is the longest.
    """

    layers: int = 3
    dropout: float = 0.2
    encoder_residual: bool = False
    beta: float = 1.0
    tau: float = 0.25
    pool: Literal["mean", "selected"] = "mean"
    lam: float = 0.1
    gamma: float = 0.0
    lr: float = 2e-4
    weight_decay: float = 0.1
    batch_size: int = 64
    epochs: int = 100
    patience: int = 20
    normalize: Literal["none", "log1p", "zscore"] = "none"
    features: list[FeatureName] = field(default_factory=lambda: ["entropy"])
    canvas: int = 0

    def __post_init__(self) -> None:
        for name in ("layers", "batch_size", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"detector.{name} must be >= 1 (got {getattr(self, name)})")
        for name in ("beta", "lam", "gamma", "weight_decay", "canvas"):
            if getattr(self, name) < 0:
                raise ValueError(f"detector.{name} must be >= 0 (got {getattr(self, name)})")
        if not (0.0 < self.tau < 1.0 and 0.0 <= self.dropout < 1.0 and self.lr > 0.0):
            raise ValueError(
                "detector.tau must be in (0, 1), detector.dropout in [0, 1), detector.lr > 0 "
                f"(got {self.tau}, {self.dropout}, {self.lr})"
            )


@dataclass(frozen=True)
class DecodingConfig:
    """How a model of your own answers.

    Attributes:
        steps: Denoising passes; 0 is one per canvas position.
        schedule: auto (dream for Dream, else even), even, dream or block:LENGTH.
        confidence: What is committed first: auto, low_confidence, maskgit_plus, topk_margin, entropy or random.
        temperature: 0 = argmax; negative is the family's: 0.1 for Dream, else 0.
        top_p: Cut of the distribution that is sampled from; 0 is the family's: 0.95 for Dream, else none.
        guidance: Classifier-free guidance scale, 0 = off.
        eos: none, suppress_logits or suppress_confidence.
        chat_template: Wrap prompts in the tokenizer's chat template where it has one.
        batch: Questions per forward pass, of one prompt length each.
        block: Block length of block-causal models (LLaDA2).
        dtype: Of the weights: auto, float32, bfloat16 or float16.
        trust_remote_code: Run the modeling code in the model's folder.
    """

    steps: int = 0
    schedule: str = "auto"
    confidence: str = "auto"
    temperature: float = -1.0
    top_p: float = 0.0
    guidance: float = 0.0
    eos: Literal["none", "suppress_logits", "suppress_confidence"] = "none"
    chat_template: bool = True
    batch: int = 8
    block: int = 32
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        if self.steps < 0 or self.batch < 1 or self.block < 1:
            raise ValueError(
                f"decode.steps must be >= 0, decode.batch and decode.block >= 1 "
                f"(got {self.steps}, {self.batch}, {self.block})"
            )
        if not 0.0 <= self.top_p <= 1.0:
            raise ValueError(f"decode.top_p must be in [0, 1] (got {self.top_p})")


@dataclass(frozen=True)
class DetectConfig:
    """Record traces (or take recorded ones), fit detectors on some groups, and score others.

    Without traces and model, the tiny diffusion model that comes with iclr26-lm answers questions about its facts.

    Attributes:
        variant: Which variant is the method: reference (the authors' code) or paper. Both are reported.
        traces: Folder of recorded traces (a TraceStore).
        labels: JSON lines of id and label (1 = hallucinated, 0 = faithful, -1 = unknown); wins over other labels.
        model: Folder of a masked diffusion language model.
        input: JSON lines of id, prompt, answers[, group, kind], with --model.
        gen_length: Canvas positions, with --model.
        match: How an answer must match one of the question's: contains (as whole words) or exact.
        form: Questions of the tiny model: short (canvas 12) or long (canvas 32).
        facts: How many facts the tiny model is asked about; 0 is all 1200.
        val_share: Share of the groups that chooses the epoch.
        test_share: Share of the groups that is only scored.
        methods: What is fitted and reported.
        detector: The detectors and their training.
        decode: How a model of your own answers.
    """

    variant: Literal["reference", "paper"] = "reference"
    traces: str = ""
    labels: str = ""
    model: str = ""
    input: str = ""
    gen_length: int = 64
    match: Literal["contains", "exact"] = "contains"
    form: Literal["short", "long"] = "short"
    facts: int = 0
    val_share: float = 0.2
    test_share: float = 0.2
    methods: list[MethodName] = field(
        default_factory=lambda: [
            "tracedet",
            "tracedet-paper",
            "nomask",
            "lstm",
            "flat-lr",
            "mean-entropy",
            "first-entropy",
            "last-entropy",
            "max-entropy",
            "commit-entropy",
            "perplexity",
        ]
    )
    detector: DetectorConfig = field(default_factory=DetectorConfig)
    decode: DecodingConfig = field(default_factory=DecodingConfig)

    def __post_init__(self) -> None:
        if bool(self.model) != bool(self.input):
            raise ValueError(f"model and input belong together (got {self.model!r} and {self.input!r})")
        if self.traces and self.model:
            raise ValueError(f"give traces or model, not both (got {self.traces!r} and {self.model!r})")
        if self.gen_length < 1 or self.facts < 0:
            raise ValueError(f"gen_length must be >= 1 and facts >= 0 (got {self.gen_length} and {self.facts})")
        if min(self.val_share, self.test_share) <= 0.0 or self.val_share + self.test_share >= 1.0:
            raise ValueError(
                f"val_share and test_share must be > 0 and leave some to train on (got {self.val_share}, "
                f"{self.test_share})"
            )
        if "tracedet" not in self.methods or len(set(self.methods)) < len(self.methods):
            raise ValueError(f"methods must hold tracedet, and each once (got {self.methods})")


@dataclass(frozen=True)
class ScoreConfig:
    """Score recorded traces with a fitted detector.

    Attributes:
        detector: Folder that a run left as model/; without it a detector is fitted on the tiny model's answers.
        traces: Folder of recorded traces (a TraceStore); without it the tiny model's answers to a few questions.
    """

    detector: str = ""
    traces: str = ""
