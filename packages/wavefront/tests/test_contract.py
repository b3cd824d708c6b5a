import torch
from iclr26_core.testing import DecoderContract
from iclr26_wavefront import WavefrontDecoder
from iclr26_wavefront.baselines import Sampling
from iclr26_wavefront.config import DecodeConfig
from iclr26_wavefront.job import trained


class TestDecoder(DecoderContract):
    method = "wavefront"

    def make(self) -> WavefrontDecoder:
        return WavefrontDecoder(max_new_tokens=5)

    def example(self) -> tuple[torch.nn.Module, torch.Tensor]:
        return trained(DecodeConfig(), seed=0), torch.tensor([[0, 1], [2, 3], [4, 5]])


class TestSampling(TestDecoder):
    def make(self) -> Sampling:
        return Sampling(max_new_tokens=5)

    def make_greedy(self) -> WavefrontDecoder:
        return WavefrontDecoder(max_new_tokens=5)
