"""Sampling is exact: frequencies, float64 noise, and LLaDA's own formula."""

import pytest
import torch
from iclr26_lm import cut_distribution, guided_logits, gumbel_argmax, sampling

DRAWS = 20_000


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_equal_the_tempered_softmax(dtype, temperature, generator):
    """Chi-square of 20,000 draws over 7 tokens; 22.5 is the 0.999 quantile at 6 degrees of freedom."""
    logits = torch.tensor([2.0, 1.5, 0.0, -1.0, 0.5, 1.0, -0.5]).to(dtype)
    drawn = gumbel_argmax(logits.expand(DRAWS, -1), temperature, generator=generator)
    expected = DRAWS * (logits.double() / temperature).softmax(-1)
    counts = torch.bincount(drawn, minlength=7).double()
    assert float(((counts - expected) ** 2 / expected).sum()) < 22.5
    error = (expected * (1 - expected / DRAWS)).sqrt()
    assert bool(((counts - expected).abs() <= 4 * error).all())


def test_low_precision_noise_is_another_distribution(generator):
    """Why the noise is float64: drawn in float16, uniform has 2^11 values and the largest Gumbel value is bounded."""
    uniform = torch.rand(200_000, generator=generator).to(torch.float16).clamp(min=6e-8, max=1 - 2**-11)
    coarse = -torch.log(-torch.log(uniform.double()))
    assert float(coarse.max()) < 7.63  # -log(-log(1 - 2^-11))
    exact = -torch.log(-torch.log(torch.rand(200_000, dtype=torch.float64, generator=generator)))
    assert float(exact.max()) > 9.0


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
def test_argmax_is_that_of_lladas_formula(temperature):
    logits = torch.randn(500, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    ours = gumbel_argmax(logits, temperature, generator=torch.Generator().manual_seed(9))
    noise = torch.rand(logits.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    assert torch.equal(ours, (logits.exp() / (-torch.log(noise)) ** temperature).argmax(-1))


def test_temperature_zero_is_the_argmax_and_the_generator_decides_the_rest():
    logits = torch.randn(30, 9, generator=torch.Generator().manual_seed(0))
    assert torch.equal(gumbel_argmax(logits, 0.0), logits.argmax(-1))
    draws = [gumbel_argmax(logits, 1.0, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    with pytest.raises(ValueError, match=r"temperature must be >= 0 \(got -1.0\)"):
        gumbel_argmax(logits, -1.0)


def test_a_suppressed_token_is_never_drawn(generator):
    logits = torch.zeros(5000, 3)
    logits[:, 1] = -torch.inf
    assert not bool((gumbel_argmax(logits, 5.0, generator=generator) == 1).any())


def test_chunked_draws_have_the_same_distribution(generator, monkeypatch):
    monkeypatch.setattr(sampling, "CHUNK_BYTES", 8 * 3 * 64)
    drawn = gumbel_argmax(torch.tensor([1.0, 0.0, -1.0]).expand(DRAWS, -1), 1.0, generator=generator)
    expected = DRAWS * torch.tensor([1.0, 0.0, -1.0]).softmax(-1)
    assert float(((torch.bincount(drawn, minlength=3) - expected) ** 2 / expected).sum()) < 13.8


def test_top_p_keeps_the_smallest_set_that_reaches_it_and_top_k_the_best():
    logits = torch.tensor([0.5, 0.25, 0.15, 0.1]).log()
    assert torch.isfinite(cut_distribution(logits, top_p=0.7)).tolist() == [True, True, False, False]
    assert torch.isfinite(cut_distribution(logits, top_p=0.76)).tolist() == [True, True, True, False]
    assert torch.isfinite(cut_distribution(logits, top_p=1.0)).all()
    assert torch.isfinite(cut_distribution(logits, top_p=0.01)).tolist() == [True, False, False, False]
    assert torch.isfinite(cut_distribution(logits, top_k=3)).tolist() == [True, True, True, False]
    for wrong in ({"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}):
        with pytest.raises(ValueError, match="must be"):
            cut_distribution(logits, **wrong)


def test_guidance_is_lladas_formula():
    conditional, unconditional = torch.tensor([1.0, 2.0]), torch.tensor([0.5, 3.0])
    assert torch.equal(guided_logits(conditional, unconditional, 0.0), conditional)
    torch.testing.assert_close(guided_logits(conditional, unconditional, 1.0), torch.tensor([1.5, 1.0]))
