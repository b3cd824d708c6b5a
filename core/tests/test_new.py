"""``iclr26 new``: eleven kinds of packages that are complete, clean, and pass their own tests at once."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from iclr26_core.errors import OutputError, UsageError
from iclr26_core.generator import new, template, workspace
from iclr26_core.kinds import KINDS

ROOT = Path(__file__).parents[2]
WORST = "zz-name-of-thirty-letters-long"  # as long as a name may be
HEAVY = ("torch", "numpy", "scipy", "sklearn", "transformers", "ase", "gymnasium", "rich", "jsonargparse")
PYPROJECT = """\
# Kept: what ties the members together.
[tool.uv.workspace]
members = ["core", "packages/*"]

[tool.uv.sources]
iclr26-core = { workspace = true }
iclr26-abme = { workspace = true }  # kept too
iclr26-tgmm = { workspace = true }

[dependency-groups]
dev = [
    "iclr26-core[mlflow,testing]",
    "iclr26-abme[plot]",
    "iclr26-tgmm",
    "nox>=2025.5.1",  # and this
]
"""
WITH_CHARM = PYPROJECT.replace("iclr26-tgmm = {", "iclr26-charm = { workspace = true }\niclr26-tgmm = {").replace(
    '    "iclr26-tgmm",', '    "iclr26-charm",\n    "iclr26-tgmm",'
)


@pytest.fixture(scope="module")
def eleven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a third party's package of each kind, ``my-<kind>``."""
    folder = tmp_path_factory.mktemp("eleven")
    for kind in KINDS:
        new.create(f"my-{kind}", kind, folder=folder)
    return folder


