"""The architectures' contract accepts an architecture and rejects broken ones, each at the test meant for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from iclr26_core.testing import ArchitectureContract
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from verdict import failing, names_of


class ScaledConfig(LlamaConfig):
    """Llama's config for a model with scaled logits."""

    model_type = "scaled-llama"


class ScaledForCausalLM(LlamaForCausalLM):
    """Llama whose logits have a temperature that is learned."""

    config_class = ScaledConfig

    def __init__(self, config: ScaledConfig) -> None:
        super().__init__(config)
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, *args: Any, labels: Any = None, **options: Any) -> Any:
        output = super().forward(*args, **options)
        output.logits = output.logits * self.scale
        if labels is not None:
            output.loss = self.loss_function(output.logits, labels, self.config.vocab_size)
        return output


class ScaledLogits:
    """Gives a Llama model a temperature that is learned."""

    config_class = ScaledConfig
    model_class = ScaledForCausalLM

    def convert(self, model: Any) -> Any:
        if not isinstance(model, LlamaForCausalLM):
            raise TypeError(f"model must be a LlamaForCausalLM (got {type(model).__name__})")
        options = {**model.config.to_dict(), "model_type": self.config_class.model_type, "architectures": None}
        converted = self.model_class(self.config_class(**options)).to(model.dtype)
        converted.load_state_dict({"scale": converted.scale, **model.state_dict()})
        return converted


AutoConfig.register("scaled-llama", ScaledConfig)
AutoModelForCausalLM.register(ScaledConfig, ScaledForCausalLM)


class TestScaledLogits(ArchitectureContract):
    method = "scaled-logits"

    def make(self) -> Any:
        return ScaledLogits()


def variant(**members: Any) -> type[ScaledLogits]:
    """Return an architecture, registered, whose model class has these members."""
    name = f"variant-{len(VARIANTS)}"
    config = type("VariantConfig", (ScaledConfig,), {"model_type": name})
    model = type("VariantForCausalLM", (ScaledForCausalLM,), {"config_class": config, **members})
    AutoConfig.register(name, config)
    AutoModelForCausalLM.register(config, model)
    VARIANTS.append(type("Variant", (ScaledLogits,), {"config_class": config, "model_class": model}))
    return VARIANTS[-1]


VARIANTS: list[type[ScaledLogits]] = []


class GivesItsInput(ScaledLogits):
    def convert(self, model: Any) -> Any:
        super().convert(model)
        return model


class UnregisteredConfig(ScaledConfig):
    model_type = "never-registered"


class UnregisteredForCausalLM(ScaledForCausalLM):
    config_class = UnregisteredConfig


class IsNotRegistered(ScaledLogits):
    config_class = UnregisteredConfig
    model_class = UnregisteredForCausalLM


class StartsAtRandom(ScaledLogits):
    def convert(self, model: Any) -> Any:
        converted = super().convert(model)
        converted.scale.data += torch.rand(())
        return converted


class SharesWeights(ScaledLogits):
    def convert(self, model: Any) -> Any:
        converted = super().convert(model)
        converted.lm_head.weight = model.lm_head.weight
        return converted


class ChangesTheSourcesConfig(ScaledLogits):
    def convert(self, model: Any) -> Any:
        converted = super().convert(model)
        model.config.use_cache = False
        return converted


class ConvertsToSinglePrecision(ScaledLogits):
    def convert(self, model: Any) -> Any:
        return super().convert(model).float()


class TakesAnyModel(ScaledLogits):
    def convert(self, model: Any) -> Any:
        return super().convert(model) if isinstance(model, LlamaForCausalLM) else model


def drop_the_last(self: Any, *args: Any, **options: Any) -> Any:
    output = ScaledForCausalLM.forward(self, *args, **options)
    output.logits = output.logits[..., :-1]
    return output


def look_ahead(self: Any, *args: Any, **options: Any) -> Any:
    output = ScaledForCausalLM.forward(self, *args, **options)
    output.logits = output.logits + 0.01 * output.logits[:, -1:]
    return output


def mix_the_batch(self: Any, *args: Any, **options: Any) -> Any:
    output = ScaledForCausalLM.forward(self, *args, **options)
    output.logits = output.logits + 0.01 * output.logits.mean(dim=0, keepdim=True)
    return output


def ignore_the_mask(self: Any, *args: Any, attention_mask: Any = None, **options: Any) -> Any:
    return ScaledForCausalLM.forward(self, *args, **options)


def ignore_the_cache(self: Any, input_ids: Any, attention_mask: Any = None, labels: Any = None, **_: Any) -> Any:
    return ScaledForCausalLM.forward(self, input_ids, attention_mask=attention_mask, labels=labels)


BROKEN: dict[str, tuple[type[ScaledLogits], set[str]]] = {
    "gives its input": (
        GivesItsInput,
        {
            "test_convert_gives_the_model_class",
            "test_auto_classes_know_it",
            "test_saved_model_is_loaded_to_the_bit",
            "test_convert_leaves_the_model_as_it_was",
        },
    ),
    "is not registered": (IsNotRegistered, {"test_auto_classes_know_it", "test_saved_model_is_loaded_to_the_bit"}),
    "is not saved whole": (variant(_keys_to_ignore_on_save=["scale"]), {"test_saved_model_is_loaded_to_the_bit"}),
    "starts at random": (StartsAtRandom, {"test_convert_is_deterministic"}),
    "shares weights": (SharesWeights, {"test_convert_leaves_the_model_as_it_was"}),
    "changes the source's config": (ChangesTheSourcesConfig, {"test_convert_leaves_the_model_as_it_was"}),
    "converts to float32": (ConvertsToSinglePrecision, {"test_convert_keeps_dtype"}),
    "takes any model": (TakesAnyModel, {"test_unknown_family_is_refused"}),
    "drops a logit": (variant(forward=drop_the_last), {"test_logits_have_their_shape"}),
    "looks ahead": (variant(forward=look_ahead), {"test_later_tokens_do_not_matter"}),
    "mixes the batch": (variant(forward=mix_the_batch), {"test_batch_and_left_padding_do_not_matter"}),
    "ignores the mask": (variant(forward=ignore_the_mask), {"test_batch_and_left_padding_do_not_matter"}),
    "ignores the cache": (variant(forward=ignore_the_cache), {"test_generate_with_cache_equals_without"}),
    "never uses its scale": (variant(forward=LlamaForCausalLM.forward), {"test_loss_has_a_gradient_everywhere"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_architecture_fails_where_it_is_broken(name: str, tmp_path: Path) -> None:
    broken, expected = BROKEN[name]

    class Broken(TestScaledLogits):
        def make(self) -> Any:
            return broken()

    assert failing(Broken, tmp_path).keys() == expected


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*(expected for _, expected in BROKEN.values())) == names_of(ArchitectureContract)
