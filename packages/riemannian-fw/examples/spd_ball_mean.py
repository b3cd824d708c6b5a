"""The Frechet mean of the covariance matrices of three wine cultivars, within a trust region around the pooled one.

uv run python packages/riemannian-fw/examples/spd_ball_mean.py
"""

import torch
from iclr26_riemannian_fw import SPD, GeodesicBall, certify, minimize
from iclr26_riemannian_fw.objectives import FrechetMean
from sklearn.datasets import load_wine

wine = load_wine()
data = torch.from_numpy(wine.data[:, :6]).double()
data = (data - data.mean(0)) / data.std(0)
label = torch.from_numpy(wine.target)


def covariance(rows: torch.Tensor, shrinkage: float = 0.1) -> torch.Tensor:
    """Shrunk covariance matrix."""
    sample = torch.cov(rows.T)
    return (1 - shrinkage) * sample + shrinkage * sample.trace() / len(sample) * torch.eye(len(sample)).double()


spd, pooled = SPD("affine"), covariance(data)
f = FrechetMean(spd, torch.stack([covariance(data[label == k]) for k in range(3)]))
free = minimize(f, None, GeodesicBall(spd, pooled, 10.0), riemannian_grad=f.gradient, tol=1e-6, max_iter=2000)
print(f"unconstrained mean: {float(spd.dist(pooled, free.x)):.3f} from the pooled covariance")

ball = GeodesicBall(spd, pooled, 1.0)
print(certify(ball))
result = minimize(f, None, ball, riemannian_grad=f.gradient, tol=1e-8)
print(f"{result.message} after {result.n_iter} iterations: {result.certificate:.1e} ({result.certificate_kind})")
print(f"distance {float(spd.dist(pooled, result.x)):.6f} (radius 1), f = {result.fun:.6f}")
