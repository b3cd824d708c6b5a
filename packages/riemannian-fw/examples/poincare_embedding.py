"""Embed the characters of Les Miserables in the Poincare ball, every one inside a disc, with the torch optimiser.

All 77 points are one parameter with a batch axis; the set is a disc of radius 3 around the origin. The loss is the
Poincare embedding loss of Nickel and Kiela: neighbours close, 10 random non-neighbours far. Then the mean of a
character's neighbours, constrained to a disc around Valjean, with a certificate.

    uv run python packages/riemannian-fw/examples/poincare_embedding.py
"""

import networkx
import torch
from iclr26_riemannian_fw import FrankWolfe, GeodesicBall, Hyperbolic, minimize
from iclr26_riemannian_fw.objectives import FrechetMean

torch.set_num_threads(1)
graph = networkx.les_miserables_graph()
names = list(graph)
edges = torch.tensor([(names.index(a), names.index(b)) for a, b in graph.edges])
edges = torch.cat([edges, edges.flip(1)])
linked = torch.eye(len(names), dtype=torch.bool)
linked[edges[:, 0], edges[:, 1]] = True

hyperbolic, generator = Hyperbolic("poincare"), torch.Generator().manual_seed(0)
disc = GeodesicBall(hyperbolic, torch.zeros(2, dtype=torch.float64), 3.0)
x = torch.nn.Parameter(GeodesicBall(hyperbolic, torch.zeros(2, dtype=torch.float64), 0.1).random(len(names), generator))
strangers = torch.multinomial((~linked[edges[:, 0]]).double(), 10, generator=generator)


def loss() -> torch.Tensor:
    """Mean cross entropy of the neighbour among 11 candidates."""
    near = hyperbolic.dist(x[edges[:, 0]], x[edges[:, 1]])
    far = hyperbolic.dist(x[edges[:, 0], None], x[strangers])
    return (near + torch.logsumexp(torch.cat([-near[:, None], -far], 1), 1)).mean()


def quality() -> float:
    """Mean average precision of reconstructing the neighbours from distances."""
    distance = hyperbolic.dist(x.detach()[:, None], x.detach()[None])
    distance.fill_diagonal_(torch.inf)
    hits = (linked & ~torch.eye(len(names), dtype=torch.bool)).gather(1, distance.argsort(1)).double()
    precision = hits.cumsum(1) / torch.arange(1, len(names) + 1)
    return float(((precision * hits).sum(1) / hits.sum(1)).mean())


optimizer = FrankWolfe([x], disc)
print(f"start: loss {float(loss().detach()):.3f}, mean average precision {quality():.3f}")
for _ in range(300):
    optimizer.step(loss)
print(
    f"300 steps: loss {float(loss().detach()):.3f}, mean average precision {quality():.3f}, gap {optimizer.gap():.3f}"
)
print(f"farthest from the origin: {float(disc.excess(x.detach()).max()) + 3:.6f} (radius 3)")

valjean = names.index("Valjean")
ball = GeodesicBall(hyperbolic, x.detach()[valjean], 0.3)
f = FrechetMean(hyperbolic, x.detach()[[names.index(n) for n in graph["Javert"]]])
result = minimize(f, None, ball, riemannian_grad=f.gradient, tol=1e-8)
print(f"mean of Javert's neighbours near Valjean: certificate {result.certificate:.1e} ({result.certificate_kind})")
