import pytest
import torch
from iclr26_wavefront import WavefrontDecoder
from iclr26_wavefront.bigram import Bigram
from iclr26_wavefront.config import DecodeConfig
from iclr26_wavefront.job import SERIES, WORDS, continuation, measure

COUNTING = Bigram.of([[0, 1, 2, 3, 0, 1, 2, 3]], vocabulary=4)


def test_every_token_is_the_most_likely_one() -> None:
    model = Bigram(torch.randn(9, 9, generator=torch.Generator().manual_seed(0)))
    sequences = WavefrontDecoder(max_new_tokens=7).generate(model, torch.arange(9)[:, None]).sequences
    torch.testing.assert_close(sequences[:, 1:], model(sequences[:, :-1]).argmax(dim=-1))


def test_nothing_comes_behind_the_end() -> None:
    decoder = WavefrontDecoder(max_new_tokens=9, end_token_id=3)
    output = decoder.generate(COUNTING, torch.tensor([[1], [2]]))
    assert output.sequences.tolist() == [[1, 2, 3], [2, 3, 3]]
    assert output.passes == 2


def test_an_end_in_the_prompt_ends_nothing() -> None:
    decoder = WavefrontDecoder(max_new_tokens=2, end_token_id=3)
    assert decoder.generate(COUNTING, torch.tensor([[3]])).sequences.tolist() == [[3, 0, 1]]


def test_the_expected_words_are_those_of_the_series() -> None:
    assert [WORDS[token] for token in continuation("saturday", 3)] == ["sunday", "monday", "tuesday"]
    assert len(WORDS) == len(" ".join(SERIES).split())


def test_without_errors_every_word_is_right() -> None:
    assert measure(DecodeConfig(errors=0.0), seed=0)["wavefront"]["accuracy"] == 1.0


@pytest.mark.parametrize("wrong", [{"max_new_tokens": 0}, {"errors": 1.0}, {"rounds": 0}])
def test_options_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DecodeConfig(**wrong)  # type: ignore[arg-type]
