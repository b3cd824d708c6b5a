"""The contract of decoders: a model and prompts in, sequences that start with the prompts out. Needs torch."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, ClassVar

import pytest
import torch

from iclr26_core.interfaces import DecodeOutput, Decoder
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb
from iclr26_core.testing.unchanged import changed, weights


class DecoderContract(Contract, sealed=True):
    """Checks a decoder with the author's model and prompts; keep the model tiny and the output short.

    Override ``make`` and ``example``; ``make_greedy`` where ``make`` gives a decoder that samples.

    Attributes:
        pad_token_id: the id that pads shorter prompts on their left, for a decoder that takes padded prompts; what
            ``generate`` does about padding is in its docstring in any case
    """

    pad_token_id: ClassVar[int | None] = None

    def make(self) -> Decoder:
        """Return a new decoder as it is meant to be used, set to add a few tokens."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def make_greedy(self) -> Decoder:
        """Return a new decoder that draws nothing at random (temperature 0), so that a row does not see its batch."""
        return self.make()

    def example(self) -> tuple[torch.nn.Module, torch.Tensor]:
        """Return a model and (B, P) int64 prompts, B >= 2, P >= 2, all different; the same ones at every call."""
        raise NotImplementedError(f"{type(self).__name__} must define example(self)")

    def test_output_holds_sequences_and_passes(self) -> None:
        model, inputs = self.example()
        output = self._generate(self.make(), model, inputs)
        sequences, passes = output.sequences, output.passes
        self.check(isinstance(sequences, torch.Tensor), f"sequences must be a tensor (got {type(sequences).__name__})")
        self.check(not sequences.is_floating_point(), f"sequences must be integers (got {sequences.dtype})")
        rows, length = inputs.shape
        fits = sequences.dim() == 2 and sequences.shape[0] == rows and sequences.shape[1] > length
        self.check(fits, f"sequences must have shape ({rows}, more than {length}) (got {tuple(sequences.shape)})")
        self.check(isinstance(passes, int) and passes > 0, f"passes must be a positive int (got {passes!r})")

    def test_passes_are_the_calls_of_the_model(self) -> None:
        model, inputs = self.example()
        calls: list[None] = []
        with model.register_forward_pre_hook(lambda *_: calls.append(None)):
            passes = self._generate(self.make(), model, inputs).passes
        self.check(passes == len(calls), f"passes is {passes}, and the model was called {len(calls)} times")

    def test_prompts_stay_at_the_front(self) -> None:
        model, inputs = self.example()
        sequences = self._generate(self.make(), model, inputs).sequences
        self.check(torch.equal(sequences[:, : inputs.shape[1]], inputs), "the sequences do not start with the prompts")

    def test_same_generator_state_gives_the_same_tokens(self) -> None:
        model, inputs = self.example()
        self._check_equal(
            self._sampled(model, inputs), self._sampled(model, inputs), "one generator state, two outputs"
        )

    def test_only_the_given_generator_is_used(self) -> None:
        model, inputs = self.example()
        disturb(1)
        first = self._sampled(model, inputs)
        disturb(2)
        state = torch.get_rng_state()
        self._check_equal(first, self._sampled(model, inputs), "the tokens depend on torch's global random state")
        self.check(torch.equal(state, torch.get_rng_state()), "generate moved torch's global random state")

    def test_second_call_does_not_remember_the_first(self) -> None:
        model, inputs = self.example()
        decoder = self.make()
        self._generate(decoder, model, inputs[:1, :-1])
        again = self._generate(decoder, model, inputs).sequences
        self._check_equal(again, self._sampled(model, inputs), "a used decoder decodes differently from a new one")

    def test_batch_equals_each_prompt_alone(self) -> None:
        model, inputs = self.example()
        together = self._generate(self.make_greedy(), model, inputs).sequences
        for row, prompt in zip(together, inputs, strict=True):
            alone = self._generate(self.make_greedy(), model, prompt[None]).sequences[0]
            same = torch.equal(row[: len(alone)], alone[: len(row)])
            self.check(same, f"prompt {prompt.tolist()} gives {alone.tolist()} alone, {row.tolist()} in a batch")

    def test_generate_says_what_padding_does(self) -> None:
        says = getattr(self.make().generate, "__doc__", None) or ""
        self.check("pad" in says.lower(), "the docstring of generate must say what becomes of padded prompts")

    def test_left_padding_does_not_matter(self) -> None:
        if self.pad_token_id is None:
            pytest.skip("pad_token_id is not set: this decoder takes prompts of one length")
        model, inputs = self.example()
        padded = torch.nn.functional.pad(inputs, (2, 0), value=self.pad_token_id)
        plain = self._generate(self.make_greedy(), model, inputs).sequences
        shifted = self._generate(self.make_greedy(), model, padded).sequences[:, 2:]
        self._check_equal(shifted, plain, "prompts with two pads on their left decode differently")

    def test_model_and_prompts_are_not_changed(self) -> None:
        model, inputs = self.example()
        before, prompts, training = weights(model), inputs.clone(), model.training
        sequences = self._generate(self.make(), model, inputs).sequences
        sequences.zero_()
        self.check(torch.equal(inputs, prompts), "generate changed the prompts, or returned them as its own memory")
        self.check(not changed(before, model), f"generate changed the model's {changed(before, model)}")
        self.check(model.training == training, "generate left the model in another mode than it was")

    def test_wrong_prompts_are_refused(self) -> None:
        model, inputs = self.example()
        wrong = {
            "a prompt without a batch axis": inputs[0],
            "an empty batch": inputs[:0],
            "prompts of floats": inputs.double(),
            "prompts of NaN": torch.full(inputs.shape, torch.nan),
            "a negative token id": torch.full_like(inputs, -1),
        }
        for what, prompts in wrong.items():
            self.check_refused(partial(self._generate, self.make(), model, prompts), ValueError, what)

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        device = require_gpu()
        model, inputs = self.example()
        here = self._generate(self.make_greedy(), copy.deepcopy(model), inputs).sequences
        there = self._generate(self.make_greedy(), model.to(device), inputs.to(device)).sequences
        self.check(there.device.type == device, f"sequences must be where the prompts are (got {there.device})")
        self._check_equal(there.cpu(), here, "GPU and CPU decode different tokens")

    def _generate(self, decoder: Decoder, model: torch.nn.Module, inputs: torch.Tensor) -> DecodeOutput:
        generator = torch.Generator(inputs.device).manual_seed(0)
        return decoder.generate(model, inputs, generator=generator)

    def _sampled(self, model: torch.nn.Module, inputs: torch.Tensor) -> Any:
        return self._generate(self.make(), model, inputs).sequences

    def _check_equal(self, here: torch.Tensor, there: torch.Tensor, otherwise: str) -> None:
        same = torch.equal(here, there)
        self.check(same, otherwise if same else f"{otherwise}: {here.tolist()}, {there.tolist()}")
