"""What is checked before anything lands; ``nox -l`` lists the sessions, ``nox`` runs the usual ones.

Members come from registry.toml. Every ``tests`` session syncs its own member alone from the one lock file, so that an
undeclared import fails.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
REGISTRY = tomllib.loads((ROOT / "registry.toml").read_text(encoding="utf-8"))
MEMBERS = list(REGISTRY["members"])
PYTHONS = ["3.11", "3.12", "3.13"]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
LIST_CPU_SECONDS = 0.2
BUMPS = ["major", "minor", "patch"]
SHARED_FILES = {"uv.lock", "pyproject.toml", "noxfile.py"}
SHARED_FOLDERS = ("core/", ".ci/")

nox.needs_version = ">=2025.10.14"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = "GITHUB_ACTIONS" in os.environ
nox.options.sessions = ["lint", "types", "registry", f"tests-{HERE}"]

member_parameter = nox.parametrize("member", MEMBERS, ids=MEMBERS)


def sync(session: nox.Session, member: str, *options: str) -> Path:
    """Install one member with its test dependencies, as locked, into the session's environment; return its folder."""
    package = REGISTRY["members"][member]["package"]
    environment = {"UV_PROJECT_ENVIRONMENT": session.virtualenv.location, "VIRTUAL_ENV": ""}
    command = ["uv", "sync", "--locked", "--quiet", "--package", package, "--group", "test", *options]
    session.run(*command, env=environment, external=True)
    return ROOT / REGISTRY["members"][member]["path"]


def pytest(session: nox.Session, folder: Path, *options: str, **environment: str) -> None:
    """Run a member's tests; a member without tests of this kind is no failure."""
    session.chdir(folder)
    if folder == ROOT / "core":  # a thousand small tests, most of them commands: two at a time
        options = ("--numprocesses", "2", "--dist", "loadfile", *options)
    fixed = {
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": None,
    }  # torch takes seconds to import without its bytecode
    session.run("pytest", "-q", *options, *session.posargs, env={**fixed, **environment}, success_codes=[0, 5])


def group_needs(groups: dict[str, list[str | dict[str, str]]], name: str) -> list[str]:
    """Return the requirements of a dependency group and of the groups that it includes."""
    parts = [[need] if isinstance(need, str) else group_needs(groups, need["include-group"]) for need in groups[name]]
    return [need for part in parts for need in part]


@nox.session(python=PYTHONS)
@member_parameter
def tests(session: nox.Session, member: str) -> None:
    """The default tests of one member: at most a minute on two cores."""
    pytest(session, sync(session, member))


@nox.session(python=HERE)
@member_parameter
def slow(session: nox.Session, member: str) -> None:
    """The tests of one member that take longer."""
    pytest(session, sync(session, member), "-m", "slow")


@nox.session(python=HERE)
@member_parameter
def gpu(session: nox.Session, member: str) -> None:
    """The tests of one member that need a GPU; without one they fail."""
    pytest(session, sync(session, member), "-m", "gpu", ICLR26_REQUIRE_GPU="1")


