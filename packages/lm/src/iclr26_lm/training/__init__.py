"""How the shipped tiny models were trained: ``python -m iclr26_lm.training.diffusion`` and ``….training.recall``."""
