"""A picture of what a detector looked at: entropies of a trace above, weights of its passes below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def draw_weights(
    figure: Any, groups: Sequence[tuple[str, ArrayLike, ArrayLike]], *, weight_name: str = "weight of the pass"
) -> None:
    """Draw one column per group: mean entropy by pass and position, and mean weight by pass with its spread.

    Args:
        figure: a matplotlib ``Figure``
        groups: (title, entropies (N, T, D), weights (N, T)) of each group of traces, e.g. faithful and hallucinated
        weight_name: label of the lower axis
    """
    arrays = [(title, np.asarray(entropy), np.asarray(weights)) for title, entropy, weights in groups]
    top = max(float(entropy.mean(0).max()) for _, entropy, _ in arrays)
    axes: NDArray[Any] = figure.subplots(2, len(arrays), squeeze=False, height_ratios=(2, 1), sharey="row")
    for column, (title, entropy, weights) in enumerate(arrays):
        image = axes[0, column].imshow(entropy.mean(0).T, aspect="auto", vmin=0.0, vmax=top, cmap="viridis")
        axes[0, column].set_title(f"{title} ({len(entropy)})")
        passes = np.arange(weights.shape[1])
        axes[1, column].bar(passes, weights.mean(0), yerr=weights.std(0), color="C0", ecolor="0.6")
        axes[1, column].set_xlabel("denoising pass")
    axes[0, 0].set_ylabel("canvas position")
    axes[1, 0].set_ylabel(weight_name)
    figure.colorbar(image, ax=list(axes[0]), label="mean entropy, nats")
