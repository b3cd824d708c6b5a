"""Discovery: twenty plugins, one of them broken in every way that a plugin can be."""

import json
import statistics
import sys

import pytest
from iclr26_core import Plugins, discovered
from iclr26_core import plugins as plugins_module
from iclr26_core.catalogue import CATALOGUE
from iclr26_core.errors import DuplicateMethod, IncompatiblePlugin, MethodNotFound, PluginError, UsageError
from pluggy import PluginValidationError as Invalid

NINETEEN = [f"light-{number:02}" for number in range(19)]
METHOD = """
from iclr26_core import Job, Method, hookimpl
def method(**changed):
    job = Job(name="run", target="x:run", config="x:Config")
    fields = dict(name="culprit", kind="detector", target="x:X", jobs=(job,), claims="x:claims", summary="S",
                  title="T", paper="P")
    return Method(**{**fields, **changed})
"""
BROKEN = {
    "raises at import": ("raise RuntimeError('a broken\\nlibrary')", "RuntimeError: a broken library"),
    "calls sys.exit at import": ("import sys; sys.exit(0)", "SystemExit: 0"),
    "is no Python": ("def (", "SyntaxError"),
    "misses a library": ("import no_such_library", "No module named 'no_such_library'"),
    "has no hook": ("x = 1", "has no hook"),
    "raises in its hook": (METHOD + "@hookimpl\ndef iclr26_methods(): 1 / 0", "ZeroDivisionError"),
    "calls sys.exit in its hook": (METHOD + "@hookimpl\ndef iclr26_methods(): raise SystemExit(3)", "SystemExit: 3"),
    "has a hook with a wrong signature": (METHOD + "@hookimpl\ndef iclr26_methods(config): return []", "config"),
    "has a recorder with a wrong signature": (
        METHOD + "@hookimpl\ndef iclr26_methods(): return [method()]\n@hookimpl\ndef iclr26_run_metrics(loss): pass",
        "loss",
    ),
    "returns a non-Method": (METHOD + "@hookimpl\ndef iclr26_methods(): return [method(), 'tracedet']", "'tracedet'"),
    "returns None": (METHOD + "@hookimpl\ndef iclr26_methods(): return None", "(got None)"),
    "returns one Method and no list": (
        METHOD + "@hookimpl\ndef iclr26_methods(): return method()",
        "must return a list",
    ),
    "has a summary that is no text": (
        METHOD + "@hookimpl\ndef iclr26_methods(): return [method(summary=None)]",
        "Method.summary must be one line of text (got None)",
    ),
    "duplicates a name": (
        METHOD + "@hookimpl\ndef iclr26_methods(): return [method(name='light-03')]",
        "'light-03' is offered by iclr26-light-03 and by zz-culprit",
    ),
    "names a method twice": (
        METHOD + "@hookimpl\ndef iclr26_methods(): return [method(), method()]",
        "'culprit' is offered by zz-culprit and by zz-culprit",
    ),
}


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_plugin_costs_one_line_and_never_the_listing(way, federation, install):
    source, reason = BROKEN[way]
    install("culprit", source, package="zz-culprit")

    listed = federation("list", "--json")
    assert listed.returncode == 0
    assert [method["name"] for method in json.loads(listed.stdout)] == NINETEEN
    (line,) = listed.stderr.splitlines()
    assert line.startswith("iclr26: broken plugin culprit (zz-culprit 1.0): ")
    assert reason in line


def test_doctor_names_every_culprit_with_its_traceback_and_exits_1(federation, install):
    for number, (source, _) in enumerate(BROKEN.values()):
        install(f"culprit-{number}", source, package=f"zz-culprit-{number}")
    examined = federation("doctor")
    assert examined.returncode == 1
    reports = examined.stdout.split("BROKEN plugin ")
    assert reports[0].count(": ok\n") == 19
    for number, (_, reason) in enumerate(BROKEN.values()):
        (report,) = [text for text in reports if text.startswith(f"culprit-{number} (zz-culprit-{number} 1.0)")]
        assert "Traceback (most recent call last)" in report
        assert reason.replace("zz-culprit", f"zz-culprit-{number}") in " ".join(report.split())
    assert examined.stdout.endswith(f"19 methods, {len(BROKEN)} broken\n")


def test_a_plugin_of_another_api_major_is_named_without_importing_it(federation, install, tmp_path):
    witness = tmp_path / "imported"
    source = f"open({str(witness)!r}, 'w').close()"
    install("culprit", source, package="zz-newer", group="iclr26.v2")
    install("elder", source, package="zz-elder", group="iclr26.v0")

    listed = federation("list", "--json")
    assert [method["name"] for method in json.loads(listed.stdout)] == NINETEEN
    elder, newer = listed.stderr.splitlines()
    assert "it speaks iclr26.v2, this core speaks iclr26.v1: pip install --upgrade iclr26-core" in newer
    assert "it speaks iclr26.v0, this core speaks iclr26.v1: pip install --upgrade zz-elder" in elder
    assert federation("doctor").returncode == 1
    assert not witness.exists()


