"""Where should a depot be that is at most 500 km from Atlanta and closest (in mean square) to all US airports?

uv run python packages/riemannian-fw/examples/airports.py
"""

import torch
from iclr26_riemannian_fw import GeodesicBall, Sphere, minimize
from iclr26_riemannian_fw.objectives import FrechetMean
from iclr26_riemannian_fw.study.data import EARTH_RADIUS_KM, load_airports, to_degrees

airports = load_airports()
sphere, atlanta = Sphere(), airports.at("ATL")
ball = GeodesicBall(sphere, atlanta, 500 / EARTH_RADIUS_KM)
f = FrechetMean(sphere, airports.points)
mu, L = f.bounds(ball)
print(f"{len(airports.codes)} airports; Hess f lies in [{mu:.3f}, {L:.3f}] on the disc, so f is g-convex there")

result = minimize(f, None, ball, riemannian_grad=f.gradient, tol=1e-10)
latitude, longitude = to_degrees(result.x.numpy())
nearest = airports.codes[int(torch.argmax(airports.points @ result.x))]
print(f"{result.message} after {result.n_iter} iterations: {result.certificate:.1e} ({result.certificate_kind})")
print(f"depot at {latitude:.3f} N, {-longitude:.3f} W, nearest airport {nearest}")
print(f"distance to Atlanta {float(sphere.dist(atlanta, result.x)) * EARTH_RADIUS_KM:.3f} km")
