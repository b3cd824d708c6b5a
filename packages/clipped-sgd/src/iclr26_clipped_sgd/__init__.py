"""Clipped SGD with last-iterate, high-probability guarantees under heavy-tailed gradient noise (ICLR 2026).

Names are loaded on first use, so importing the package loads neither torch nor numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .averaging import WeightedAverage
    from .baselines import AdamTrial, ClippedTrial, NormalisedSGD, NormalisedTrial, SGDTrial
    from .clipped_sgd import ClippedSGD, StepInfo
    from .noise import Gaussian, NoiseModel, Pareto, StudentT, SymmetricStable, sigma_for
    from .noise_samples import GradientNoise, gradient_noise
    from .practical import ConstantSchedule, PowerSchedule
    from .problems import (
        ExpectedLogistic,
        FiniteSumLogistic,
        Logistic,
        Problem,
        Quadratic,
        breast_cancer_logistic,
        csv_logistic,
    )
    from .schedule import AnytimeSchedule, ExpectationSchedule, HorizonSchedule
    from .smoothness import estimate_smoothness, logistic_smoothness
    from .tabulated import ClipSchedule, schedule_arguments
    from .tail import (
        HillPath,
        TailEstimate,
        estimate_sigma,
        hill,
        hill_double_bootstrap,
        hill_path,
        minibatch_sigma,
        stable_index,
    )
    from .trainer import check_trainer_args
    from .trials import TrialResult, merge_trials, run_trials, select_method

_HOMES = {
    "AdamTrial": "baselines",
    "AnytimeSchedule": "schedule",
    "ClipSchedule": "tabulated",
    "ClippedSGD": "clipped_sgd",
    "ClippedTrial": "baselines",
    "ConstantSchedule": "practical",
    "ExpectationSchedule": "schedule",
    "ExpectedLogistic": "problems",
    "FiniteSumLogistic": "problems",
    "Gaussian": "noise",
    "GradientNoise": "noise_samples",
    "HillPath": "tail",
    "HorizonSchedule": "schedule",
    "Logistic": "problems",
    "NoiseModel": "noise",
    "NormalisedSGD": "baselines",
    "NormalisedTrial": "baselines",
    "Pareto": "noise",
    "PowerSchedule": "practical",
    "Problem": "problems",
    "Quadratic": "problems",
    "SGDTrial": "baselines",
    "StepInfo": "clipped_sgd",
    "StudentT": "noise",
    "SymmetricStable": "noise",
    "TailEstimate": "tail",
    "TrialResult": "trials",
    "WeightedAverage": "averaging",
    "breast_cancer_logistic": "problems",
    "check_trainer_args": "trainer",
    "csv_logistic": "problems",
    "estimate_sigma": "tail",
    "estimate_smoothness": "smoothness",
    "gradient_noise": "noise_samples",
    "hill": "tail",
    "hill_double_bootstrap": "tail",
    "hill_path": "tail",
    "logistic_smoothness": "smoothness",
    "merge_trials": "trials",
    "minibatch_sigma": "tail",
    "run_trials": "trials",
    "schedule_arguments": "tabulated",
    "select_method": "trials",
    "sigma_for": "noise",
    "stable_index": "tail",
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
