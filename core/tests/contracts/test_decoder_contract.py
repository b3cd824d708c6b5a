"""The decoders' contract accepts a decoder and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from iclr26_core.testing import DecoderContract
from verdict import failing, names_of

PAD, VOCABULARY = 0, 11


class WordCounts(torch.nn.Module):
    """Predicts a token from the mean embedding of those before it; pads (id 0) have the embedding zero."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(VOCABULARY, 8, padding_idx=PAD)
        self.head = torch.nn.Linear(8, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        counts = (ids != PAD).cumsum(1).clamp(min=1)[..., None]
        return 8 * self.head(self.embedding(ids).cumsum(1) / counts)


@dataclass(frozen=True)
class Decoded:
    sequences: torch.Tensor
    passes: int


class TemperatureDecoder:
    """Adds tokens one by one, drawn at a temperature; 0 takes the likeliest."""

    def __init__(self, *, temperature: float = 1.0, new_tokens: int = 5) -> None:
        self.temperature, self.new_tokens = temperature, new_tokens

    @torch.no_grad()
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: torch.Generator | None = None) -> Decoded:
        """Return the prompts with their continuations; pads on the left of a prompt go to the model as they are."""
        if inputs.dim() != 2 or len(inputs) == 0 or inputs.is_floating_point() or inputs.min() < 0:
            raise ValueError(f"inputs must be token ids >= 0 of shape (B, P) (got {inputs})")
        sequences = inputs
        for _ in range(self.new_tokens):
            token = self._choose(model(sequences)[:, -1], generator)
            sequences = torch.cat([sequences, token], dim=1)
        return Decoded(sequences, self.new_tokens)

    def _choose(self, logits: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
        logits[:, PAD] = -torch.inf
        if self.temperature == 0:
            return logits.argmax(dim=1, keepdim=True)
        return torch.multinomial((logits / self.temperature).softmax(dim=1), 1, generator=generator)


class TestTemperatureDecoder(DecoderContract):
    method = "temperature"
    pad_token_id = PAD

    def make(self) -> Any:
        return TemperatureDecoder()

    def make_greedy(self) -> Any:
        return TemperatureDecoder(temperature=0.0)

    def example(self) -> tuple[torch.nn.Module, torch.Tensor]:
        return WordCounts(), torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 1, 1]])


class GivesFloats(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        output = super().generate(model, inputs, generator=generator)
        return Decoded(output.sequences.float(), output.passes)


class GivesNothingNew(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        output = super().generate(model, inputs, generator=generator)
        return Decoded(output.sequences[:, : inputs.shape[1]].clone(), output.passes)


class CountsNoPasses(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        return Decoded(super().generate(model, inputs, generator=generator).sequences, 1)


class PadsOnTheRight(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        output = super().generate(model, inputs, generator=generator)
        return Decoded(output.sequences.roll(1, dims=1), output.passes)


class UsesGlobalRandomness(TemperatureDecoder):
    def _choose(self, logits: torch.Tensor, generator: Any) -> torch.Tensor:
        return super()._choose(logits, None)


class SeedsTheWorld(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        torch.manual_seed(generator.initial_seed())
        return super().generate(model, inputs)


class RemembersLastCall(TemperatureDecoder):
    used = False

    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        if self.used:
            generator.manual_seed(99)
        self.used = True
        return super().generate(model, inputs, generator=generator)


class AveragesTheBatch(TemperatureDecoder):
    def _choose(self, logits: torch.Tensor, generator: Any) -> torch.Tensor:
        return super()._choose(logits + 3 * logits.mean(dim=0), generator)


class SaysNothingOfPads(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Return sequences."""
        return super().generate(model, inputs, generator=generator)


class ReadsPads(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        output = super().generate(model, inputs.masked_fill(inputs == PAD, 5), generator=generator)
        output.sequences[:, : inputs.shape[1]] = inputs
        return output


class LeavesEvaluationMode(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        model.eval()
        return super().generate(model, inputs, generator=generator)


class TouchesWeights(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        output = super().generate(model, inputs, generator=generator)
        model.head.bias.data += 1e-6
        return output


class WritesIntoPrompts(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        inputs.clamp_(max=9)
        return super().generate(model, inputs, generator=generator)


class TakesAnything(TemperatureDecoder):
    def generate(self, model: Any, inputs: torch.Tensor, *, generator: Any = None) -> Decoded:
        """Pads."""
        if inputs.dim() != 2 or len(inputs) == 0:
            raise ValueError("inputs must have two axes and a row")
        return super().generate(model, inputs.nan_to_num().abs().long(), generator=generator)


BROKEN: dict[type[TemperatureDecoder], set[str]] = {
    GivesFloats: {"test_output_holds_sequences_and_passes"},
    GivesNothingNew: {"test_output_holds_sequences_and_passes"},
    CountsNoPasses: {"test_passes_are_the_calls_of_the_model"},
    PadsOnTheRight: {"test_prompts_stay_at_the_front", "test_left_padding_does_not_matter"},
    UsesGlobalRandomness: {
        "test_same_generator_state_gives_the_same_tokens",
        "test_only_the_given_generator_is_used",
        "test_second_call_does_not_remember_the_first",
    },
    SeedsTheWorld: {"test_only_the_given_generator_is_used"},
    RemembersLastCall: {"test_second_call_does_not_remember_the_first"},
    AveragesTheBatch: {"test_batch_equals_each_prompt_alone"},
    SaysNothingOfPads: {"test_generate_says_what_padding_does"},
    ReadsPads: {"test_left_padding_does_not_matter"},
    LeavesEvaluationMode: {"test_model_and_prompts_are_not_changed"},
    TouchesWeights: {"test_model_and_prompts_are_not_changed"},
    WritesIntoPrompts: {"test_model_and_prompts_are_not_changed"},
    TakesAnything: {"test_wrong_prompts_are_refused"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_decoder_fails_where_it_is_broken(broken: type[TemperatureDecoder], tmp_path: Path) -> None:
    class Broken(TestTemperatureDecoder):
        def make(self) -> Any:
            return broken()

        def make_greedy(self) -> Any:
            return broken(temperature=0.0)

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(DecoderContract)
