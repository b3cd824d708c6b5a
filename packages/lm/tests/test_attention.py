"""Captured attention equals eager attention; the model's own attention function comes back."""

from itertools import pairwise

import pytest
import torch
from iclr26_lm.attention import _Rows, attention_capture, chunks, entries_bound
from small_models import ARCHITECTURES, bidirectional_model, causal_model, tokens

TOLERANCE = 2e-7
HALF = 2**-11  # float16 keeps 11 bits: a stored value is off by at most this share


def eager_attention(model, ids, mask=None):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return torch.stack(model(input_ids=ids, attention_mask=mask, output_attentions=True).attentions)


def dense(capture, shape):
    """Return (L, B, H, n, n) from what a capture kept."""
    full = torch.zeros(shape)
    for number, layer in capture.layers.items():
        index = [part.long() for part in (layer.batch, layer.head, layer.row, layer.column)]
        full[number][tuple(index)] = layer.value.float()
        diagonal = torch.arange(shape[-1])
        full[number][:, :, diagonal, diagonal] = layer.diagonal.float().transpose(1, 2)
    return full


@pytest.mark.parametrize("name", [*ARCHITECTURES, "gemma2"])
def test_probabilities_equal_eager_attention_before_rounding(name, monkeypatch):
    """Float32 probabilities, caught before they are rounded to float16 for storage."""
    model, ids, seen = causal_model(name), tokens(19), []
    plain = _Rows.__call__
    monkeypatch.setattr(_Rows, "__call__", lambda self, a, b: seen.append(plain(self, a, b)) or seen[-1].clone())
    with torch.no_grad(), attention_capture(model, tau=0.0):
        logits = model(input_ids=ids, use_cache=False).logits
    expected = eager_attention(model, ids)
    torch.testing.assert_close(torch.stack(seen), expected, rtol=0, atol=TOLERANCE)
    with torch.no_grad():
        torch.testing.assert_close(logits, model(input_ids=ids, use_cache=False).logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [*ARCHITECTURES, "gemma2"])
@pytest.mark.parametrize("tau", [0.0, 0.05, 0.3])
def test_kept_entries_are_those_of_eager_attention_from_tau_on(name, tau):
    model, ids = causal_model(name), tokens(19)
    with torch.no_grad(), attention_capture(model, tau=tau) as capture:
        model(input_ids=ids, use_cache=False)
    expected = eager_attention(model, ids)
    diagonal = torch.eye(19, dtype=torch.bool)
    kept = torch.where(diagonal | (expected >= tau), expected, torch.zeros(()))
    torch.testing.assert_close(dense(capture, expected.shape), kept, rtol=HALF, atol=1e-7)
    assert all(bool((layer.column < layer.row).all()) for layer in capture.layers.values())


def test_padded_bidirectional_model_equals_eager():
    model, ids = bidirectional_model(), tokens(15, batch=3)
    mask = torch.ones_like(ids)
    mask[0, 10:] = 0
    mask[2, :4] = 0
    with torch.no_grad(), attention_capture(model, tau=0.0) as capture:
        model(input_ids=ids, attention_mask=mask)
    expected = eager_attention(model, ids, mask)
    torch.testing.assert_close(dense(capture, expected.shape), expected, rtol=HALF, atol=1e-7)


def test_unpadded_bidirectional_model_is_not_taken_for_causal():
    """Without padding the model passes no mask at all; assuming a causal one would be off by far."""
    model, ids = bidirectional_model(), tokens(15)
    with torch.no_grad(), attention_capture(model, tau=0.0) as capture:
        model(input_ids=ids)
    expected = eager_attention(model, ids)
    torch.testing.assert_close(dense(capture, expected.shape), expected, rtol=HALF, atol=1e-7)
    causal = expected.tril() / expected.tril().sum(-1, keepdim=True)
    assert float((causal - expected).abs().max()) > 0.5


def test_soft_capping_changes_the_attention_and_is_captured():
    capped, ids = causal_model("gemma2"), tokens(19)
    expected = eager_attention(capped, ids)
    capped.config.attn_logit_softcapping = None
    for layer in capped.model.layers:
        layer.self_attn.attn_logit_softcapping = None
    assert float((eager_attention(capped, ids) - expected).abs().max()) > 0.01


@pytest.mark.parametrize("name", ["llama-gqa", "gpt2"])
def test_teacher_forcing_equals_stacked_generate(name):
    """One forward over P + G - 1 tokens gives what generate gives row by row (1.5e-8 Llama and GPT-2 measured)."""
    model, prompt = causal_model(name, implementation="eager"), tokens(6)
    output = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=5, do_sample=False, eos_token_id=None,
        pad_token_id=0, output_attentions=True, return_dict_in_generate=True,
    )  # fmt: skip
    forced = eager_attention(model, output.sequences[:, :-1])
    for step, layers in enumerate(output.attentions):
        for number, rows in enumerate(layers):
            last = rows[0, :, -1]
            torch.testing.assert_close(forced[number, 0, :, 5 + step, : last.shape[-1]], last, rtol=0, atol=1e-6)


