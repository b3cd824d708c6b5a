"""Heavy-tailed noise: models of it, samples of it, and how heavy its tails are."""
