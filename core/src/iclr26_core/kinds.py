"""The eleven kinds of methods, and the metrics by which methods of one kind are compared."""

from __future__ import annotations

from dataclasses import dataclass

from iclr26_core import interfaces


@dataclass(frozen=True)
class Metric:
    """A metric that the methods of a kind share: its name, unit and which direction is better."""

    name: str
    unit: str
    higher_is_better: bool


@dataclass(frozen=True)
class Kind:
    """A kind of method: the Protocol that its target fulfils, one line of prose, and the shared metrics."""

    protocol: type
    summary: str
    metrics: tuple[Metric, ...]


KINDS: dict[str, Kind] = {
    "detector": Kind(
        interfaces.Detector,
        "scores examples by how likely they are hallucinated or ungrounded",
        (Metric("auroc", "1", True), Metric("auprc", "1", True), Metric("seconds_per_example", "s", False)),
    ),
    "decoder": Kind(
        interfaces.Decoder,
        "turns a language model and prompts into sequences",
        (Metric("accuracy", "1", True), Metric("passes", "1", False), Metric("tokens_per_second", "1/s", True)),
    ),
    "optimizer": Kind(
        interfaces.Optimizer,
        "minimises a loss over tensors",
        (Metric("final_loss", "1", False), Metric("seconds_per_step", "s", False)),
    ),
    "potential": Kind(
        interfaces.Potential,
        "gives energies, forces and stress of atoms",
        (
            Metric("energy_error", "eV/atom", False),
            Metric("force_error", "eV/Å", False),
            Metric("seconds_per_atom", "s", False),
        ),
    ),
    "benchmark": Kind(
        interfaces.Benchmark,
        "holds examples and scores predictions on them",
        (Metric("score", "1", True), Metric("coverage", "1", True)),
    ),
    "objective": Kind(
        interfaces.Objective,
        "turns a model and a batch into a loss",
        (Metric("validation_metric", "1", True), Metric("seconds_per_step", "s", False)),
    ),
    "generator": Kind(
        interfaces.Generator,
        "learns a distribution from data and samples from it",
        (Metric("energy_distance", "1", False), Metric("seconds_per_sample", "s", False)),
    ),
    "estimator": Kind(
        interfaces.Estimator,
        "fits data as a scikit-learn estimator does",
        (Metric("score", "1", True), Metric("fit_seconds", "s", False)),
    ),
    "agent": Kind(
        interfaces.Agent,
        "learns to act in an environment",
        (Metric("mean_return", "1", True), Metric("steps_per_second", "1/s", True)),
    ),
    "architecture": Kind(
        interfaces.Architecture,
        "changes the structure of a transformers model",
        (Metric("validation_loss", "nat", False), Metric("cache_bytes_per_token", "B", False)),
    ),
    "editor": Kind(
        interfaces.Editor,
        "changes what a model knows, and can take it back",
        (Metric("efficacy", "1", True), Metric("generality", "1", True), Metric("locality", "1", True)),
    ),
}
