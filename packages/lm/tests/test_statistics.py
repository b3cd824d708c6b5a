"""Per-position scalars equal a full float64 softmax."""

import pytest
import torch
from iclr26_lm import statistics, token_statistics


def reference(logits, tokens):
    logprob = logits.double().log_softmax(-1)
    probability = logprob.exp()
    entropy = -(probability * logprob.masked_fill(probability == 0, 0.0)).sum(-1)
    top = probability.topk(2, -1).values
    chosen = logprob.gather(-1, tokens[..., None])[..., 0]
    return entropy, chosen, top[..., 0] - top[..., 1], logprob.argmax(-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_statistics_equal_the_float64_softmax(dtype, scale, generator):
    logits = (scale * torch.randn(3, 5, 1009, generator=generator)).to(dtype)
    tokens = torch.randint(1009, (3, 5), generator=generator)
    got = token_statistics(logits, tokens)
    entropy, logprob, margin, best = reference(logits, tokens)
    torch.testing.assert_close(got.entropy.double(), entropy, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got.logprob.double(), logprob, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got.margin.double(), margin, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(got.conf, got.logprob.exp())
    assert torch.equal(got.best, logits.argmax(-1)) or torch.equal(
        logits.gather(-1, got.best[..., None]), logits.gather(-1, best[..., None])
    )


def test_suppressed_tokens_count_as_zero_times_infinity_is_zero(generator):
    logits = torch.randn(4, 50, generator=generator)
    suppressed = logits.clone()
    suppressed[:, 10:] = -torch.inf
    torch.testing.assert_close(token_statistics(suppressed).entropy, token_statistics(logits[:, :10]).entropy)


def test_known_values():
    """Entropy of softmax([2, 1, 0, -1]) is .947537, of the uniform over 4 ln 4."""
    got = token_statistics(torch.tensor([[2.0, 1.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0]])).entropy
    torch.testing.assert_close(got, torch.tensor([0.947537, 1.386294]), rtol=0, atol=1e-6)


def test_chunking_changes_nothing(generator, monkeypatch):
    logits = torch.randn(2, 9, 64, generator=generator)
    whole = token_statistics(logits)
    monkeypatch.setattr(statistics, "CHUNK_BYTES", 64 * 4 * 2)
    assert torch.equal(token_statistics(logits).entropy, whole.entropy)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_logits_that_are_no_distribution_are_refused_with_their_place(value, generator):
    logits = torch.randn(6, 11, generator=generator)
    logits[4, 3] = value
    with pytest.raises(ValueError, match="logits at position 4 give no distribution"):
        token_statistics(logits)
    with pytest.raises(ValueError, match="logits at position 0 give no distribution"):
        token_statistics(torch.full((1, 5), -torch.inf))
