"""The manifolds under test with a non-trivial centre each."""

import torch
from iclr26_riemannian_fw import SPD, Euclidean, Hyperbolic, Product, Sphere

SINGLE = ("sphere", "lorentz", "poincare", "spd", "log-euclidean", "euclidean")
SOLVED = (*SINGLE, "product")  # where a certificate exists: "product" is Hadamard
EVERY = (*SOLVED, "mixed")


def manifold_and_center(name, size=4, seed=3):
    """Return (manifold, centre) of dimension about `size`."""
    generator = torch.Generator().manual_seed(seed)
    if name in ("product", "mixed"):
        parts = ("euclidean" if name == "product" else "sphere", "spd", "lorentz")
        factors = [manifold_and_center(part, 3) for part in parts]
        manifold = Product([m for m, _ in factors], [c.shape for _, c in factors])
        return manifold, manifold.join([c for _, c in factors])
    manifold, base = {
        "sphere": lambda: (Sphere(), torch.eye(size + 1)[0]),
        "lorentz": lambda: (Hyperbolic("lorentz"), torch.eye(size + 1)[0]),
        "poincare": lambda: (Hyperbolic("poincare"), torch.zeros(size)),
        "spd": lambda: (SPD("affine"), torch.eye(3)),
        "log-euclidean": lambda: (SPD("log-euclidean"), torch.eye(3)),
        "euclidean": lambda: (Euclidean(), torch.zeros(size)),
    }[name]()
    u = manifold.unit(base, manifold.random_tangent(base, generator))
    return manifold, manifold.exp(base, 0.7 * u)


def direction(manifold, x, generator):
    """Return a unit tangent vector at each x."""
    return manifold.unit(x, manifold.random_tangent(x, generator))
