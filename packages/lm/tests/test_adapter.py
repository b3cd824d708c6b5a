"""Every family is recognised, called as its own code wants, and aligned."""

import warnings
from types import SimpleNamespace

import pytest
import torch
from callables import EOS, MASK, VOCABULARY, adapted, context_model, shifted_twin
from iclr26_lm import STANDINS, MaskedDiffusionLM, adapt, decode, load_diffusion_model, shifted, write_standin
from iclr26_lm.families import family_of
from small_models import bidirectional_model, causal_model, tokens

IDS = {
    "llada": (126336, (126081, 126348), False),
    "dream": (151666, (151643,), True),
    "llada-moe": (156895, (156892,), False),
    "llada2": (156895, (156892,), False),
}


@pytest.fixture(scope="module")
def standins(tmp_path_factory):
    root = tmp_path_factory.mktemp("standins")
    return {family: write_standin(root / family, family) for family in STANDINS}


def loaded(standins, family):
    return load_diffusion_model(
        standins[family], trust_remote_code=True, **({"block": 4} if family == "llada2" else {})
    )


@pytest.mark.parametrize("family", STANDINS)
def test_remote_code_runs_only_when_the_user_says_so(standins, family):
    with pytest.raises(ValueError, match=r"brings modeling code .*pass trust_remote_code=True to run it"):
        load_diffusion_model(standins[family])


@pytest.mark.parametrize("family", STANDINS)
def test_a_stand_in_is_recognised_with_the_real_ids(standins, family):
    lm, tokenizer = loaded(standins, family)
    mask, eos, shift = IDS[family]
    assert isinstance(lm, MaskedDiffusionLM)
    assert (lm.family, lm.mask_token_id, lm.eos_token_ids, lm.logits_shift) == (family, mask, eos, shift)
    assert lm.vocab_size == {"llada": 126464, "dream": 152064}.get(family, 157184)
    assert type(lm.model).__module__.startswith("transformers_modules.")
    ids = torch.tensor(tokenizer("what is the river of ba be bi")["input_ids"])[None]
    output = decode(lm, ids, length=4)
    assert not bool((output.sequences == mask).any())


@pytest.mark.parametrize("family", ["llada", "llada-moe"])
def test_llada_is_aligned_and_takes_a_2d_mask(standins, family):
    lm, _ = loaded(standins, family)
    ids = tokens(7, batch=2)
    with torch.no_grad():
        raw = lm.model(input_ids=ids).logits
    got = lm.logits(ids)
    assert bool((got[..., lm.mask_token_id] == -torch.inf).all())
    got[..., lm.mask_token_id] = raw[..., lm.mask_token_id]
    assert torch.equal(got, raw)
    padded = torch.cat([torch.full((2, 3), 9), ids], 1)
    mask = torch.tensor([[0, 0, 0] + [1] * 7] * 2)
    torch.testing.assert_close(lm.logits(padded, mask)[:, 3:], lm.logits(ids), rtol=1e-4, atol=1e-4)
    assert float((lm.logits(padded)[:, 3:, :100] - lm.logits(ids)[..., :100]).abs().max()) > 0.01


def test_llada_is_bidirectional(standins):
    lm, _ = loaded(standins, "llada")
    ids = tokens(7)
    other = ids.clone()
    other[0, -1] = 3
    assert float((lm.logits(ids)[0, 0, :50] - lm.logits(other)[0, 0, :50]).abs().max()) > 1e-4


def test_dream_is_shifted_and_called_with_full(standins):
    lm, _ = loaded(standins, "dream")
    ids = tokens(7, batch=2)
    with torch.no_grad():
        raw = lm.model(ids, "full", None).logits
    got = lm.logits(ids)
    got[..., lm.mask_token_id] = 0.0
    raw[..., lm.mask_token_id] = 0.0
    assert torch.equal(got, torch.cat([raw[:, :1], raw[:, :-1]], 1))


