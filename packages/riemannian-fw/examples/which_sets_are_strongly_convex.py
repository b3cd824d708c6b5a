"""certify() and estimate_rsi() of every kind of set: which are strongly convex, and with what constant.

uv run python packages/riemannian-fw/examples/which_sets_are_strongly_convex.py
"""

import torch
from iclr26_riemannian_fw import (
    SPD,
    Euclidean,
    GeodesicBall,
    Hyperbolic,
    Product,
    ProductBall,
    ProductSet,
    SPDInterval,
    Sphere,
    SublevelSet,
    certify,
    estimate_rsi,
)

torch.set_num_threads(1)
eye = torch.eye(3, dtype=torch.float64)
plane = torch.zeros(2, dtype=torch.float64)
disc, cap = GeodesicBall(Euclidean(), plane, 1.0), GeodesicBall(Sphere(), eye[0], 1.0)
product = Product([Euclidean(), Sphere()], [(2,), (3,)])
sets = {
    "disc R=1": disc,
    "cap of S^2, R=1": cap,
    "cap of S^2, R=1.4": GeodesicBall(Sphere(), eye[0], 1.4),
    "ball of H^2, R=1": GeodesicBall(Hyperbolic(), eye[0], 1.0),
    "ball of H^2, R=3": GeodesicBall(Hyperbolic(), eye[0], 3.0),
    "ball of SPD(2), R=1": GeodesicBall(SPD(), eye[:2, :2], 1.0),
    "log-Euclidean ball, R=1": GeodesicBall(SPD("log-euclidean"), eye[:2, :2], 1.0),
    "interval I <= X <= 2I": SPDInterval(eye[:2, :2], 2 * eye[:2, :2]),
    "disc x cap": ProductSet([disc, cap]),
    "ball of R^2 x S^2, R=1": ProductBall(product, product.join([plane, eye[0]]), 1.0),
    "sublevel set x^2 + 4y^2 <= 2": SublevelSet(
        Euclidean(), lambda z: 0.5 * (z[0] ** 2 + 4 * z[1] ** 2), plane, mu=1.0, L=4.0, s=1.0
    ),
}
print(f"{'set':<30} {'kind':<11} {'alpha':>7} {'RSI, sampled':>13}")
for name, chosen in sets.items():
    known = certify(chosen)
    sampled = "" if isinstance(chosen, SublevelSet) else f"{estimate_rsi(chosen, 16, 64).alpha:.4f}"
    print(f"{name:<30} {known.kind:<11} {known.alpha:>7.4f} {sampled:>13}")
for name, chosen in sets.items():
    print(f"{name}: {certify(chosen).reason}")
