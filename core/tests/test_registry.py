"""registry.toml: generated, checked, and its hand-kept part left as it is."""

import tomllib

import pytest
from iclr26_core import cli, registry
from iclr26_core.errors import UsageError

EXTERNALS = {
    "usual": '[external]\n# ours\nstranger = "stranger-plugin"\n',
    "comment behind": '[external]  # third parties\nstranger = "x"\n',
    "tables": '[external.stranger]\npackage = "x"\nurl = "https://example.org"\n',
    "ends of lines": '[external]\r\nstranger = "x"\r\n\r\n\t# odd \r\n',
    "no last newline": '[external]\nstranger = "é"',
}


@pytest.fixture
def workspace(imported, install, site, tmp_path):
    root = tmp_path / "workspace"
    for folder, project in {
        "core": '[project]\nname = "iclr26-core"\nversion = "1.2.3"\n',
        "packages/tracer": (
            '[project]\nname = "iclr26-tracer"\nversion = "4.5.6"\n'
            '[project.entry-points."iclr26.v1"]\ntracer = "iclr26_tracer.plugin"\n'
        ),
        "packages/lm": '[project]\nname = "iclr26-lm"\nversion = "7.8.9"\n',
    }.items():
        (root / folder).mkdir(parents=True)
        (root / folder / "pyproject.toml").write_text(project)
    install("tracer")
    return root


def test_write_then_check_passes(workspace, capsys):
    assert cli.main(["registry", "--write", "--root", str(workspace)]) == 0
    assert cli.main(["registry", "--check", "--root", str(workspace)]) == 0
    assert capsys.readouterr().out == ""


def test_members_and_methods_are_in_it_and_no_version(workspace):
    registry.write(workspace)
    text = (workspace / "registry.toml").read_text()
    content = tomllib.loads(text)
    assert content["members"] == {
        "core": {"package": "iclr26-core", "path": "core"},
        "lm": {"package": "iclr26-lm", "path": "packages/lm"},
        "tracer": {"package": "iclr26-tracer", "path": "packages/tracer"},
    }
    assert content["methods"]["tracer"] == {
        "package": "iclr26-tracer",
        "kind": "detector",
        "title": "Title",
        "paper": "https://x",
        "summary": "Summary of tracer",
        "gpu": "no",
        "status": "stable",
        "jobs": ["run"],
    }
    assert content["external"] == {}
    for version in ("1.2.3", "4.5.6", "7.8.9", "1.0"):
        assert version not in text


def test_a_changed_summary_makes_check_exit_1_and_print_the_difference(workspace, site, capsys):
    registry.write(workspace)
    plugin = site / "iclr26_tracer" / "plugin.py"
    plugin.write_text(plugin.read_text().replace("Summary of", 'A \\"new\\" word on'))
    before = (workspace / "registry.toml").read_bytes()
    import sys

    for name in ("iclr26_tracer.plugin", "iclr26_tracer"):
        sys.modules.pop(name, None)
    assert cli.main(["registry", "--check", "--root", str(workspace)]) == 1
    printed = capsys.readouterr().out
    assert '-summary = "Summary of tracer"' in printed
    assert '+summary = "A \\"new\\" word on tracer"' in printed
    assert (workspace / "registry.toml").read_bytes() == before
    registry.write(workspace)
    content = tomllib.loads((workspace / "registry.toml").read_text())
    assert content["methods"]["tracer"]["summary"] == 'A "new" word on tracer'


def test_a_missing_file_makes_check_exit_1(workspace, capsys):
    assert cli.main(["registry", "--check", "--root", str(workspace)]) == 1
    assert "+[methods.tracer]" in capsys.readouterr().out


@pytest.mark.parametrize("external", EXTERNALS.values(), ids=EXTERNALS)
def test_the_external_part_is_kept_byte_for_byte(external, workspace):
    path = workspace / "registry.toml"
    path.write_bytes(b"[methods.gone]\nsummary = 'old'\n\n" + external.encode())
    registry.write(workspace)
    written = path.read_bytes()
    assert written.endswith(b"\n" + external.encode())
    assert b"gone" not in written
    tomllib.loads(written.decode())
    registry.write(workspace)
    assert path.read_bytes() == written
    assert registry.difference(workspace) == ""


def test_the_readmes_table_is_written_between_its_markers_only(workspace):
    readme = workspace / "README.md"
    around = f"# Title\n{registry.TABLE_BEGIN}\nold\n{registry.TABLE_END}\nThe end\n"
    readme.write_text(around)
    assert "README.md" in registry.difference(workspace)
    registry.write(workspace)
    text = readme.read_text()
    assert text.startswith(f"# Title\n{registry.TABLE_BEGIN}\n")
    assert text.endswith(f"{registry.TABLE_END}\nThe end\n")
    assert "| [tracer](packages/tracer) | detector | Summary of tracer | [Title](https://x) |" in text
    assert registry.difference(workspace) == ""


def test_a_folder_that_is_no_workspace_is_named(tmp_path, capsys):
    assert cli.main(["registry", "--check", "--root", str(tmp_path)]) == 2
    assert f"--root must be the root of the workspace, with core/ and packages/ (got {tmp_path})" in (
        capsys.readouterr().err
    )


def test_a_member_that_is_not_installed_is_named(workspace):
    entry = workspace / "packages" / "tracer" / "pyproject.toml"
    entry.write_text(entry.read_text().replace("tracer = ", "absent = "))
    with pytest.raises(UsageError, match="iclr26-tracer is not installed, so its descriptor cannot be read: uv sync"):
        registry.render(workspace)