def test_dream_with_left_padding_gets_a_4d_mask_and_positions(standins):
    """Its own generate: position ids cumsum - 1, 1 at padding, and a mask of real x real tokens."""
    lm, _ = loaded(standins, "dream")
    ids = tokens(6)
    padded = torch.cat([torch.full((1, 3), 151643), ids], 1)
    mask = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1]])
    torch.testing.assert_close(lm.logits(padded, mask)[:, 4:], lm.logits(ids)[:, 1:], rtol=1e-4, atol=1e-4)
    seen = []
    handle = lm.model.register_forward_pre_hook(lambda module, args: seen.append(args))
    lm.logits(padded, mask)
    handle.remove()
    _, attention, positions = seen[0]
    assert attention.shape == (1, 1, 9, 9)
    assert attention.dtype == torch.bool
    assert torch.equal(attention[0, 0], mask.bool().T & mask.bool())
    assert positions.tolist() == [[1, 1, 1, 0, 1, 2, 3, 4, 5]]
    with pytest.raises(ValueError, match="Dream takes left padding only"):
        lm.logits(padded, mask.flip(1))


def test_dream_decodes_a_padded_batch_as_one_by_one(standins):
    lm, _ = loaded(standins, "dream")
    prompts = [[11, 12, 13, 14, 15], [16, 17]]
    padded = torch.tensor([prompts[0], [151643] * 3 + prompts[1]])
    mask = torch.tensor([[1] * 5, [0] * 3 + [1] * 2])
    batch = decode(lm, padded, length=5, schedule="dream", attention_mask=mask)
    for row, prompt in enumerate(prompts):
        alone = decode(lm, torch.tensor([prompt]), length=5, schedule="dream")
        assert torch.equal(batch.canvas[row], alone.canvas[0])


def test_llada2_sees_earlier_blocks_only(standins):
    lm, _ = loaded(standins, "llada2")
    ids = tokens(12)
    later, same_block = ids.clone(), ids.clone()
    later[0, 9], same_block[0, 3] = 3, 3
    plain = lm.logits(ids)[0, :4, :50]
    assert torch.equal(lm.logits(later)[0, :4, :50], plain)
    assert float((lm.logits(same_block)[0, :3, :50] - plain[:3]).abs().max()) > 1e-4
    with pytest.raises(ValueError, match="LLaDA2 takes no padding"):
        lm.logits(ids, torch.tensor([[0] + [1] * 11]))
    with pytest.raises(ValueError, match="block-causal: pass block="):
        adapt(lm.model)


def test_lladas_wrong_default_mask_id_is_never_taken(standins):
    """The configuration class says 50256; a vocabulary that cannot hold the real id leaves it unknown."""
    lm, _ = loaded(standins, "llada")
    lm.model.config.mask_token_id = 50256
    assert adapt(lm.model).mask_token_id == 126336
    config = SimpleNamespace(model_type="llada", embedding_size=60000, vocab_size=60000, mask_token_id=50256)
    small = torch.nn.Linear(2, 2)
    small.config = config
    with pytest.raises(ValueError, match=r"mask_token_id must be in 0\.\.59999 \(got None from the llada family\)"):
        adapt(small)
    assert adapt(small, SimpleNamespace(mask_token_id=17, pad_token_id=0, eos_token_id=2)).mask_token_id == 17


def test_a_generic_masked_model_takes_the_tokenizers_ids():
    model = bidirectional_model()
    lm = adapt(model, SimpleNamespace(mask_token_id=5, pad_token_id=0, eos_token_id=[6, 7]))
    assert (lm.family, lm.mask_token_id, lm.eos_token_ids, lm.pad_token_id) == ("generic", 5, (6, 7), 0)
    ids, mask = tokens(8), torch.tensor([[0, 0, 1, 1, 1, 1, 1, 1]])
    with torch.no_grad():
        expected = model(input_ids=ids, attention_mask=mask).logits
    got = lm.logits(ids, mask)
    got[..., 5] = expected[..., 5]
    assert torch.equal(got, expected)
    with pytest.raises(ValueError, match="mask_token_id must be in"):
        adapt(bidirectional_model(), SimpleNamespace(mask_token_id=None))