def test_a_healthy_federation_passes_the_doctor(federation, install):
    install("light-19")
    examined = federation("doctor")
    assert (examined.returncode, examined.stderr) == (0, "")
    assert examined.stdout.endswith("20 methods, 0 broken\n")


def test_doctor_imports_the_targets_that_list_does_not(federation, install, site):
    module = install("culprit")
    (site / module / "work.py").write_text("import no_such_library")
    assert federation("list").stderr == ""
    examined = federation("doctor")
    assert examined.returncode == 1
    assert "culprit (iclr26-culprit 1.0): BROKEN" in examined.stdout
    assert "No module named 'no_such_library'" in examined.stdout
    assert "Traceback" in examined.stdout


@pytest.mark.parametrize("way", ["raises at import", "calls sys.exit at import", "duplicates a name"])
def test_strict_ends_the_command_and_not_with_success(way, federation, install):
    install("culprit", BROKEN[way][0], package="zz-culprit")
    strict = federation("list", ICLR26_STRICT="1")
    assert strict.returncode in (1, 3)
    assert "light" not in strict.stdout
    assert federation("list", ICLR26_STRICT="0").returncode == 0


def test_strict_raises_the_plugins_own_error(imported, install):
    install("culprit", "raise LookupError('lost')")
    with pytest.raises(LookupError, match="lost"):
        Plugins(strict=True)
    assert [type(broken.error) for broken in Plugins(strict=False).broken] == [LookupError]


def test_strict_turns_sys_exit_into_an_error(imported, install):
    install("culprit", "raise SystemExit(0)")
    with pytest.raises(PluginError, match=r"called sys.exit\(0\)"):
        Plugins(strict=True)


def test_variables_choose_the_plugins(federation, install):
    install("culprit", "raise RuntimeError")
    chosen = federation("list", "--json", ICLR26_PLUGINS="light-02, light-05")
    assert [method["name"] for method in json.loads(chosen.stdout)] == ["light-02", "light-05"]
    assert chosen.stderr == ""
    without = federation("list", "--json", ICLR26_DISABLE=",".join(["culprit", "light-00", *CATALOGUE]))
    assert [method["name"] for method in json.loads(without.stdout)] == NINETEEN[1:]
    assert without.stderr == ""


def test_what_a_plugin_prints_at_import_stays_off_stdout(federation, install):
    install("chatty", METHOD + "print('hello')\n@hookimpl\ndef iclr26_methods():\n print('hi'); return [method()]")
    listed = federation("list", "--json")
    assert "culprit" in [method["name"] for method in json.loads(listed.stdout)]
    assert listed.stderr == "hello\nhi\n"