def test_sliding_window_generate_crops_what_one_forward_does_not():
    """Why capture never stacks generate: rows of a window of 4 come back 4 wide, without their place."""
    model, prompt = causal_model("mistral", implementation="eager"), tokens(8)
    output = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=4, do_sample=False, eos_token_id=None,
        pad_token_id=0, output_attentions=True, return_dict_in_generate=True,
    )  # fmt: skip
    assert output.attentions[-1][0].shape[-1] < output.sequences.shape[1] - 1


def test_the_models_own_attention_comes_back_also_after_an_error():
    model, ids = causal_model("llama-gqa"), tokens(7)
    with torch.no_grad(), attention_capture(model):
        assert model.config._attn_implementation == "iclr26_capture"
        model(input_ids=ids, use_cache=False)
    assert model.config._attn_implementation == "sdpa"
    with pytest.raises(KeyError), attention_capture(model):
        raise KeyError("inside")
    assert model.config._attn_implementation == "sdpa"


def test_nested_captures_and_stray_calls_are_told_apart():
    model, ids = causal_model("llama-gqa"), tokens(7)
    with torch.no_grad(), attention_capture(model) as outer:
        model(input_ids=ids, use_cache=False)
        with attention_capture(model) as inner:
            model(input_ids=ids, use_cache=False)
        assert sorted(inner.layers) == sorted(outer.layers) == [0, 1, 2]
        with pytest.raises(ValueError, match="layer 0 ran twice in one capture"):
            model(input_ids=ids, use_cache=False)
    model.set_attn_implementation("iclr26_capture")
    with pytest.raises(RuntimeError, match="works inside attention_capture"):
        model(input_ids=ids)


def test_attention_sinks_are_refused():
    model, ids = causal_model("llama-gqa"), tokens(7)
    model.model.layers[0].self_attn.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {**kwargs, "s_aux": torch.zeros(4)}), with_kwargs=True
    )
    with pytest.raises(ValueError, match="adds 's_aux' to the softmax"), attention_capture(model):
        model(input_ids=ids, use_cache=False)


def test_attention_that_is_no_number_is_refused():
    model, ids = causal_model("llama-gqa"), tokens(7)
    torch.nn.init.constant_(model.model.layers[0].self_attn.q_proj.weight, float("inf"))
    with pytest.raises(ValueError, match="are not finite"), attention_capture(model):
        model(input_ids=ids, use_cache=False)


def test_a_model_without_the_attention_interface_is_refused():
    class Old(torch.nn.Module):
        config = type("Config", (), {})()

    with pytest.raises(ValueError, match="cannot be read: it does not use transformers' attention interface"):
        attention_capture(Old()).__enter__()


@pytest.mark.parametrize("tau", [-0.1, 1.0, 2.0])
def test_tau_outside_its_range_is_refused(tau):
    with pytest.raises(ValueError, match=r"tau must be in \[0, 1\)"):
        attention_capture(causal_model("llama-gqa"), tau=tau).__enter__()


def test_entries_per_row_and_channel_are_bounded_by_one_over_tau():
    model, ids = causal_model("llama-gqa"), tokens(40)
    with torch.no_grad(), attention_capture(model, tau=0.05) as capture:
        model(input_ids=ids, use_cache=False)
    for layer in capture.layers.values():
        counts = torch.bincount(layer.head.long() * 40 + layer.row.long())
        assert int(counts.max()) <= 20
    assert entries_bound(128, 1024, 1024, 0.05) == 128 * 1024 * 20


def test_chunks_cover_all_rows_within_the_budget():
    query, key = torch.zeros(1, 32, 1024, 8), torch.zeros(1, 8, 1024, 8)
    rows = _Rows(query, key, None, scale=1.0, softcap=None, causal=True)
    parts = chunks(rows, 32 * 2**20)
    assert parts[0][0] == 0
    assert parts[-1][1] == 1024
    assert all(first[1] == second[0] for first, second in pairwise(parts))
    assert max(end - start for start, end in parts) * 32 * 1024 * 5 <= 32 * 2**20


def test_chunked_rows_equal_unchunked_ones():
    model, ids = causal_model("mistral"), tokens(33)
    row_bytes = 4 * 33 * 5
    with torch.no_grad(), attention_capture(model, tau=0.0, probability_bytes=7 * row_bytes) as small:
        model(input_ids=ids, use_cache=False)
    with torch.no_grad(), attention_capture(model, tau=0.0) as whole:
        model(input_ids=ids, use_cache=False)
    shape = (3, 1, 4, 33, 33)
    assert torch.equal(dense(small, shape), dense(whole, shape))


def test_peak_memory_of_one_layer_stays_within_32_mib_of_probabilities():
    """H = 32, n = 1024: the allocator's peak over a capture, less what stays, by torch's own memory events.

    All 1024 rows at once would be 128 MiB. Beside the 32 MiB of probabilities and their test there are the float32
    keys (4 MiB), a chunk of queries and row sums: 8 MiB are allowed for them.
    """
    from iclr26_lm.attention import AttentionCapture, _keep

    query, key = torch.randn(1, 32, 1024, 32), torch.randn(1, 8, 1024, 32)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        rows = _Rows(query, key, None, scale=0.2, softcap=None, causal=True)
        _keep(AttentionCapture(tau=0.05, first_row=895), rows, key, None)
    held = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    assert 16 * 2**20 < peak <= (32 + 8) * 2**20, f"{peak / 2**20:.1f} MiB"