def test_bert_and_modernbert_are_generic():
    from transformers import BertConfig, BertForMaskedLM, ModernBertConfig, ModernBertForMaskedLM

    sizes = {
        "vocab_size": 60,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    modern = ModernBertConfig(**sizes, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
    for model in (BertForMaskedLM(BertConfig(**sizes)), ModernBertForMaskedLM(modern)):
        lm = adapt(model.eval(), mask_token_id=3, eos_token_ids=(2,))
        assert lm.family == "generic"
        assert not bool((decode(lm, torch.tensor([[4, 5]]), length=3).sequences == 3).any())


def test_callables_need_their_ids():
    lm = adapted(context_model())
    assert (lm.family, lm.mask_token_id, lm.eos_token_ids) == ("callable", MASK, (EOS,))
    assert adapt(lm) is lm
    with pytest.raises(ValueError, match="vocab_size is needed for function"):
        adapt(context_model(), mask_token_id=3)
    with pytest.raises(ValueError, match=r"mask_token_id must be in 0\.\.29 \(got None from the callable family\)"):
        adapt(context_model(), vocab_size=VOCABULARY)


def test_diffusion_gemma_is_refused_with_the_reason():
    from transformers import DiffusionGemmaForBlockDiffusion

    for model in (
        object.__new__(DiffusionGemmaForBlockDiffusion),
        SimpleNamespace(config=SimpleNamespace(model_type="diffusion_gemma")),
    ):
        with pytest.raises(ValueError, match="has no mask token: DiffusionGemma starts from uniform noise"):
            adapt(model)


def test_an_autoregressive_model_is_not_taken_for_a_diffusion_model():
    with pytest.raises(ValueError, match=r"LlamaForCausalLM .* is no masked diffusion model that is known here"):
        adapt(causal_model("llama-gqa"))
    with pytest.raises(ValueError, match="family must be auto, llada"):
        family_of(context_model(), "mamba")


def test_wrong_shapes_are_named():
    with pytest.raises(ValueError, match=r"must return \(1, 4, 31\) logits \(got \(1, 4, 30\)\)"):
        adapted(context_model(), vocab_size=31).logits(torch.zeros(1, 4, dtype=torch.long))
    with pytest.raises(ValueError, match=r"attention_mask must have the shape of ids \(1, 4\) \(got \(1, 3\)\)"):
        adapted(context_model()).logits(torch.zeros(1, 4, dtype=torch.long), torch.ones(1, 3))


def copying_model(ids, attention_mask=None):
    """Sure of the token that stands in its own place, as a masked model is of unmasked tokens."""
    return 5.0 * torch.nn.functional.one_hot(ids, VOCABULARY).float()


def called_by_name(function):
    """As transformers models are called."""
    return lambda input_ids, attention_mask=None: function(input_ids, attention_mask)


@pytest.mark.parametrize("is_shifted", [False, True])
def test_the_probe_finds_the_shift_and_warns(is_shifted):
    model = called_by_name(shifted_twin(copying_model) if is_shifted else copying_model)
    sentences = torch.randint(0, 28, (40, 12), generator=torch.Generator().manual_seed(0))
    with pytest.warns(UserWarning, match=f"logits_shift={is_shifted} was found by probing 32 sentences"):
        lm = adapted(model, family="bidirectional-ar", sentences=sentences)
    assert lm.logits_shift is is_shifted
    ids = sentences[:2]
    assert torch.equal(lm.logits(ids)[:, 1:].argmax(-1), ids[:, 1:])


def test_the_probe_needs_sentences_and_is_silent_when_told():
    with pytest.raises(ValueError, match="logits_shift is not known for the bidirectional-ar family"):
        adapted(copying_model, family="bidirectional-ar")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert adapted(called_by_name(copying_model), family="bidirectional-ar", logits_shift=True).logits_shift


def test_shifted_keeps_the_first_row():
    raw = torch.arange(12.0).view(1, 4, 3)
    assert shifted(raw)[0, :, 0].tolist() == [0.0, 0.0, 3.0, 6.0]


def test_a_masked_model_of_a_folder_needs_no_code(tmp_path):
    from iclr26_lm.recall import VOCABULARY as WORDS
    from iclr26_lm.vocabulary import word_tokenizer

    model = bidirectional_model()
    model.save_pretrained(tmp_path)
    words = [*WORDS[:96], "<mask>"]
    word_tokenizer(words, mask=True).save_pretrained(tmp_path)
    lm, tokenizer = load_diffusion_model(tmp_path)
    assert (lm.family, lm.mask_token_id) == ("generic", 96)
    assert tokenizer.mask_token == "<mask>"
    with pytest.raises(FileNotFoundError, match=r"holds no model: no config\.json in it"):
        load_diffusion_model(tmp_path / "nothing")


def test_stand_ins_are_the_same_for_the_same_seed(tmp_path):
    one, two = (write_standin(tmp_path / name, "llada", seed=3) / "model.safetensors" for name in "ab")
    assert one.read_bytes() == two.read_bytes()
    with pytest.raises(ValueError, match="family must be one of llada, dream"):
        write_standin(tmp_path, "bert")