def test_list_without_any_plugin_says_what_to_install(iclr26):
    listed = iclr26("list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "pip install" in listed.stdout
    assert json.loads(iclr26("list", "--json").stdout) == []


@pytest.mark.parametrize("count", [0, 1, 20])
def test_listing_takes_at_most_200_ms_of_cpu(count, federation, iclr26, install):
    for number in range({0: 0, 1: 1, 20: 1}[count]):
        install(f"heavy-{number}")
    command = federation if count == 20 else iclr26
    command("list")  # writes the byte code
    times = [command.cpu_seconds("list") for _ in range(5)]
    assert statistics.median(times) <= 0.200, times


def test_listing_imports_nothing_heavy(federation, install):
    install("light-19")
    heavy = [
        "torch",
        "numpy",
        "pandas",
        "mlflow",
        "rich",
        "transformers",
        "scipy",
        "sklearn",
        "jsonargparse",
        "matplotlib",
    ]
    done = federation.python(f"""
        import sys
        from iclr26_core import cli
        assert cli.main(["list"]) == 0
        print([name for name in {heavy} if name in sys.modules])
        print([name for name in sys.modules if name.endswith(".work")])
    """)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + 20 + 2
    assert done.stdout.splitlines()[-2:] == ["[]", "[]"]


def test_a_generator_is_as_good_as_a_list(imported, install):
    install("culprit", METHOD + "@hookimpl\ndef iclr26_methods():\n    yield method()\n    yield method(name='other')")
    plugins = Plugins()
    assert (sorted(plugins.methods()), plugins.broken) == (["culprit", "other"], [])


def test_a_plugin_may_follow_runs_and_describe_no_method(imported, install):
    install("watcher", "from iclr26_core import hookimpl\n@hookimpl\ndef iclr26_run_finished(run): pass")
    plugins = Plugins()
    assert (plugins.methods(), plugins.broken) == ({}, [])
    assert len(plugins.manager.hook.iclr26_run_finished.get_hookimpls()) == 1


def test_a_plugin_that_is_declared_twice_keeps_its_first_registration(imported, install, site):
    module = install("twice")
    info = site / f"{module}-1.0.dist-info" / "entry_points.txt"
    info.write_text(f"[iclr26.v1]\ntwice = {module}.plugin\ntwice-again = {module}.plugin\n")
    plugins = Plugins()
    assert list(plugins.methods()) == ["twice"]
    assert ["is loaded already" in str(broken) for broken in plugins.broken] == [True]
    assert sys.modules[f"{module}.plugin"] in plugins.manager.get_plugins()


@pytest.mark.parametrize("wrong", ["iclr26_methods(): 1 / 0", "iclr26_run_started(no): 0", "iclr26_methods(no): 0"])
def test_a_failed_plugin_does_not_follow_runs(wrong, imported, install):
    install("culprit", METHOD + f"@hookimpl\ndef {wrong}\n@hookimpl\ndef iclr26_run_finished(run): pass")
    plugins = Plugins()
    assert [type(broken.error) for broken in plugins.broken] == [ZeroDivisionError if "1 / 0" in wrong else Invalid]
    assert plugins.manager.get_plugins() == set()
    assert plugins.manager.hook.iclr26_run_finished.get_hookimpls() == []


def test_the_federations_own_package_wins_a_duplicate_name(imported, install):
    install("light", package="aa-stranger")
    install("light")
    plugins = Plugins()
    assert plugins.find("light").package == "iclr26-light"
    assert [(type(broken.error), broken.package) for broken in plugins.broken] == [(DuplicateMethod, "aa-stranger")]


def test_a_distribution_without_metadata_is_still_listed(imported, install):
    install("bare", metadata="Metadata-Version: 2.1\n")
    installed = Plugins().find("bare")
    assert (installed.package, installed.version) == ("unknown", "unknown")


def test_refresh_sees_a_distribution_that_appeared_later(imported, install):
    plugins = Plugins()
    assert plugins.methods() == {}
    install("late")
    assert plugins.methods() == {}
    plugins.refresh()
    assert list(plugins.methods()) == ["late"]


def test_functions_share_one_cached_instance_that_can_be_refreshed(imported, install):
    discovered.cache_clear()
    try:
        assert discovered() is discovered()
        install("late")
        discovered().refresh()
        assert list(plugins_module.methods(kind="detector")) == ["late"]
        assert plugins_module.methods(kind="editor") == {}
        assert plugins_module.get("late").__name__ == "Detector"
    finally:
        discovered.cache_clear()


def test_find_says_that_a_method_is_left_out_rather_than_not_installed(imported, install):
    install("tracer")
    with pytest.raises(MethodNotFound, match="tracer is installed and left out here: see ICLR26_PLUGINS"):
        Plugins(disable=["tracer"]).find("tracer")


def test_misspelt_hook_is_a_broken_plugin(imported, install):
    install("culprit", "import iclr26_core\n@iclr26_core.hookimpl\ndef iclr26_run_finishd(run): pass")
    (broken,) = Plugins().broken
    assert "iclr26_run_finishd" in str(broken)


def test_keyboard_interrupt_in_a_plugin_is_not_swallowed(imported, install):
    install("culprit", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        Plugins()


def test_find_says_why_a_broken_plugin_cannot_be_used(imported, install):
    install("culprit", "raise RuntimeError('no luck')")
    install("newer", group="iclr26.v2")
    plugins = Plugins()
    with pytest.raises(PluginError, match=r"culprit \(iclr26-culprit 1.0\): RuntimeError: no luck: see iclr26 doctor"):
        plugins.find("culprit")
    with pytest.raises(PluginError) as caught:
        plugins.find("newer")
    assert isinstance(caught.value.__cause__, IncompatiblePlugin)


def test_find_names_the_closest_method_or_the_pip_command(imported, install):
    install("tracer")
    plugins = Plugins()
    with pytest.raises(MethodNotFound, match="pip install iclr26-tracedet"):
        plugins.find("tracedet")
    with pytest.raises(MethodNotFound, match="did you mean 'tracer'"):
        plugins.find("tracerr")
    with pytest.raises(MethodNotFound, match="see iclr26 list"):
        plugins.find("zzzzzz")


def test_methods_of_a_kind_and_an_unknown_kind(imported, install):
    install("one")
    plugins = Plugins()
    assert list(plugins.methods("detector")) == ["one"]
    assert plugins.methods("decoder") == {}
    with pytest.raises(UsageError, match="did you mean 'detector'"):
        plugins.methods("detektor")
    with pytest.raises(UsageError, match="there are detector, decoder"):
        plugins.methods("zzz")


def test_only_and_disable_are_for_hosts(imported, install):
    install("one")
    install("two")
    assert list(Plugins(only=["one"]).methods()) == ["one"]
    assert list(Plugins(disable=["one", *CATALOGUE]).methods()) == ["two"]
    assert list(Plugins(only=[]).methods()) == []
