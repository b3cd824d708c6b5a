"""Human-MME: the human-centric benchmark for multimodal models as a resumable evaluation harness (ICLR 2026).

Names are imported when they are first used, so that importing the package loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import pip_people
    from .baselines import BlindChat, ConstantChat, OracleChat, RandomChat
    from .data.prompts import Prompts, prompt_set
    from .data.question import Question, normalise_key
    from .data.validate import Problem, validate_folder
    from .exchange.bridges import export_batch, export_lmms_task, export_vlmevalkit
    from .exchange.official import export_official, import_official
    from .human_mme import HumanMME, best_format_iou, judgment_f1, ranking_scores, roll_up
    from .running.api import OpenAIVisionChat
    from .running.chat import CallableVisionChat, ReplayChat, Reply, VisionChat
    from .running.hf import HFVisionChat
    from .running.inference import RunInfo, run
    from .running.responses import Response, read_responses
    from .scoring.leaderboard import leaderboard, published
    from .scoring.parsing import parse
    from .scoring.scores import Scores, score
    from .scoring.text import BertScorer, MiniLMEncoder, NullBert, Scorers

_HOMES = {
    "BertScorer": "scoring.text",
    "BlindChat": "baselines",
    "CallableVisionChat": "running.chat",
    "ConstantChat": "baselines",
    "HFVisionChat": "running.hf",
    "HumanMME": "human_mme",
    "MiniLMEncoder": "scoring.text",
    "NullBert": "scoring.text",
    "OpenAIVisionChat": "running.api",
    "OracleChat": "baselines",
    "Problem": "data.validate",
    "Prompts": "data.prompts",
    "Question": "data.question",
    "RandomChat": "baselines",
    "ReplayChat": "running.chat",
    "Reply": "running.chat",
    "Response": "running.responses",
    "RunInfo": "running.inference",
    "Scorers": "scoring.text",
    "Scores": "scoring.scores",
    "VisionChat": "running.chat",
    "best_format_iou": "human_mme",
    "export_batch": "exchange.bridges",
    "export_lmms_task": "exchange.bridges",
    "export_official": "exchange.official",
    "export_vlmevalkit": "exchange.bridges",
    "import_official": "exchange.official",
    "judgment_f1": "human_mme",
    "leaderboard": "scoring.leaderboard",
    "normalise_key": "data.question",
    "parse": "scoring.parsing",
    "prompt_set": "data.prompts",
    "published": "scoring.leaderboard",
    "ranking_scores": "human_mme",
    "read_responses": "running.responses",
    "roll_up": "human_mme",
    "run": "running.inference",
    "score": "scoring.scores",
    "validate_folder": "data.validate",
}

__all__ = [*sorted(_HOMES), "pip_people"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name == "pip_people":
        return import_module(".pip_people", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
