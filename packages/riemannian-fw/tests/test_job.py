"""`iclr26 run riemannian-fw` on every kind of input, called in process."""

import csv
import json
import math

import numpy as np
import pytest
import torch
from iclr26_core.errors import NotConverged, UsageError
from iclr26_core.execute import run_job
from iclr26_core.options import Options
from iclr26_riemannian_fw import Sphere
from iclr26_riemannian_fw.config import (
    ManifoldConfig,
    ObjectiveConfig,
    SetConfig,
    SolveConfig,
    SolverConfig,
    TablesConfig,
)
from iclr26_riemannian_fw.study import data


@pytest.fixture(autouse=True)
def _default_dtype_of_users():
    torch.set_default_dtype(torch.float32)


class Outcome:
    """A finished run: its record, its folder, its result.json."""

    def __init__(self, record, out):
        (self.folder,) = (path.parent for path in out.glob("*/record.json"))
        self.record, self.artifacts = record, record.artifacts
        self.result = json.loads((self.folder / "result.json").read_text())

    def metric(self, name, of=None):
        kept = self.record.metrics if of is None else self.record.baselines[of]
        return kept[name]["value"]


def solved(out, **parts):
    """Run the default job for real and return what it left."""
    return Outcome(run_job("riemannian-fw", "solve", SolveConfig(tables="no", **parts), options=Options(out=out)), out)


def test_airports(tmp_path):
    """The default: certified to 1e-8, on the rim, as good as projected gradient, a map and a plot."""
    run = solved(tmp_path, baselines=["projected-gradient"])
    assert run.metric("certificate") <= 1e-8
    assert run.metric("final_loss") == pytest.approx(run.metric("final_loss", "projected-gradient"), abs=1e-8)
    assert {"result.json", "history.csv", "convergence.png", "map.png"} <= set(run.artifacts)
    result = run.result
    atlanta = data.load_airports().at("ATL")
    angle = float(Sphere().dist(torch.tensor(result["x"], dtype=torch.float64), atlanta))
    assert angle * data.EARTH_RADIUS_KM == pytest.approx(500.0, abs=1e-6)
    assert result["certificate_kind"] == "fw-gap-exact"
    with (run.folder / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["cert"]) == result["certificate"]
    assert len(rows) == result["n_iter"] + 1
    assert all((run.folder / name).read_bytes().startswith(b"\x89PNG") for name in ("convergence.png", "map.png"))


def test_weighted_csv_in_degrees(tmp_path):
    """Two cities with weights 3 and 1: the free mean is at a quarter of the way, the disc reaches less far."""
    path = tmp_path / "cities.csv"
    path.write_text("latitude,longitude,weight\n0,0,3\n0,40,1\n")
    run = solved(
        tmp_path,
        objective=ObjectiveConfig("weighted_frechet", str(path)),
        set=SetConfig(radius=0.1, center=[1.0, 0.0, 0.0]),
        baselines=["projected-gradient"],
    )
    a, b = 0.1, math.radians(40) - 0.1
    assert run.metric("final_loss") == pytest.approx(0.5 * (0.75 * a**2 + 0.25 * b**2), abs=1e-8)
    assert list(run.record.inputs) == ["weighted_frechet"]


def test_spd_npz_with_all_baselines(tmp_path):
    """Matrices from a real .npz; the optimum is interior to no ball of radius 0.3."""
    path, generator = tmp_path / "covariances.npz", np.random.default_rng(0)
    points = [np.cov(generator.normal(size=(3, 40)) * np.array([[1.0], [2.0], [3.0]])) for _ in range(5)]
    np.savez(path, points=np.stack(points), center=np.eye(3))
    run = solved(
        tmp_path,
        manifold=ManifoldConfig("spd"),
        objective=ObjectiveConfig("frechet_mean", str(path)),
        set=SetConfig(radius=0.3),
        baselines=["projected-gradient", "geoopt-penalty", "pymanopt-penalty"],
    )
    assert run.metric("certificate") <= 1e-8
    for name in ("projected-gradient", "geoopt-penalty", "pymanopt-penalty"):
        assert run.metric("final_loss", name) == pytest.approx(run.metric("final_loss"), abs=1e-5)


@pytest.mark.filterwarnings("ignore:stopped on the Frank-Wolfe gap")
def test_free_energy_and_quadratic_have_no_certificate(tmp_path):
    for manifold, name in (("spd", "free_energy"), ("sphere", "quadratic_sphere")):
        run = solved(
            tmp_path / name,
            manifold=ManifoldConfig(manifold),
            objective=ObjectiveConfig(name),
            set=SetConfig(radius=0.8),
            solver=SolverConfig(tol=1e-3),
            baselines=[],
        )
        assert run.result["certificate_kind"] == "none"


@pytest.mark.filterwarnings("ignore:stopped on the Frank-Wolfe gap")
def test_interval(tmp_path):
    path = tmp_path / "interval.npz"
    eye = np.eye(2)
    np.savez(path, points=np.stack([4 * eye, np.diag([5.0, 3.0])]), lower=0.5 * eye, upper=2 * eye)
    run = solved(
        tmp_path,
        manifold=ManifoldConfig("spd"),
        objective=ObjectiveConfig("frechet_mean", str(path)),
        set=SetConfig("interval"),
    )
    x = torch.tensor(run.result["x"])
    assert torch.allclose(x, 2 * torch.eye(2), atol=1e-4)