@pytest.fixture(scope="module")
def path_of_eleven(eleven: Path) -> str:
    """A path on which the eleven packages are installed, as far as metadata and sources go."""
    for kind in KINDS:
        info = eleven / "info" / f"my_{kind}-0.1.0.dist-info"
        info.mkdir(parents=True)
        project = tomllib.loads((eleven / f"my-{kind}" / "pyproject.toml").read_text())["project"]
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        points = [f"{name} = {module}" for name, module in project["entry-points"]["iclr26.v1"].items()]
        (info / "entry_points.txt").write_text("\n".join(["[iclr26.v1]", *points, ""]))
    return os.pathsep.join(str(path) for path in (eleven / "info", *eleven.glob("my-*/src")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a workspace with a core and no packages."""
    folder = tmp_path / "workspace"
    (folder / "core").mkdir(parents=True)
    (folder / "packages").mkdir()
    (folder / "core" / "pyproject.toml").touch()
    (folder / "pyproject.toml").write_text(PYPROJECT)
    return folder


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def rendered(folder: Path, slug: str, kind: str, *, member: bool) -> None:
    names = {**new._names(slug, kind, member), "author": 'Zoë "Q" $x'}
    for path, text in template.render(kind, names, licensed=member).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_a_complete_package(eleven: Path, kind: str) -> None:
    files = files_below(eleven / f"my-{kind}")
    module = f"src/my_{kind}"
    parts = ("__init__", f"my_{kind}", "plugin", "config", "job", "claims", "baselines")
    expected = {f"{module}/{name}.py" for name in parts}
    assert expected | {"pyproject.toml", "README.md", "CHANGELOG.md", f"{module}/py.typed"} <= files
    tests = "".join(path.read_text() for path in (eleven / f"my-{kind}" / "tests").glob("*.py"))
    assert f"({kind.capitalize()}Contract)" in tests
    assert "(PluginContract)" in tests
    assert "run.input(" in (eleven / f"my-{kind}" / module / "job.py").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_measured_claim_and_one_that_says_what_it_would_need(eleven: Path, kind: str) -> None:
    tree = ast.parse((eleven / f"my-{kind}" / "src" / f"my_{kind}" / "claims.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Claim"]
    given = [{keyword.arg for keyword in call.keywords} for call in calls]
    assert any("measured" in names and names & {"at_least", "at_most"} for names in given)
    assert any("needs" in names and "measured" not in names for names in given)


def test_the_detector_needs_no_torch(eleven: Path) -> None:
    project = tomllib.loads((eleven / "my-detector" / "pyproject.toml").read_text())["project"]
    assert {need.split(">")[0] for need in project["dependencies"]} == {"iclr26-core", "numpy", "scikit-learn"}


@pytest.mark.parametrize("member", [True, False])
def test_packages_of_short_and_long_names_are_clean_by_the_rules_of_the_repository(
    tmp_path: Path, member: bool
) -> None:
    for slug in ("a", "abc-de", WORST):
        for kind in KINDS:
            rendered(tmp_path / f"{slug}-{kind}", slug, kind, member=member)
    assert len(WORST) == new.LONGEST
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for command in (["check", "--output-format", "concise"], ["format", "--diff", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "."], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("member", [True, False])
def test_no_placeholder_is_left_and_the_pyproject_is_right(tmp_path: Path, kind: str, member: bool) -> None:
    rendered(tmp_path, "abc-de", kind, member=member)
    for path in files_below(tmp_path):
        text = (tmp_path / path).read_text().replace('Zoë \\"Q\\" $x', "")
        assert "$" not in text, path
        assert "MEASURED" not in text, path
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    assert project["name"] == ("iclr26-abc-de" if member else "abc-de")
    assert project["authors"] == [{"name": 'Zoë "Q" $x'}]
    assert project.get("license") == ("Apache-2.0" if member else None)
    assert project["entry-points"]["iclr26.v1"] == {"abc-de": f"{'iclr26_' if member else ''}abc_de.plugin"}
    assert "iclr26-core>=1.0,<2" in project["dependencies"]


def test_all_eleven_are_listed_with_their_kinds(
    path_of_eleven: str, tmp_path: Path, command_of: Callable[..., Callable]
) -> None:
    done = command_of(path_of_eleven, tmp_path)("list", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = {method["name"]: (method["kind"], method["package"]) for method in json.loads(done.stdout)}
    assert found == {f"my-{kind}": (kind, f"my-{kind}") for kind in KINDS}


def test_importing_the_eleven_packages_loads_nothing_heavy(
    path_of_eleven: str, tmp_path: Path, command_of: Callable[..., Callable]
) -> None:
    modules = [f"my_{kind}{part}" for kind in KINDS for part in ("", ".plugin", ".config")]
    code = f"import sys, {', '.join(modules)}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = command_of(path_of_eleven, tmp_path).python(code)
    assert done.stdout == "[]\n", done.stderr


def test_a_job_runs_and_leaves_a_record(
    path_of_eleven: str, tmp_path: Path, command_of: Callable[..., Callable]
) -> None:
    done = command_of(path_of_eleven, tmp_path)("run", "my-benchmark", "--size", "20", "--out", tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").glob("*/record.json")
    record = json.loads(path.read_text())
    assert record["status"] == "ok"
    assert set(record["baselines"]) == {"last-number", "most-frequent-answer"}
    assert record["inputs"]


def test_the_command_prints_how_to_go_on(tmp_path: Path, iclr26: Callable) -> None:
    done = iclr26("new", "my-detector", "--kind", "detector", "--author", "Ada")
    assert done.returncode == 0, done.stderr
    steps = [line.strip() for line in done.stdout.splitlines()[1:]]
    assert steps[0] == f"cd {tmp_path / 'my-detector'}"
    assert steps[2:] == ["pytest", "iclr26 run my-detector"]
    assert 'authors = [{ name = "Ada" }]' in (tmp_path / "my-detector" / "pyproject.toml").read_text()


def test_a_member_of_the_workspace_is_tied_to_it_and_nothing_else_in_the_root_changes(root: Path) -> None:
    target, steps = new.create("charm", "detector", folder=root)
    assert target == root / "packages" / "charm"
    assert steps[:3] == ["uv lock", "uv run iclr26 registry --write", "uv run pytest packages/charm"]
    assert (root / "pyproject.toml").read_text() == WITH_CHARM
    assert (target / "src" / "iclr26_charm" / "charm.py").is_file()
    assert "pip install iclr26-charm" in (target / "README.md").read_text()
    assert sorted(path.name for path in root.rglob("*") if path.name.startswith(".")) == []


def test_the_first_member_goes_behind_the_core() -> None:
    text = "".join(line for line in PYPROJECT.splitlines(keepends=True) if "abme" not in line and "tgmm" not in line)
    content = tomllib.loads(workspace.with_member(text, "iclr26-charm"))
    assert content["dependency-groups"]["dev"][:2] == ["iclr26-core[mlflow,testing]", "iclr26-charm"]


def test_the_root_of_this_repository_takes_a_member() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    changed = workspace.with_member(text, "iclr26-abc-de")
    assert set(changed.splitlines()) - set(text.splitlines()) == {
        "iclr26-abc-de = { workspace = true }",
        '    "iclr26-abc-de",',
    }
    assert len(changed.splitlines()) == len(text.splitlines()) + 2


@pytest.mark.parametrize(
    "text",
    [
        PYPROJECT.replace("workspace = true", "path = 'x'"),
        PYPROJECT.replace('    "iclr26', '  "iclr26'),
        PYPROJECT.replace("dev = [", "other = ["),
        WITH_CHARM,
    ],
)
def test_a_root_that_cannot_be_edited_is_left_alone(root: Path, text: str) -> None:
    (root / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=r"root pyproject\.toml"):
        new.create("charm", "detector", folder=root)
    assert (root / "pyproject.toml").read_text() == text
    assert list((root / "packages").iterdir()) == []


@pytest.mark.parametrize(
    ("slug", "kind", "words"),
    [
        ("My-Detector", "detector", "lower-case words"),
        ("my_detector", "detector", "lower-case words"),
        ("-my", "detector", "lower-case words"),
        ("3d", "detector", "a letter first"),
        ("x" * 31, "detector", "at most 30"),
        ("../my", "detector", "lower-case words"),
        ("iclr26-my", "detector", "without iclr26"),
        ("class", "detector", "word of Python"),
        ("plugin", "detector", "another file of a package"),
        ("tracedet", "detector", "pip install iclr26-tracedet"),
        ("json", "detector", "installed already"),
        ("pluggy", "detector", "installed already"),
        ("my-detector", "detektor", "did you mean 'detector'"),
        ("my-detector", "zebra", "there are detector, decoder"),
    ],
)
def test_what_cannot_be_is_refused_with_exit_code_2_and_nothing_written(
    tmp_path: Path, iclr26: Callable, slug: str, kind: str, words: str
) -> None:
    before = set(tmp_path.iterdir())
    done = iclr26("new", f"--kind={kind}", "--", slug) if slug.startswith("-") else iclr26("new", slug, "--kind", kind)
    assert done.returncode == 2, done.stderr
    if not slug.startswith("-"):
        assert words in done.stderr
    assert done.stdout == ""
    assert set(tmp_path.iterdir()) == before


def test_a_method_that_is_installed_is_refused(tmp_path: Path, install: Callable, iclr26: Callable) -> None:
    install("other-name", package="some-package")
    done = iclr26("new", "other-name", "--kind", "detector")
    assert done.returncode == 2
    assert "installed already" in done.stderr


def test_an_existing_folder_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "my-detector").mkdir()
    with pytest.raises(UsageError, match="there already"):
        new.create("my-detector", "detector", folder=tmp_path)
    assert list((tmp_path / "my-detector").iterdir()) == []


def test_a_member_needs_the_root_of_the_workspace(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs the root of the workspace"):
        new.create("my-detector", "detector", folder=tmp_path, federation=True)
    with pytest.raises(UsageError, match=f"--in {root}"):
        new.create("my-detector", "detector", folder=root / "packages")
    with pytest.raises(UsageError, match="must be a folder"):
        new.create("my-detector", "detector", folder=tmp_path / "missing")


def test_nothing_is_left_when_writing_fails(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(new, "write_atomically", full)
    with pytest.raises(OutputError, match="no space left"):
        new.create("charm", "detector", folder=root)
    assert list((root / "packages").iterdir()) == []
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OutputError, match="no space left"):
        new.create("charm", "detector", folder=root)
    assert list((root / "packages").iterdir()) == []
    assert (root / "pyproject.toml").read_text() == PYPROJECT


def run(*command: str | Path, folder: Path, seconds: float = 600.0) -> str:
    """Return what a command printed, run as a user would: without the variables of this test."""
    outer = ("ICLR26_", "PYTHON", "VIRTUAL_ENV", "UV_PROJECT")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    environment = {**kept, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "ICLR26_OUT": str(folder / "runs")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the core."""
    folder = tmp_path_factory.mktemp("wheel")
    run("uv", "build", "--quiet", "--package", "iclr26-core", "--wheel", "--out-dir", folder, folder=ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside of the repository with the core's wheel in an environment, and the eleven installed there."""
    folder = tmp_path_factory.mktemp("fresh")
    run("uv", "venv", "--quiet", "--python", sys.executable, "venv", folder=folder)
    install = ("uv", "pip", "install", "--quiet", "--python", "venv/bin/python")
    run(*install, f"{wheel}[testing]", folder=folder)
    for kind in KINDS:
        run("venv/bin/iclr26", "new", f"my-{kind}", "--kind", kind, folder=folder)
    run(*install, *(word for kind in KINDS for word in ("--editable", f"./my-{kind}")), folder=folder)
    return folder


@pytest.mark.slow
def test_the_eleven_are_installed_whole(fresh: Path) -> None:
    run("uv", "pip", "check", "--python", "venv/bin/python", folder=fresh)
    listed = run("venv/bin/iclr26", "list", folder=fresh).splitlines()[1:]
    assert [line.split()[:2] for line in listed] == sorted([f"my-{kind}", kind] for kind in KINDS)
    assert run("venv/bin/iclr26", "doctor", folder=fresh).endswith("11 methods, 0 broken\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_package_passes_its_own_tests_and_runs(fresh: Path, kind: str) -> None:
    python = fresh / "venv" / "bin" / "python"
    tested = run(python, "-m", "pytest", "-q", folder=fresh / f"my-{kind}")
    assert f"Test{kind.capitalize()}: " in tested
    assert f"my-{kind}" in run("venv/bin/iclr26", "run", f"my-{kind}", folder=fresh)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_package_has_its_claims_judged(fresh: Path, kind: str) -> None:
    printed = run("venv/bin/iclr26", "reproduce", f"my-{kind}", folder=fresh)
    assert "not testable here" in printed
    assert "holds " in printed or "fails " in printed


@pytest.mark.slow
def test_types_are_right_by_the_rules_of_the_repository(eleven: Path) -> None:
    sources = [str(path) for path in sorted(eleven.glob("my-*/src"))]
    options = ("--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(eleven / "cache"))
    run(sys.executable, "-m", "mypy", *options, *sources, folder=eleven)


@pytest.mark.slow
def test_a_third_party_is_there_in_less_than_a_minute_of_machine_time(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "venv", folder=tmp_path)
    run("venv/bin/pip", "install", "--quiet", f"{wheel}[testing]", folder=tmp_path)
    seconds = 0.0

    def timed(*command: str | Path, folder: Path) -> str:
        nonlocal seconds
        started = time.perf_counter()
        printed = run(*command, folder=folder)
        seconds += time.perf_counter() - started
        return printed

    timed("venv/bin/iclr26", "new", "my-detector", "--kind", "detector", folder=tmp_path)
    package = tmp_path / "my-detector"
    run("../venv/bin/pip", "install", "--quiet", "-e", ".", folder=package)
    assert " passed" in timed("../venv/bin/python", "-m", "pytest", folder=package)
    assert "my-detector" in timed("../venv/bin/iclr26", "list", folder=package)
    assert "1 methods, 0 broken" in timed("../venv/bin/iclr26", "doctor", folder=package)
    assert "maximum-probability" in timed("../venv/bin/iclr26", "run", "my-detector", folder=package)
    assert seconds < 60, f"took {seconds:.0f} s besides installing"
