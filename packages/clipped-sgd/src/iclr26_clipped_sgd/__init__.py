"""Clipped SGD with last-iterate, high-probability guarantees under heavy-tailed gradient noise (ICLR 2026).

Names are loaded on first use, so importing the package loads neither torch nor numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iclr26_clipped_sgd.averaging import WeightedAverage
    from iclr26_clipped_sgd.baselines import AdamTrial, ClippedTrial, NormalisedSGD, NormalisedTrial, SGDTrial
    from iclr26_clipped_sgd.clipped_sgd import ClippedSGD, StepInfo
    from iclr26_clipped_sgd.schedules.practical import ConstantSchedule, PowerSchedule
    from iclr26_clipped_sgd.schedules.schedule import AnytimeSchedule, ExpectationSchedule, HorizonSchedule
    from iclr26_clipped_sgd.schedules.tabulated import ClipSchedule, schedule_arguments
    from iclr26_clipped_sgd.simulation.problems import (
        ExpectedLogistic,
        FiniteSumLogistic,
        Logistic,
        Problem,
        Quadratic,
        breast_cancer_logistic,
        csv_logistic,
    )
    from iclr26_clipped_sgd.simulation.smoothness import estimate_smoothness, logistic_smoothness
    from iclr26_clipped_sgd.simulation.trials import TrialResult, merge_trials, run_trials, select_method
    from iclr26_clipped_sgd.tails.noise import Gaussian, NoiseModel, Pareto, StudentT, SymmetricStable, sigma_for
    from iclr26_clipped_sgd.tails.noise_samples import GradientNoise, gradient_noise
    from iclr26_clipped_sgd.tails.tail import (
        HillPath,
        TailEstimate,
        estimate_sigma,
        hill,
        hill_double_bootstrap,
        hill_path,
        minibatch_sigma,
        stable_index,
    )
    from iclr26_clipped_sgd.trainer import check_trainer_args

_HOMES = {
    "AdamTrial": "baselines",
    "AnytimeSchedule": "schedules.schedule",
    "ClipSchedule": "schedules.tabulated",
    "ClippedSGD": "clipped_sgd",
    "ClippedTrial": "baselines",
    "ConstantSchedule": "schedules.practical",
    "ExpectationSchedule": "schedules.schedule",
    "ExpectedLogistic": "simulation.problems",
    "FiniteSumLogistic": "simulation.problems",
    "Gaussian": "tails.noise",
    "GradientNoise": "tails.noise_samples",
    "HillPath": "tails.tail",
    "HorizonSchedule": "schedules.schedule",
    "Logistic": "simulation.problems",
    "NoiseModel": "tails.noise",
    "NormalisedSGD": "baselines",
    "NormalisedTrial": "baselines",
    "Pareto": "tails.noise",
    "PowerSchedule": "schedules.practical",
    "Problem": "simulation.problems",
    "Quadratic": "simulation.problems",
    "SGDTrial": "baselines",
    "StepInfo": "clipped_sgd",
    "StudentT": "tails.noise",
    "SymmetricStable": "tails.noise",
    "TailEstimate": "tails.tail",
    "TrialResult": "simulation.trials",
    "WeightedAverage": "averaging",
    "breast_cancer_logistic": "simulation.problems",
    "check_trainer_args": "trainer",
    "csv_logistic": "simulation.problems",
    "estimate_sigma": "tails.tail",
    "estimate_smoothness": "simulation.smoothness",
    "gradient_noise": "tails.noise_samples",
    "hill": "tails.tail",
    "hill_double_bootstrap": "tails.tail",
    "hill_path": "tails.tail",
    "logistic_smoothness": "simulation.smoothness",
    "merge_trials": "simulation.trials",
    "minibatch_sigma": "tails.tail",
    "run_trials": "simulation.trials",
    "schedule_arguments": "schedules.tabulated",
    "select_method": "simulation.trials",
    "sigma_for": "tails.noise",
    "stable_index": "tails.tail",
}

__all__ = [
    "AdamTrial",
    "AnytimeSchedule",
    "ClipSchedule",
    "ClippedSGD",
    "ClippedTrial",
    "ConstantSchedule",
    "ExpectationSchedule",
    "ExpectedLogistic",
    "FiniteSumLogistic",
    "Gaussian",
    "GradientNoise",
    "HillPath",
    "HorizonSchedule",
    "Logistic",
    "NoiseModel",
    "NormalisedSGD",
    "NormalisedTrial",
    "Pareto",
    "PowerSchedule",
    "Problem",
    "Quadratic",
    "SGDTrial",
    "StepInfo",
    "StudentT",
    "SymmetricStable",
    "TailEstimate",
    "TrialResult",
    "WeightedAverage",
    "breast_cancer_logistic",
    "check_trainer_args",
    "csv_logistic",
    "estimate_sigma",
    "estimate_smoothness",
    "gradient_noise",
    "hill",
    "hill_double_bootstrap",
    "hill_path",
    "logistic_smoothness",
    "merge_trials",
    "minibatch_sigma",
    "run_trials",
    "schedule_arguments",
    "select_method",
    "sigma_for",
    "stable_index",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