@pytest.mark.parametrize("name", ["lorentz", "poincare", "euclidean", "log-euclidean"])
def test_other_manifolds_from_npz(tmp_path, name):
    from iclr26_riemannian_fw.job import MANIFOLDS

    manifold = MANIFOLDS[name]()
    center = {"lorentz": np.eye(3)[0], "log-euclidean": np.eye(2)}.get(name, np.zeros(2))
    base = torch.from_numpy(center)
    points = manifold.exp(
        base.expand(3, *base.shape),
        manifold.random_tangent(base.expand(3, *base.shape), torch.Generator().manual_seed(1)),
    )
    np.savez(tmp_path / "points.npz", points=points.numpy(), center=center)
    objective = ObjectiveConfig("frechet_mean", str(tmp_path / "points.npz"))
    run = solved(
        tmp_path,
        manifold=ManifoldConfig(name),
        objective=objective,
        set=SetConfig(radius=0.2),
        baselines=["projected-gradient"],
    )
    assert run.metric("certificate") <= 1e-8
    assert run.metric("final_loss") == pytest.approx(run.metric("final_loss", "projected-gradient"), abs=1e-8)


def test_missing_certificate_is_an_error_after_everything_is_written(tmp_path):
    with pytest.raises(NotConverged, match=r"must be <= 1e-12 .*raise solver.max_iter"):
        solved(tmp_path, solver=SolverConfig(step="open-loop", max_iter=1, tol=1e-12), baselines=[])
    (result,) = tmp_path.glob("*/result.json")
    assert not json.loads(result.read_text())["converged"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"set": SetConfig(hub="XYZ1")}, "IATA code"),
        ({"set": SetConfig(radius=1.6)}, "ball not strictly convex"),
        ({"manifold": ManifoldConfig("spd")}, "airports need a sphere"),
        ({"objective": ObjectiveConfig("weighted_frechet")}, "needs weights"),
        ({"objective": ObjectiveConfig("frechet_mean", "missing.csv")}, "must be a file"),
        ({"objective": ObjectiveConfig("free_energy")}, "must be spd"),
        ({"set": SetConfig("interval")}, "must be spd for an interval"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(tmp_path, parts, message):
    with pytest.raises(UsageError, match=message):
        solved(tmp_path, **parts)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n", "no rows"),
        ("x,y,z\n1,0,zero\n", "could not convert"),
        ("x,y,z\n1,0,nan\n", "finite"),
        ("x,y,z\n1,1,0\n", "norm 1"),
    ],
)
def test_bad_csv_is_refused(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(UsageError, match=message):
        solved(tmp_path, objective=ObjectiveConfig("frechet_mean", str(path)), set=SetConfig(center=[1.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SetConfig(radius=0.0), "set.radius"),
        (lambda: SolverConfig(tol=0.0), "solver.tol"),
        (lambda: SolverConfig(max_iter=0), "solver.max_iter"),
        (lambda: SolverConfig(smoothness=-1.0), "solver.smoothness"),
        (lambda: ObjectiveConfig(data="points.txt"), "objective.data"),
        (lambda: ObjectiveConfig(temperature=-1.0), "objective.temperature"),
        (lambda: TablesConfig(size=2), "size"),
    ],
)
def test_configs_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
def test_tables_reproduce_the_figures_at_a_smaller_size(tmp_path, capsys):
    """Both tables; n = 30 here, n = 500 by default (slow test below)."""
    record = run_job("riemannian-fw", "tables", TablesConfig(size=30, starts=1), options=Options(out=tmp_path))
    text = capsys.readouterr().out
    assert "60 x 30" in text
    assert "boundary" in text
    assert "premise" in text
    assert "NO" not in text
    assert "quadratic.png" in record.artifacts


@pytest.mark.slow
def test_quadratic_table_of_section_six():
    """Against our figures of section 6 at n = 500: h within a factor 4 (random A), premise failure of the wide A."""
    from iclr26_riemannian_fw.study.section6 import quadratic_curves
    from iclr26_riemannian_fw.study.threads import one_thread

    with one_thread():
        curves = {(c.rows, c.rule): c for c in quadratic_curves(500, 0)}
    expected = {"open-loop": (3.7e-2, 6.8e-3, 5.1e-4, 5.5e-5), "short": (2.1e-2, 1.0e-3, 9.8e-8, None)}
    for rule, figures in expected.items():
        for t, figure in zip((10, 30, 100, 299), figures, strict=True):
            if figure is not None:
                assert figure / 4 <= curves[1000, rule].error[t] <= 4 * figure, (rule, t)
    for rule in ("line-search", "backtracking"):
        assert curves[1000, rule].error[100] <= 1e-7
        assert np.nan_to_num(curves[1000, rule].error)[-1] <= 1e-13
    assert curves[1000, "short"].depth == pytest.approx(1.0, abs=1e-6)
    assert curves[1000, "short"].gradient > 1e-2
    assert 0.6 < curves[250, "short"].depth < 0.9
    assert curves[250, "short"].gradient < 1e-5


def test_airports_are_read_without_pandas():
    airports = data.load_airports()
    assert len(airports.codes) == 3376
    latitude, longitude = data.to_degrees(airports.at("ATL").numpy())
    assert (latitude, longitude) == pytest.approx((33.640444, -84.426944), abs=1e-6)
