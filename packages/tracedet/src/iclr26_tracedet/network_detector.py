"""A detector around a network over traces: reads, splits, normalises, trains, scores, saves.

``TraceDetDetector`` and the trained baselines are this with different networks.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from iclr26_core.device import resolve
from numpy.typing import ArrayLike, NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from .inputs import Layout, TraceInputs, Traces, check_features, check_labels, warn_if_passes_differ
from .metrics import detection_metrics
from .splits import grouped_split
from .training import Epoch, Training, batches, predict, train

Normalize = Literal["none", "log1p", "zscore"]
VALIDATION_SHARE = 0.2
FEW = 50  # items per class under which a validation AUROC chooses an epoch by luck
STATISTICS_BATCH = 64


class NetworkDetector:
    """A detector that trains ``build_network()`` on traces.

    Args:
        canvas: D, where canvases differ in length; shorter ones are padded. None takes the traces' own, if all agree
        features: of ``FEATURES``, each D channels
        normalize: ``"none"``, ``"log1p"``, or ``"zscore"`` per channel by the training set
        soft_labels: accept labels in [0, 1], e.g. a judge's probabilities
        vocabulary: V, to refuse entropies above log V
        training: how it is trained
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` …
    """

    settings: ClassVar[tuple[str, ...]] = ("canvas", "features", "normalize", "soft_labels", "vocabulary")

    def __init__(
        self,
        *,
        canvas: int | None = None,
        features: Sequence[str] = ("entropy",),
        normalize: Normalize = "none",
        soft_labels: bool = False,
        vocabulary: int | None = None,
        training: Training | None = None,
        device: str = "auto",
    ) -> None:
        if normalize not in ("none", "log1p", "zscore"):
            raise ValueError(f"normalize must be none, log1p or zscore (got {normalize!r})")
        if canvas is not None and canvas < 1:
            raise ValueError(f"canvas must be >= 1 (got {canvas})")
        self.canvas, self.features, self.normalize = canvas, check_features(features), normalize
        self.soft_labels, self.vocabulary = soft_labels, vocabulary
        self.training, self.device = training or Training(), device
        self.network: Any = None
        self.layout: Layout | None = None
        self.history: list[Epoch] = []

    def build_network(self, layout: Layout) -> nn.Module:
        """Return the untrained network: called with (B, T, W) values and (B,) lengths, it has ``loss``."""
        raise NotImplementedError(f"{type(self).__name__} must define build_network(self, layout)")

    def fit(
        self,
        traces: Traces,
        labels: ArrayLike | None = None,
        *,
        val: tuple[Traces, ArrayLike | None] | None = None,
        groups: Sequence[Any] | None = None,
        checkpoint: Path | None = None,
    ) -> Self:
        """Return self, trained on the traces; the epoch with the best validation AUROC is kept.

        Args:
            traces: a ``TraceStore`` (read batch by batch), a list of ``DenoisingTrace``, or arrays of entropies
            labels: (N,) 1 = hallucinated, 0 = faithful; None takes the traces' own
            val: validation traces and labels; without it a fifth of the groups
            groups: (N,) what must not be on both sides of the split, e.g. the entity asked about
            checkpoint: file that keeps every epoch's state; an interrupted fit goes on from it

        Raises:
            ValueError: traces or labels that cannot be used, or a part with one class only
        """
        inputs = self._inputs(traces)
        truth = check_labels(inputs.labels() if labels is None else labels, len(inputs), soft=self.soft_labels)
        warn_if_passes_differ(inputs.lengths)
        self.layout = self._layout(inputs)
        places = np.arange(len(inputs))
        if val is None:
            chosen, held = self._own_validation(truth, groups)
            places, validation, truth_val = chosen, inputs, truth[held]
        else:
            validation, held = self._inputs(val[0]), np.arange(len(val[0]))
            self._refuse_other_canvas(validation)
            truth_val = check_labels(
                validation.labels() if val[1] is None else val[1], len(held), soft=self.soft_labels
            )
        _warn_if_few(truth_val)
        device = torch.device(resolve(self.device))
        with seeded(self.training.seed, device):
            network: Any = self.build_network(self.layout)
            _normalisation(network, self.layout.width)
            self._measure(network, inputs, places)
            self.network = network.to(device)
            self.history = train(
                self.network,
                self._reader(inputs, places),
                truth[places],
                (self._reader(validation, held), truth_val),
                self.training,
                device=device,
                checkpoint=checkpoint,
            )
        return self

    def score(self, traces: Traces) -> NDArray[np.float64]:
        """Return (N,) probabilities in [0, 1] that the answers are hallucinated.

        Raises:
            RuntimeError: not fitted
            ValueError: no traces, or traces that do not fit
        """
        inputs = self._fitting(traces)
        read = self._reader(inputs, np.arange(len(inputs)))
        return predict(self.network, read, len(inputs), self.training.batch_size, self._device())

    def evaluate(self, traces: Traces, labels: ArrayLike | None = None) -> dict[str, float]:
        """Return auroc, aupr, f1, tpr_at_fpr01, fpr_at_tpr95 and base_rate; see ``detection_metrics``."""
        inputs = self._inputs(traces)
        truth = check_labels(inputs.labels() if labels is None else labels, len(inputs), soft=self.soft_labels)
        return detection_metrics(truth, self.score(traces))

    def outputs(self, traces: Traces) -> Iterator[tuple[Any, Tensor]]:
        """Yield the network's output and the (B,) lengths, batch by batch, without gradient."""
        inputs, device = self._fitting(traces), self._device()
        read = self._reader(inputs, np.arange(len(inputs)))
        self.network.eval()
        for chosen in batches(list(range(len(inputs))), self.training.batch_size):
            values, lengths = read(chosen)
            with torch.no_grad():
                yield self.network(values.to(device), lengths.to(device)), lengths

    def save(self, folder: str | Path) -> None:
        """Write ``model.safetensors`` and ``detector.json``; ``load`` scores bit for bit the same.

        Raises:
            RuntimeError: not fitted
        """
        self._refuse_unfitted()
        assert self.layout is not None
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in self.network.state_dict().items()}
        save_file(state, target / "model.safetensors")
        content = {
            "class": type(self).__name__,
            "settings": {name: getattr(self, name) for name in self.settings},
            "training": dataclasses.asdict(self.training),
            "layout": dataclasses.asdict(self.layout),
            "history": [dataclasses.asdict(epoch) for epoch in self.history],
        }
        (target / "detector.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """Return the detector that ``save`` wrote.

        Raises:
            FileNotFoundError: no detector in the folder
            ValueError: a detector of another class
        """
        path = Path(folder) / "detector.json"
        if not path.is_file():
            raise FileNotFoundError(f"{folder} holds no detector: no detector.json in it")
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["class"] != cls.__name__:
            raise ValueError(f"{folder} must hold a {cls.__name__} (got {content['class']}): load it with that class")
        detector = cls(**content["settings"], **cls._training_arguments(content["training"]), device=device)
        detector.layout = Layout(**content["layout"])
        detector.history = [Epoch(**epoch) for epoch in content["history"]]
        network: Any = detector.build_network(detector.layout)
        _normalisation(network, detector.layout.width)
        network.load_state_dict(load_file(path.with_name("model.safetensors")))
        detector.network = network.eval().to(resolve(device))
        return detector

    @classmethod
    def _training_arguments(cls, training: dict[str, Any]) -> dict[str, Any]:
        return {"training": Training(**training)}

    def _inputs(self, traces: Traces) -> TraceInputs:
        return TraceInputs(traces, features=self.features, vocabulary=self.vocabulary)

    def _layout(self, inputs: TraceInputs) -> Layout:
        found = sorted(inputs.canvases)
        if self.canvas is None and len(found) > 1:
            raise ValueError(f"all traces must have one canvas length (got {found}): pass canvas={found[-1]} to pad")
        canvas = found[-1] if self.canvas is None else self.canvas
        if found[-1] > canvas:
            raise ValueError(f"canvas must be >= the longest trace's, {found[-1]} (got {canvas})")
        return Layout(canvas, int(inputs.lengths.max()), found[0] < canvas, len(self.features))

    def _refuse_other_canvas(self, inputs: TraceInputs) -> None:
        assert self.layout is not None
        wanted, found = self.layout.canvas, sorted(inputs.canvases)
        if found[-1] > wanted or (found[0] < wanted and not self.layout.indicator):
            right = f"at most {wanted}" if self.layout.indicator else f"{wanted}"
            raise ValueError(
                f"canvas length must be {right}, as in fit (got {found}): pass canvas= when fitting to pad"
            )

    def _own_validation(
        self, truth: NDArray[np.float64], groups: Sequence[Any] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return places to train and to validate on: a fifth of the groups, or of each class."""
        if groups is not None and len(groups) != len(truth):
            raise ValueError(f"groups must have {len(truth)} entries, one per trace (got {len(groups)})")
        if groups is None:
            held = _fifth_of_each_class(truth, self.training.seed)
            return np.setdiff1d(np.arange(len(truth)), held), held
        split = grouped_split(groups, val=VALIDATION_SHARE, test=VALIDATION_SHARE, seed=self.training.seed)
        chosen = np.sort(np.concatenate([split.train, split.test]))
        for name, part in (("training", chosen), ("validation", split.val)):
            if len(np.unique(truth[part] > 0.5)) < 2:
                raise ValueError(f"the {name} part of the groups must hold both classes: pass val= or more groups")
        return chosen, split.val

    def _measure(self, network: Any, inputs: TraceInputs, places: NDArray[np.int64]) -> None:
        """Store the mean and standard deviation of every channel over the training set's valid passes."""
        if self.normalize != "zscore":
            return
        assert self.layout is not None
        total = squares = torch.zeros(self.layout.width, dtype=torch.float64)
        count = 0
        for chosen in batches(places.tolist(), STATISTICS_BATCH):
            values, lengths = inputs.batch(chosen, self.layout)
            total, squares = total + values.double().sum((0, 1)), squares + values.double().square().sum((0, 1))
            count += int(lengths.sum())
        mean = total / count  # padded passes are 0 and add nothing
        spread = (squares / count - mean**2).clamp(min=0.0).sqrt()
        network.channel_mean.copy_(mean)
        network.channel_scale.copy_(torch.where(spread > 1e-6, spread, torch.ones_like(spread)))

    def _reader(self, inputs: TraceInputs, places: NDArray[np.int64]) -> Any:
        layout = self.layout
        assert layout is not None

        def read(chosen: list[int]) -> tuple[Tensor, Tensor]:
            values, lengths = inputs.batch([int(places[i]) for i in chosen], layout)
            if self.normalize == "log1p":
                return values.log1p(), lengths
            if self.normalize == "zscore":
                mean, scale = self.network.channel_mean.cpu(), self.network.channel_scale.cpu()
                valid = torch.arange(values.shape[1]) < lengths[:, None]
                return (values - mean) / scale * valid[..., None], lengths
            return values, lengths

        return read

    def _fitting(self, traces: Traces) -> TraceInputs:
        self._refuse_unfitted()
        inputs = self._inputs(traces)
        self._refuse_other_canvas(inputs)
        return inputs

    def _refuse_unfitted(self) -> None:
        if self.network is None:
            raise RuntimeError(f"{type(self).__name__} is not fitted: call fit first")

    def _device(self) -> torch.device:
        return next(self.network.parameters()).device  # type: ignore[no-any-return]


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch for the block and put its state back afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def _normalisation(network: nn.Module, width: int) -> None:
    """Give the network the buffers of its input's normalisation, so that they are saved with it."""
    network.register_buffer("channel_mean", torch.zeros(width))
    network.register_buffer("channel_scale", torch.ones(width))


def _fifth_of_each_class(truth: NDArray[np.float64], seed: int) -> NDArray[np.int64]:
    draw = np.random.default_rng(seed)
    held = []
    for places in (np.flatnonzero(truth > 0.5), np.flatnonzero(truth <= 0.5)):
        if len(places) < 2:
            raise ValueError(f"each class needs at least 2 traces to validate on one (got {len(places)}): pass val=")
        held.append(draw.permutation(places)[: max(1, round(VALIDATION_SHARE * len(places)))])
    return np.sort(np.concatenate(held))


def _warn_if_few(truth: NDArray[np.float64]) -> None:
    positive = int((truth > 0.5).sum())
    fewest = min(positive, len(truth) - positive)
    if fewest < FEW:
        warnings.warn(
            f"the validation set has {fewest} traces of one class; under {FEW} the chosen epoch is partly luck",
            stacklevel=3,
        )
