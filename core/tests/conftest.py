"""What the tests share: distributions made on the spot, and the real command run on them in a subprocess."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from iclr26_core.catalogue import CATALOGUE

INSTALLED = Path(__file__).parent / "installed"
SCRIPT = Path(sysconfig.get_path("scripts")) / "iclr26"
PLUGIN = """
from iclr26_core import Job, Method, hookimpl
@hookimpl
def iclr26_methods():
    job = Job(name="run", target="{module}.work:run", config="{module}.work:Config")
    return [Method(name="{name}", kind="detector", target="{module}.work:Detector", jobs=(job,),
                   claims="{module}.work:claims", summary="Summary of {name}", title="Title", paper="https://x")]
"""
WORK = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Config:
    '''None.'''
class Detector:
    def fit(self, examples, labels): return self
    def score(self, examples): return [0.0 for _ in examples]
def run(config, run): run.metric("auroc", 0.5)
def claims(run): yield from ()
"""


def distribution(
    site: Path,
    name: str,
    plugin: str = PLUGIN,
    *,
    package: str | None = None,
    group: str = "iclr26.v1",
    metadata: str | None = None,
) -> str:
    """Return the module of a new distribution in a folder: metadata, entry point, a plugin module and its work."""
    package = package or f"iclr26-{name}"
    module = package.replace("-", "_")
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(metadata or f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}.plugin\n")
    (site / module).mkdir()
    (site / module / "__init__.py").touch()
    (site / module / "plugin.py").write_text(
        textwrap.dedent(plugin).replace("{module}", module).replace("{name}", name)
    )
    (site / module / "work.py").write_text(WORK)
    return module


@dataclass(frozen=True)
class Command:
    """The command ``iclr26`` with the distributions of one folder; members of this workspace are left out."""

    site: Path | str
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def environment(self, **variables: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ICLR26_", "MLFLOW_"))}
        fixed = {
            "PYTHONPATH": str(self.site),
            "PYTHONWARNINGS": "error",
            "ICLR26_DISABLE": ",".join(CATALOGUE),
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        return {**kept, **fixed, **self.variables, **variables}

    def start(self, *arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [SCRIPT, *arguments],
            env=self.environment(**variables),
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __call__(self, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **variables)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def python(self, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=self.environment(**variables),
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=120,
        )

    def cpu_seconds(self, *arguments: str) -> float:
        """Return user and system time of one run, of this child and of no other."""
        process = subprocess.Popen(
            [SCRIPT, *arguments], env=self.environment(), cwd=self.folder, stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_utime + usage.ru_stime


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Return when the condition holds; fail after this many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the variables of whoever runs the tests, and the members of this workspace."""
    for name in list(os.environ):
        if name.startswith(("ICLR26_", "MLFLOW_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ICLR26_DISABLE", ",".join(CATALOGUE))


@pytest.fixture(scope="session")
def command_of() -> type[Command]:
    """The class behind the command, for fixtures of a wider scope: ``command_of(site, folder)``."""
    return Command


@pytest.fixture(scope="session")
def wait() -> Callable[..., None]:
    """Wait for a condition."""
    return wait_for


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder for distributions."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def install(site: Path) -> Callable[..., str]:
    """Install a distribution into ``site``: ``install(name, plugin_source)`` returns its module."""
    return functools.partial(distribution, site)


@pytest.fixture
def iclr26(site: Path, tmp_path: Path) -> Command:
    """The command with what the test installs into ``site``."""
    return Command(site, tmp_path)


@pytest.fixture
def imported(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``site``, also on this process's path; its modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(site)
    yield site
    for name in set(sys.modules) - before:
        if str(site) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(scope="session")
def nineteen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nineteen light plugins, ``light-00`` to ``light-18``."""
    site = tmp_path_factory.mktemp("nineteen")
    for number in range(19):
        distribution(site, f"light-{number:02}")
    return site


@pytest.fixture
def federation(nineteen: Path, site: Path, tmp_path: Path) -> Command:
    """The command with nineteen light plugins and what the test installs into ``site``."""
    return Command(f"{nineteen}{os.pathsep}{site}", tmp_path)


@pytest.fixture(scope="session")
def descent_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the method ``descent`` installed."""
    site = tmp_path_factory.mktemp("descent")
    distribution(site, "descent")
    shutil.rmtree(site / "iclr26_descent")
    (site / "iclr26_descent-1.0.dist-info" / "entry_points.txt").write_text("[iclr26.v1]\ndescent = descent.plugin\n")
    shutil.copytree(INSTALLED / "descent", site / "descent", ignore=shutil.ignore_patterns("__pycache__"))
    return site


@pytest.fixture
def descent(descent_site: Path, tmp_path: Path) -> Command:
    """The command with the method ``descent`` installed, its runs below ``tmp_path / "runs"``."""
    return Command(descent_site, tmp_path, {"ICLR26_OUT": str(tmp_path / "runs")})


@pytest.fixture
def descent_here(descent_site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The method ``descent`` importable in this process, with runs below the folder that is returned."""
    monkeypatch.syspath_prepend(descent_site)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ICLR26_OUT", str(tmp_path / "runs"))
    yield tmp_path / "runs"
    for name in [name for name in sys.modules if name.partition(".")[0] == "descent"]:
        del sys.modules[name]
