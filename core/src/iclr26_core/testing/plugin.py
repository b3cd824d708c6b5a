"""The contract of every package: a light plugin module, targets that import, a run and claims that work offline."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from iclr26_core import record
from iclr26_core.entrypoints import Installed
from iclr26_core.kinds import KINDS
from iclr26_core.method import load_target
from iclr26_core.plugins import Plugins
from iclr26_core.testing import offline, readme
from iclr26_core.testing.contract import Contract

HEAVY = (
    "torch", "numpy", "scipy", "sklearn", "pandas", "matplotlib", "transformers", "triton", "torch_geometric",
    "mlflow", "ase", "rich", "jsonargparse",
)  # fmt: skip
LOADED = "import sys, {module}; print(*[name for name in {heavy!r} if name in sys.modules])"


class PluginContract(Contract, sealed=True):
    """Checks a package as its user meets it; commands run in a subprocess without a network.

    Attributes:
        method: name of the method
        quick: options that make the default job short enough for the default tests, seconds rather than minutes
    """

    quick: ClassVar[Sequence[str]] = ()

    @property
    def installed(self) -> Installed:
        """The method as discovery finds it, strictly."""
        return Plugins(only=[self.method], disable=[], strict=True).find(self.method)

    def test_plugin_module_and_package_import_nothing_heavy(self) -> None:
        package = self.installed.method.target.partition(":")[0].partition(".")[0]
        for module in (package, f"{package}.plugin"):
            code = LOADED.format(module=module, heavy=HEAVY)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.check(done.returncode == 0, f"import {module} failed: {done.stderr}")
            self.check(not done.stdout.split(), f"import {module} loads {done.stdout.split()}: make it lazy")

    def test_targets_import_and_fulfil_the_kind(self) -> None:
        method = self.installed.method
        target = method.load()
        for name, member in vars(KINDS[method.kind].protocol).items():
            if callable(member) and (not name.startswith("_") or name == "__call__"):
                self.check(callable(getattr(target, name, None)), f"{method.target} has no method {name!r}")
        self.check(callable(load_target(method.claims)), f"{method.claims} is not callable")
        for job in method.jobs:
            self.check(callable(load_target(job.target)), f"{job.target} is not callable")

    def test_configs_are_documented_dataclasses_with_defaults(self) -> None:
        for job in self.installed.method.jobs:
            config = load_target(job.config)
            self.check(dataclasses.is_dataclass(config), f"{job.config} must be a dataclass")
            for field in dataclasses.fields(config):
                given = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
                self.check(given, f"{job.config}.{field.name} needs a default, so that a run without options works")
                self.check(f"{field.name}:" in config.__doc__, f"{job.config}.{field.name} is not in the docstring")

    def test_names_agree_with_distribution_and_registry(self) -> None:
        installed = self.installed
        self.check(installed.method.name == self.method, f"the descriptor is called {installed.method.name!r}")
        if installed.package.startswith("iclr26-"):
            self.check(
                installed.package == f"iclr26-{self.method}", f"the distribution is called {installed.package!r}"
            )
        registered = _registered(self.method)
        if registered is not None:
            for field in ("kind", "summary", "paper"):
                here, there = getattr(installed.method, field), registered[field]
                self.check(here == there, f"registry.toml has {field} {there!r}, not {here!r}: iclr26 registry --write")

    def test_quick_run_leaves_a_record_with_baselines(self, tmp_path: Path) -> None:
        self._check_run(tmp_path, self.quick)

    @pytest.mark.slow
    def test_default_run_works_offline(self, tmp_path: Path) -> None:
        self._check_run(tmp_path, ())

    @pytest.mark.slow
    def test_every_claim_is_judged(self, tmp_path: Path) -> None:
        self._command(tmp_path, "reproduce", self.method)
        claims = self._record(tmp_path).claims
        self.check(claims, "reproduce judged no claim")
        self.check(len({claim["id"] for claim in claims}) == len(claims), "two claims have the same id")
        for claim in claims:
            for field in ("statement", "paper", "source", "verdict"):
                self.check(claim[field], f"claim {claim['id']!r} has no {field}")

    def test_readme_examples_print_what_the_readme_says(self, tmp_path: Path) -> None:
        path = readme.readme_of(type(self))
        self.check(path, "the package has no README.md beside its pyproject.toml")
        examples = readme.examples(path) if path else []
        self.check(examples, "README.md has no ```python block with a block of its output below it")
        for code, output in examples:
            done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
            self.check(done.returncode == 0, f"a README example fails:\n{code}\n{done.stderr}")
            self.check(
                done.stdout.strip() == output.strip(), f"a README example prints\n{done.stdout}\nand not\n{output}"
            )

    def test_unknown_option_is_refused_with_exit_code_2(self, tmp_path: Path) -> None:
        done = offline.iclr26(tmp_path, "run", self.method, "--no_such_option", "1")
        self.check(done.returncode == 2, f"an unknown option must exit with 2 (got {done.returncode}): {done.stderr}")
        self.check("no_such_option" in done.stderr, f"the error does not name the option: {done.stderr}")

    def _check_run(self, out: Path, options: Sequence[str]) -> None:
        done = self._command(out, "run", self.method, *options)
        self.check(self.method in done.stdout, "the table of metrics does not show the method")
        kept = self._record(out)
        self.check(kept.status == "ok", f"the run's status is {kept.status!r}: {kept.error}")
        self.check(kept.metrics, "the run kept no metrics")
        for baseline in self.installed.method.baselines:
            self.check(kept.baselines.get(baseline), f"the run kept no metrics of baseline {baseline!r}")

    def _command(self, out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = offline.iclr26(out, *arguments)
        self.check(done.returncode == 0, f"iclr26 {' '.join(arguments)} exited with {done.returncode}:\n{done.stderr}")
        return done

    def _record(self, out: Path) -> record.Record:
        found = record.records(out)
        self.check(len(found) == 1, f"one command must leave one record (found {len(found)})")
        return found[0][1]


def _registered(method: str) -> dict[str, Any] | None:
    """Return the method's section of the registry.toml above the working folder, or None outside of a workspace."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "registry.toml"
        if path.is_file():
            methods: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("methods", {})
            return methods.get(method, {"kind": None, "summary": None, "paper": None})
    return None
