"""What Riemannian Frank-Wolfe tells the `iclr26` command about itself."""

from __future__ import annotations

from iclr26_core import Job, Method, hookimpl


@hookimpl
def iclr26_methods() -> list[Method]:
    """Return the descriptor."""
    return [
        Method(
            name="riemannian-fw",
            kind="optimizer",
            target="iclr26_riemannian_fw:FrankWolfe",
            jobs=(
                Job(
                    name="solve",
                    target="iclr26_riemannian_fw.job:solve",
                    config="iclr26_riemannian_fw.config:SolveConfig",
                    summary="minimise over a geodesic ball or SPD interval with a certificate, beside the baselines",
                ),
                Job(
                    name="tables",
                    target="iclr26_riemannian_fw.job:tables",
                    config="iclr26_riemannian_fw.config:TablesConfig",
                    summary="convergence on the paper's example and on problems with known answers",
                ),
            ),
            claims="iclr26_riemannian_fw.claims:claims",
            summary="minimises over geodesically convex sets without projections, with an optimality certificate",
            title="Strongly Convex Sets in Riemannian Manifolds",
            paper="https://arxiv.org/abs/2312.03583",
            accepts=(
                "points on a sphere, hyperbolic space, SPD matrices or R^n (.csv, .npz)",
                "a torch function of a point, or torch parameters with a set",
            ),
            gpu="optional",
            baselines=("projected-gradient", "geoopt-penalty"),
            tags=("Riemannian optimization", "Frank-Wolfe", "constraints", "projection-free"),
        )
    ]
