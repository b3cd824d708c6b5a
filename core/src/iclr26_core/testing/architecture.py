# mypy: disable-error-code="no-untyped-call"
"""The contract of architectures: a causal language model that transformers takes for its own. Needs transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from iclr26_core.interfaces import Architecture
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb
from iclr26_core.testing.unchanged import changed, weights

NEW = 6


class ArchitectureContract(Contract, sealed=True):
    """Checks what ``convert`` makes of a small model: registration, saving, caching, padding, gradients.

    Override ``make``, and ``example`` for another family than Llama.

    Attributes:
        tolerance: how far logits may move, absolutely, where nothing but the order of sums differs
    """

    tolerance: ClassVar[float] = 1e-4

    def make(self) -> Architecture:
        """Return the architecture: ``config_class``, ``model_class`` and ``convert``."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def example(self) -> Any:
        """Return a new small model in eval mode that ``convert`` takes, always with the same weights."""
        torch.manual_seed(0)
        sizes: Any = {"hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, "num_key_value_heads": 2}
        return LlamaForCausalLM(LlamaConfig(vocab_size=64, num_hidden_layers=4, pad_token_id=0, **sizes)).eval()

    def test_convert_gives_the_model_class(self) -> None:
        architecture, model = self.make(), self._converted()
        self.check(type(model) is architecture.model_class, f"convert gave a {type(model).__name__}")
        self.check(type(model.config) is architecture.config_class, f"its config is a {type(model.config).__name__}")
        given, own = self.example().config.model_type, architecture.config_class.model_type
        self.check(own and own != given, f"config_class.model_type must be a name of its own (got {own!r})")

    def test_auto_classes_know_it(self) -> None:
        architecture, config = self.make(), self._converted().config
        known = type(AutoConfig.for_model(config.model_type))  # raises ValueError for one that is not registered
        self.check(known is architecture.config_class, f"AutoConfig gives {known}: register the config class")
        built = type(AutoModelForCausalLM.from_config(config))
        self.check(built is architecture.model_class, f"AutoModelForCausalLM gives {built}: register the model class")

    def test_saved_model_is_loaded_to_the_bit(self, tmp_path: Path) -> None:
        model = self._converted()
        model.save_pretrained(tmp_path)
        auto: Any = AutoModelForCausalLM
        for load in (self.make().model_class, auto):
            loaded, report = load.from_pretrained(tmp_path, output_loading_info=True)
            lost = {name: sorted(report[name]) for name in ("missing_keys", "unexpected_keys") if report[name]}
            self.check(not lost, f"{load.__name__}.from_pretrained reports {lost}")
            self.check(not changed(weights(model), loaded), f"saving changed {changed(weights(model), loaded)}")
            self.check(torch.equal(self._logits(loaded), self._logits(model)), "the loaded model has other logits")

    def test_convert_is_deterministic(self) -> None:
        source = self.example()
        disturb(1)
        first = weights(self.make().convert(source))
        disturb(2)
        self.check(not changed(first, self.make().convert(source)), "two conversions of one model differ")

    def test_convert_leaves_the_model_as_it_was(self) -> None:
        source = self.example()
        before, config = weights(source), source.config.to_dict()
        converted = self.make().convert(source)
        self.check(source.config.to_dict() == config, "convert changed the config of the model it was given")
        for parameter in converted.parameters():
            parameter.data.zero_()
        self.check(not changed(before, source), f"the new model shares or changed {changed(before, source)[:3]}")

    def test_convert_keeps_dtype(self) -> None:
        converted = self.make().convert(self.example().double())
        self.check(converted.dtype == torch.float64, f"a float64 model became {converted.dtype}")

    def test_unknown_family_is_refused(self) -> None:
        self.check_refused(lambda: self.make().convert(torch.nn.Linear(2, 2)), TypeError, "a model of no known family")

    def test_logits_have_their_shape(self) -> None:
        tokens, logits = self._tokens(), self._logits(self._converted())
        shape = (*tokens.shape, self.example().config.vocab_size)
        right = logits.shape == shape and logits.isfinite().all()
        self.check(right, f"logits must be finite, of shape {shape} (got {tuple(logits.shape)})")

    def test_later_tokens_do_not_matter(self) -> None:
        model, tokens = self._converted(), self._tokens()
        other = tokens.clone()
        other[:, -1] = 0  # a token that the others are not
        here, there = self._logits(model, tokens)[:, :-1], self._logits(model, other)[:, :-1]
        self._check_close(here, there, "another last token: earlier logits")

    def test_generate_with_cache_equals_without(self) -> None:
        model, lengths = self._converted(), list[int]()
        with model.get_input_embeddings().register_forward_pre_hook(lambda _, ids: lengths.append(ids[0].shape[1])):
            cached = self._generated(model, use_cache=True)
        self.check(torch.equal(cached, self._generated(model, use_cache=False)), "with a cache greedy tokens differ")
        self.check(lengths[1:] == [1] * (NEW - 1), f"with a cache a step must embed one token (embedded {lengths})")

    def test_batch_and_left_padding_do_not_matter(self) -> None:
        model, tokens = self._converted(), self._tokens()
        together = self._logits(model, tokens)
        alone = torch.cat([self._logits(model, row[None]) for row in tokens])
        self._check_close(together, alone, "one row at a time: logits")
        padded, mask = (torch.nn.functional.pad(each, (3, 0)) for each in (tokens, torch.ones_like(tokens)))
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        shifted = self._logits(model, padded, attention_mask=mask, position_ids=positions)[:, 3:]
        self._check_close(together, shifted, "three masked tokens on the left: logits")

    def test_loss_has_a_gradient_everywhere(self) -> None:
        model, tokens = self._converted().train(), self._tokens()
        loss = model(tokens, labels=tokens).loss
        self.check(loss.isfinite(), f"the loss must be finite (got {loss})")
        loss.backward()
        missed = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
        self.check(not missed, f"no gradient reaches {missed}")

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        device, model, tokens = require_gpu(), self._converted(), self._tokens()
        here = self._logits(model, tokens)
        self._check_close(here, self._logits(model.to(device), tokens.to(device)).cpu(), "GPU and CPU: logits")

    def _converted(self) -> Any:
        return self.make().convert(self.example()).eval()

    def _tokens(self) -> torch.Tensor:
        return torch.randint(1, self.example().config.vocab_size, (3, 7), generator=torch.Generator().manual_seed(1))

    @torch.no_grad()
    def _logits(self, model: Any, tokens: torch.Tensor | None = None, **given: Any) -> Any:
        return model(self._tokens() if tokens is None else tokens, **given).logits

    def _generated(self, model: Any, *, use_cache: bool) -> Any:
        given = {"attention_mask": torch.ones_like(self._tokens()), "use_cache": use_cache, "do_sample": False}
        return model.generate(self._tokens(), max_new_tokens=NEW, min_new_tokens=NEW, **given)

    def _check_close(self, here: torch.Tensor, there: torch.Tensor, what: str) -> None:
        self.check((here - there).abs().max() <= self.tolerance, f"{what} differ by {(here - there).abs().max()}")
