"""An ARTrace holds what a plain forward pass with every output kept would give."""

import pytest
import torch
from iclr26_lm import ARTrace, capture, capture_trace
from iclr26_lm.ar_capture import half_precision
from iclr26_lm.recall import VOCABULARY
from iclr26_lm.vocabulary import word_tokenizer
from small_models import ARCHITECTURES, bidirectional_model, causal_model, tokens

P, G = 7, 5
NODES = P + G - 1


def full_pass(model, ids, implementation="eager"):
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        return model(input_ids=ids[None, :-1], output_attentions=True, output_hidden_states=True, use_cache=False)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_rows_edges_and_channels_are_those_of_eager_attention(name):
    model, ids = causal_model(name), tokens(P + G)[0]
    trace = capture_trace(model, ids, P, tau=0.05)
    dense = torch.stack(full_pass(model, ids).attentions)[:, 0].flatten(0, 1)
    assert trace.nodes == NODES
    assert list(trace.response_rows) == list(range(P - 1, NODES))
    expected = torch.zeros_like(dense)
    for channel in range(12):
        for row in range(NODES):
            expected[channel, row, row] = dense[channel, row, row]
            for column in range(row if row >= P - 1 else 0):
                if dense[channel, row, column] >= 0.05:
                    expected[channel, row, column] = dense[channel, row, column]
    torch.testing.assert_close(trace.dense_attention(), expected, rtol=2**-11, atol=1e-7)
    pairs = list(zip(trace.attn_row.tolist(), trace.attn_col.tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert len(set(pairs)) == len(pairs)
    assert bool((trace.attn_indptr.diff() >= 1).all())
    assert int(trace.attn_indptr[-1]) == len(trace.attn_chan) == len(trace.attn_val)


def test_fields_have_the_documented_dtypes():
    trace = capture_trace(causal_model("llama-gqa"), tokens(P + G)[0], P, hidden_layers=[0, 2])
    kinds = {
        "input_ids": torch.int32, "attn_diag": torch.float16, "attn_row": torch.int32, "attn_col": torch.int32,
        "attn_indptr": torch.int64, "attn_chan": torch.uint16, "attn_val": torch.float16,
        "token_logprob": torch.float32, "token_entropy": torch.float32, "topk_ids": torch.int32,
        "topk_logprob": torch.float32,
    }  # fmt: skip
    assert {name: getattr(trace, name).dtype for name in kinds} == kinds
    assert trace.topk_ids.shape == (G, 10)
    assert trace.attn_diag.shape == (NODES, 12)


def test_prompt_rows_are_kept_on_request_only():
    model, ids = causal_model("llama-gqa"), tokens(P + G)[0]
    assert int(capture_trace(model, ids, P, tau=0.0).attn_row.min()) == P - 1
    everything = capture_trace(model, ids, P, tau=0.0, keep_prompt_rows=True)
    assert len(everything.attn_row) == NODES * (NODES - 1) // 2


def test_tau_zero_gives_every_pair_of_a_response_row():
    trace = capture_trace(causal_model("llama-gqa"), tokens(P + G)[0], P, tau=0.0)
    assert len(trace.attn_row) == sum(range(P - 1, NODES))


def test_edges_of_a_larger_tau_are_a_subset_and_the_diagonal_stays():
    model, ids = causal_model("llama-gqa"), tokens(P + G)[0]
    small, large = capture_trace(model, ids, P, tau=0.05), capture_trace(model, ids, P, tau=0.2)
    pairs = [set(zip(t.attn_row.tolist(), t.attn_col.tolist(), strict=True)) for t in (small, large)]
    assert pairs[1] < pairs[0]
    assert torch.equal(small.attn_diag, large.attn_diag)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_token_scalars_equal_a_float64_softmax(name):
    model, ids = causal_model(name), tokens(P + G)[0]
    trace = capture_trace(model, ids, P)
    logprob = full_pass(model, ids, "sdpa").logits[0, P - 1 :].double().log_softmax(-1)
    chosen = logprob[torch.arange(G), ids[P:]]
    torch.testing.assert_close(trace.token_logprob.double(), chosen, rtol=0, atol=1e-5)
    torch.testing.assert_close(trace.token_entropy.double(), -(logprob.exp() * logprob).sum(-1), rtol=0, atol=1e-5)
    top = logprob.topk(10)
    assert torch.equal(trace.topk_ids.long(), top.indices)
    torch.testing.assert_close(trace.topk_logprob.double(), top.values, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_hidden_states_equal_transformers_and_the_last_is_before_the_final_norm(name):
    """transformers' last entry is after the final norm; ours is the block's output, of which theirs is the norm."""
    model, ids = causal_model(name), tokens(P + G)[0]
    hidden = capture_trace(model, ids, P, hidden_layers=[0, 1, 2, 3]).hidden
    expected = full_pass(model, ids, "sdpa").hidden_states
    for layer in (0, 1, 2):
        torch.testing.assert_close(hidden[layer].float(), expected[layer][0], rtol=2**-10, atol=1e-4)
    norm = model.model.norm if hasattr(model, "model") else model.transformer.ln_f
    torch.testing.assert_close(norm(hidden[3].float()), expected[3][0], rtol=1e-2, atol=2e-2)


def test_states_beyond_float16_are_stored_as_bfloat16_and_meta_says_so():
    assert half_precision(torch.full((1, 2, 3), 7e4)).dtype == torch.bfloat16
    assert half_precision(torch.full((1, 2, 3), 6e4)).dtype == torch.float16
    model = causal_model("llama-gqa")
    torch.nn.init.constant_(model.model.embed_tokens.weight, 7e4)
    trace = capture_trace(model, tokens(P + G)[0], P, hidden_layers=[0, 1])
    assert trace.meta["hidden_dtype"]["0"] == "bfloat16"
    assert torch.isfinite(trace.hidden[0]).all()


def test_hooks_and_attention_are_gone_afterwards():
    model = causal_model("llama-gqa")
    capture_trace(model, tokens(P + G)[0], P, hidden_layers=[0, 1])
    assert model.config._attn_implementation == "sdpa"
    assert not any(block._forward_hooks or block._forward_pre_hooks for block in model.model.layers)


def test_a_subset_of_layers_renumbers_the_channels():
    model, ids = causal_model("llama-gqa"), tokens(P + G)[0]
    every, last = capture_trace(model, ids, P), capture_trace(model, ids, P, layers=[2])
    assert torch.equal(last.attn_diag, every.attn_diag[:, 8:])
    assert last.meta["layers"] == [2]


@pytest.mark.parametrize(("prompt_len", "length"), [(0, 5), (5, 5), (9, 5)])
def test_without_prompt_or_response_it_is_refused(prompt_len, length):
    with pytest.raises(ValueError, match=r"prompt_len must be in 1\.\.4, leaving a response"):
        capture_trace(causal_model("llama-gqa"), tokens(length)[0], prompt_len)


def test_a_bidirectional_model_is_refused():
    with pytest.raises(ValueError, match="an ARTrace needs a causal model"):
        capture_trace(bidirectional_model(), tokens(P + G)[0], P)


def test_training_mode_is_refused():
    with pytest.raises(ValueError, match=r"call model.eval\(\)"):
        capture_trace(causal_model("llama-gqa").train(), tokens(P + G)[0], P)


def test_a_dense_trace_of_a_large_model_is_refused_unless_asked_for():
    """L = H = 32, n = 1024, all rows, tau 0: 2 GiB of values and as much of channels."""
    model = causal_model("llama-gqa")
    model.config.num_attention_heads = 1000
    with pytest.raises(ValueError, match=r"may take 3\.\d GiB: raise tau"):
        capture_trace(model, torch.ones(555, dtype=torch.long), 1, tau=0.0)


def test_layers_without_attention_are_named():
    model = causal_model("llama-gqa")
    model.model.layers[1].self_attn.forward = lambda hidden_states, **kwargs: (hidden_states, None)
    with pytest.raises(ValueError, match=r"layers \[1\] of LlamaForCausalLM .* pass layers=\[0, 2\]"):
        capture_trace(model, tokens(P + G)[0], P)
    assert capture_trace(model, tokens(P + G)[0], P, layers=[0, 2]).attn_diag.shape[1] == 8


@pytest.fixture
def talker():
    tokenizer = word_tokenizer(VOCABULARY)
    model = causal_model("llama-gqa")
    model.resize_token_embeddings(len(VOCABULARY))
    model.generation_config.pad_token_id = 0
    model.generation_config.eos_token_id = None
    return model, tokenizer


def test_capture_decodes_greedily_when_no_response_is_given(talker):
    model, tokenizer = talker
    (trace,) = capture(model, tokenizer, ["<bos> n1 m1 a1 b1 ; ? n1 m1 :"], max_new_tokens=4)
    ids = trace.input_ids.long()[None]
    for place in range(trace.prompt_len, ids.shape[1]):
        with torch.no_grad():
            assert int(model(input_ids=ids[:, :place]).logits[0, -1].argmax()) == int(ids[0, place])


def test_capture_replays_responses_with_labels_and_skips_what_a_store_holds(talker, tmp_path):
    from iclr26_lm import TraceStore

    model, tokenizer = talker
    prompts, responses = ["<bos> n1 m1 :", "<bos> n2 m2 :"], ["a1 b1", "a2 b2 <eos>"]
    with TraceStore.writer(tmp_path / "s") as writer:
        writer.append("0", capture(model, tokenizer, prompts[:1], responses[:1])[0])
        capture(
            model, tokenizer, prompts, responses, store=writer,
            label=lambda number, text: [0, 1, -1] if text == "a2 b2" else None,
        )  # fmt: skip
    store = TraceStore.open(tmp_path / "s")
    assert store.ids == ["0", "1"]
    assert store["1"].labels.tolist() == [0, 1, -1]
    assert store.labels == {"0": -1, "1": 1}
    assert store["1"].input_ids.tolist() == tokenizer("<bos> n2 m2 : a2 b2 <eos>")["input_ids"]


def test_capture_refuses_lists_that_do_not_match_and_empty_responses(talker):
    model, tokenizer = talker
    with pytest.raises(ValueError, match=r"responses must have one entry per prompt, 1 \(got 2\)"):
        capture(model, tokenizer, ["a1"], ["b1", "b2"])
    with pytest.raises(ValueError, match="the response to prompt '0' is empty"):
        capture(model, tokenizer, ["a1"], [""])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 2, 0, 0, 0]}, r"labels must be 1 \(hallucinated\), 0 \(faithful\) or -1"),
        ({"labels": [0, 1]}, "labels must be one value or 5"),
        ({"spans": [(2, 9, "answer")]}, r"span must have 0 <= start < end <= 5 \(got \(2, 9, 'answer'\)\)"),
        ({"spans": [(2, 2, "answer")]}, "span must have 0 <= start < end"),
    ],
)
def test_labels_and_spans_outside_the_response_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        capture_trace(causal_model("llama-gqa"), tokens(P + G)[0], P, **change)


def test_a_trace_of_contradicting_shapes_is_refused():
    trace = capture_trace(causal_model("llama-gqa"), tokens(P + G)[0], P)
    fields = {name: getattr(trace, name) for name in trace.__dataclass_fields__ if name != "kind"}
    with pytest.raises(ValueError, match=r"token_entropy must have shape \(5,\) \(got \(4,\)\)"):
        ARTrace(**{**fields, "token_entropy": trace.token_entropy[1:]})