@nox.session(python="3.11")
@member_parameter
def lowest(session: nox.Session, member: str) -> None:
    """The default tests of one member with the lowest versions that its pyproject allows."""
    package, path = (REGISTRY["members"][member][key] for key in ("package", "path"))
    extras = "[mlflow,testing]" if member == "core" else ""
    wheels = build(session, Path(session.virtualenv.location) / "wheels")
    pins = ["--resolution", "lowest-direct", "--find-links", str(wheels)]
    project = tomllib.loads((ROOT / path / "pyproject.toml").read_text(encoding="utf-8"))
    group = group_needs(project["dependency-groups"], "test")
    direct = [need for need in project["project"]["dependencies"] if not need.startswith("iclr26-")]
    session.run("uv", "pip", "install", "--quiet", *pins, f"{package}{extras}", *group, *direct, external=True)
    pytest(session, ROOT / path)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Ruff's rules and its format."""
    session.run("uv", "run", "--locked", "ruff", "check", external=True)
    session.run("uv", "run", "--locked", "ruff", "format", "--check", external=True)


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Mypy, strict, over the sources of every member."""
    sources = [str(Path(member["path"]) / "src") for member in REGISTRY["members"].values()]
    session.run("uv", "run", "--locked", "mypy", *sources, external=True)


@nox.session(venv_backend="none")
def registry(session: nox.Session) -> None:
    """The lock file and registry.toml are what the pyprojects and descriptors say."""
    session.run("uv", "lock", "--check", external=True)
    session.run("uv", "run", "--locked", "iclr26", "registry", "--check", external=True)


@nox.session(python=HERE, reuse_venv=False)
def wheels(session: nox.Session) -> None:
    """Every wheel, installed together into an empty environment without the sources."""
    folder = build(session, Path(session.virtualenv.location) / "wheels")
    constraints = folder / "constraints.txt"
    export = ["uv", "export", "--locked", "--quiet", "--all-packages", "--all-extras", "--no-emit-workspace"]
    session.run(*export, "--no-hashes", "--output-file", str(constraints), external=True, silent=True)
    files = [str(path) for path in sorted(folder.glob("*.whl"))]
    session.run("uv", "pip", "install", "--quiet", "--constraint", str(constraints), *files, external=True)
    session.run("uv", "pip", "check", external=True)
    session.chdir(folder)
    session.run("iclr26", "list")
    session.run("iclr26", "doctor")


@nox.session(python=HERE)
def federation(session: nox.Session) -> None:
    """Listing every member stays within its budget of CPU time; median of five."""
    environment = {"UV_PROJECT_ENVIRONMENT": session.virtualenv.location, "VIRTUAL_ENV": ""}
    session.run("uv", "sync", "--locked", "--quiet", "--all-packages", env=environment, external=True)
    command = [str(Path(session.bin) / "iclr26"), "list"]
    seconds = sorted(_cpu_seconds(command) for _ in range(5))[2]
    session.log(f"iclr26 list: {1000 * seconds:.0f} ms CPU with {len(REGISTRY.get('methods', {}))} methods")
    if seconds > LIST_CPU_SECONDS:
        session.error(f"iclr26 list must take at most {1000 * LIST_CPU_SECONDS:.0f} ms CPU")


@nox.session(python=HERE)
@member_parameter
def bench(session: nox.Session, member: str) -> None:
    """The benchmarks of one member, side by side with its peers."""
    folder = sync(session, member, "--all-extras")
    unset = {"OPENBLAS_CORETYPE": None, "OPENBLAS_L2_SIZE": None}
    for script in sorted(folder.glob("benchmarks/*.py")):
        session.run("python", str(script), *session.posargs, env=unset)


@nox.session(venv_backend="none")
def plan(session: nox.Session) -> None:
    """Print as JSON what a change needs: ``nox -s plan -- [--base REF]``; ``--slow`` prints the members, one a line."""
    arguments = list(session.posargs)
    base = arguments[arguments.index("--base") + 1] if "--base" in arguments else _default_base()
    chosen = affected(changed_since(base))
    print("\n".join(chosen["members"]) if "--slow" in arguments else json.dumps(chosen))


@nox.session(venv_backend="none")
def release(session: nox.Session) -> None:
    """Prepare a release of one member: ``nox -s release -- MEMBER major|minor|patch``; prints the tag's commands."""
    if len(session.posargs) != 2 or session.posargs[0] not in MEMBERS or session.posargs[1] not in BUMPS:
        session.error(f"usage: nox -s release -- MEMBER {'|'.join(BUMPS)}; members: {', '.join(MEMBERS)}")
    member, bump = session.posargs
    package, path = (REGISTRY["members"][member][key] for key in ("package", "path"))
    if dirty := _git("status", "--porcelain"):
        session.error(f"the tree must be clean; commit or stash first:\n{dirty}")
    changelog = ROOT / path / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if not unreleased(text):
        session.error(f"{path}/CHANGELOG.md has nothing under '## Unreleased': say what this release changes")
    session.run("uv", "version", "--package", package, "--bump", bump, external=True)
    version = tomllib.loads((ROOT / path / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    today = datetime.date.today().isoformat()
    changelog.write_text(
        text.replace("## Unreleased\n", f"## Unreleased\n\n## {version} ({today})\n", 1), encoding="utf-8"
    )
    session.run("uv", "lock", "--check", external=True)
    tag = f"{package}-v{version}"
    session.log(f"now look at the change and run:\n  git commit -am 'Release {package} {version}'")
    session.log(f"  git tag -a {tag} -m '{package} {version}'\n  git push origin HEAD {tag}")


def unreleased(changelog: str) -> str:
    """Return what a changelog says under ``## Unreleased``."""
    found = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def build(session: nox.Session, folder: Path) -> Path:
    """Build the wheel of every member into a folder; return it."""
    command = ["uv", "build", "--quiet", "--all-packages", "--wheel", "--clear", "--out-dir", str(folder)]
    session.run(*command, external=True)
    return folder


def changed_since(base: str | None) -> list[str] | None:
    """Return the files that differ from a commit, the untracked ones included; None without such a commit."""
    if base is None or subprocess.run(["git", "cat-file", "-e", base], cwd=ROOT, capture_output=True).returncode != 0:
        return None
    tracked = _git("diff", "--name-only", base).splitlines()
    return sorted({*tracked, *_git("ls-files", "--others", "--exclude-standard").splitlines()})


def affected(changed: list[str] | None) -> dict[str, list[str]]:
    """Return the members and the other sessions that changed files need; None is a change of everything."""
    if changed is None or any(path in SHARED_FILES or path.startswith(SHARED_FOLDERS) for path in changed):
        return {"members": MEMBERS, "sessions": ["lint", "types", "registry", "wheels", "federation"]}
    found = {m for m in MEMBERS for path in changed if path.startswith(REGISTRY["members"][m]["path"] + "/")}
    while new := {m for m in MEMBERS if _needs(m) & {REGISTRY["members"][f]["package"] for f in found}} - found:
        found |= new
    return {"members": [m for m in MEMBERS if m in found], "sessions": ["registry", "wheels"] if found else []}


def _needs(member: str) -> set[str]:
    """Return the packages of the federation that a member depends on."""
    path = ROOT / REGISTRY["members"][member]["path"] / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return {re.split(r"[\s\[<>=!~;]", need)[0] for need in project["dependencies"]}


def _default_base() -> str | None:
    """Return ICLR26_BASE, else the newest commit older than four hours: a submission is younger than that."""
    return os.environ.get("ICLR26_BASE") or _git("rev-list", "-1", "--before=4 hours ago", "HEAD") or None


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _cpu_seconds(command: list[str]) -> float:
    """Return the user and system time of a command and its children."""
    before = os.times()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system
