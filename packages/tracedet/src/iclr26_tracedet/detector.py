"""The detector of the paper: ``fit`` on traces, ``score`` others, ``explain`` which passes the score rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .inputs import Layout, Traces
from .network_detector import NetworkDetector, Normalize
from .tracedet import Pool, TraceClassifier, Variant, embedding_spread, step_weights
from .training import Training

WIDE_CANVAS = 64  # above it the authors double feed-forward width and time embedding (code)


class TraceDetDetector(NetworkDetector):
    """Detects hallucinated answers of a diffusion language model from the entropies of its denoising passes.

    >>> rng = np.random.default_rng(0)
    >>> traces, labels = rng.random((120, 6, 4)), np.arange(120) % 2
    >>> traces[labels == 1] += 1.0
    >>> import warnings; warnings.simplefilter("ignore")
    >>> detector = TraceDetDetector(epochs=10, lr=3e-3, device="cpu").fit(traces, labels)
    >>> bool(detector.score(traces)[labels == 1].min() > detector.score(traces)[labels == 0].max())
    True

    Args:
        variant: ``"reference"``, what the authors' code does, or ``"paper"``, what the paper writes
        encoder_residual: standard encoder layers, with the residual that the authors left out
        canvas: D, where canvases differ in length; shorter ones are padded
        layers: of the encoder
        ff: feed-forward width; None is 8 for D <= 64, else 16
        time_dim: q; None is 8 for D <= 64, else 16
        dropout: of the encoder
        beta, tau, temperature: of the paper variant: weight of the KL, prior keep rate, Gumbel temperature
        pool: of the paper variant: ``"mean"`` over all passes, or ``"selected"`` over the kept ones
        lam, gamma: of the reference variant: weight of the L2 norm of p and of its variation
        lr, weight_decay, batch_size, epochs, patience: of the training
        normalize: ``"none"`` as the authors, ``"log1p"``, or ``"zscore"`` per channel by the training set
        features: of ``FEATURES``; beyond ``entropy`` they are ours
        soft_labels: accept labels in [0, 1]
        vocabulary: V, to refuse entropies above log V
        seed: of weights, order and dropout
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` …
    """

    settings: ClassVar[tuple[str, ...]] = (
        *NetworkDetector.settings,
        *("variant", "encoder_residual", "layers", "ff", "time_dim", "dropout", "beta", "tau", "temperature", "pool"),
        *("lam", "gamma"),
    )

    def __init__(
        self,
        *,
        variant: Variant = "reference",
        encoder_residual: bool = False,
        canvas: int | None = None,
        layers: int = 3,
        ff: int | None = None,
        time_dim: int | None = None,
        dropout: float = 0.2,
        beta: float = 1.0,
        tau: float = 0.25,
        temperature: float = 1.0,
        pool: Pool = "mean",
        lam: float = 0.1,
        gamma: float = 0.0,
        lr: float = 2e-4,
        weight_decay: float = 0.1,
        batch_size: int = 64,
        epochs: int = 100,
        patience: int = 20,
        normalize: Normalize = "none",
        features: Sequence[str] = ("entropy",),
        soft_labels: bool = False,
        vocabulary: int | None = None,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        training = Training(
            lr=lr, weight_decay=weight_decay, batch_size=batch_size, epochs=epochs, patience=patience, seed=seed
        )
        super().__init__(
            canvas=canvas,
            features=features,
            normalize=normalize,
            soft_labels=soft_labels,
            vocabulary=vocabulary,
            training=training,
            device=device,
        )
        if variant not in ("reference", "paper") or pool not in ("mean", "selected"):
            raise ValueError(f"variant must be reference or paper, pool mean or selected (got {variant!r}, {pool!r})")
        if not (0.0 < tau < 1.0 and beta >= 0.0 and lam >= 0.0 and gamma >= 0.0 and temperature > 0.0):
            raise ValueError(f"tau must be in (0, 1), temperature > 0, beta, lam, gamma >= 0 "
                             f"(got {tau}, {temperature}, {beta}, {lam}, {gamma})")  # fmt: skip
        if layers < 1 or not 0.0 <= dropout < 1.0:
            raise ValueError(f"layers must be >= 1 and dropout in [0, 1) (got {layers} and {dropout})")
        self.variant, self.encoder_residual, self.pool = variant, encoder_residual, pool
        self.layers, self.ff, self.time_dim, self.dropout = layers, ff, time_dim, dropout
        self.beta, self.tau, self.temperature, self.lam, self.gamma = beta, tau, temperature, lam, gamma

    def build_network(self, layout: Layout) -> TraceClassifier:
        """Return the untrained network."""
        size = 16 if layout.canvas > WIDE_CANVAS else 8
        return TraceClassifier(
            layout.width,
            steps=layout.steps,
            canvas=layout.canvas,
            variant=self.variant,
            layers=self.layers,
            ff=self.ff or size,
            time_dim=self.time_dim or size,
            dropout=self.dropout,
            encoder_residual=self.encoder_residual,
            pool=self.pool,
            beta=self.beta,
            tau=self.tau,
            temperature=self.temperature,
            lam=self.lam,
            gamma=self.gamma,
        )

    def explain(self, traces: Traces) -> NDArray[np.float64]:
        """Return (N, T) how much each pass counts, 0 at padded passes.

        The paper variant's probabilities of being kept; the reference variant's weights, which sum to 1 per trace,
        because the size of its probabilities means nothing.
        """
        rows = [step_weights(output, self.variant).double().cpu().numpy() for output, _ in self.outputs(traces)]
        longest = max(row.shape[1] for row in rows)
        return np.concatenate([np.pad(row, ((0, 0), (0, longest - row.shape[1]))) for row in rows])

    def diagnostics(self, traces: Traces) -> dict[str, float]:
        """Return ``mean_keep`` (mean p over valid passes) and ``embedding_spread`` (how embeddings differ by pass)."""
        total, count, spread, size = 0.0, 0, 0.0, 0
        for output, lengths in self.outputs(traces):
            total, count = total + float(output.keep.double().sum()), count + int(lengths.sum())
            spread, size = spread + embedding_spread(output.embedded, lengths) * len(lengths), size + len(lengths)
        return {"mean_keep": total / count, "embedding_spread": spread / size}

    @classmethod
    def _training_arguments(cls, training: dict[str, Any]) -> dict[str, Any]:
        return training
