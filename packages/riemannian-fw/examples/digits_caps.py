"""Class prototypes of handwritten digits, each within a cap around the global mean direction (the paper's superclass).

Ten problems are one batch: f returns ten values, and each problem stops on its own certificate.

    uv run python packages/riemannian-fw/examples/digits_caps.py
"""

import torch
from iclr26_riemannian_fw import GeodesicBall, Sphere, minimize
from iclr26_riemannian_fw.objectives import FrechetMean
from sklearn.datasets import load_digits

digits = load_digits()
images = torch.from_numpy(digits.data).double()
points = images / images.norm(dim=1, keepdim=True)
label = torch.from_numpy(digits.target)
sphere = Sphere()
mean = points.mean(0) / points.mean(0).norm()

cap = GeodesicBall(sphere, mean.expand(10, 64), 0.3)
onehot = torch.nn.functional.one_hot(label, 10).double()
shares = onehot / onehot.sum(0)


def spread(x: torch.Tensor) -> torch.Tensor:
    """Half the mean squared distance of each class to its prototype, [10]."""
    angle = sphere.dist(x[:, None, :], points[None])
    return 0.5 * (shares.T * angle.square()).sum(1)


lowest = min(FrechetMean(sphere, points[label == k]).bounds(GeodesicBall(sphere, mean, 0.3))[0] for k in range(10))
print(f"every class's spread is g-convex on the cap: smallest Hessian eigenvalue >= {lowest:.3f}")
result = minimize(spread, None, cap, tol=1e-8)
nearest = torch.cdist(points, result.x).argmin(1)
print("digit  iterations  certificate  angle to the mean (cap 0.3)")
for digit in range(10):
    angle = float(sphere.dist(mean, result.x[digit]))
    print(f"{digit:>5} {int(result.n_iter[digit]):>11} {float(result.certificate[digit]):>12.1e} {angle:>12.4f}")
right = float((nearest == label).double().mean())
print(f"all certified to 1e-8: {bool(result.converged.all())}; nearest prototype is right for {right:.1%}")
