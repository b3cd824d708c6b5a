"""The example host application offers what is installed and runs it, without knowing any method."""

from pathlib import Path

APP = Path(__file__).parents[1] / "examples" / "host_app" / "host_app.py"
RUN = f"import runpy, sys; sys.argv = ['host_app', *{{}}]; runpy.run_path({str(APP)!r}, run_name='__main__')"


def test_menu_names_the_installed_methods_by_kind_and_imports_none(descent):
    done = descent.python(
        f"import atexit, sys; atexit.register(lambda: print('work' in sys.modules))\n{RUN.format([])}"
    )
    assert done.returncode == 0, done.stderr
    assert "optimizer: minimises a loss over tensors" in done.stdout
    assert "  descent " in done.stdout
    assert done.stdout.rstrip().endswith("False")


def test_method_that_is_chosen_is_run_and_shown_beside_its_best_baseline(descent, tmp_path):
    done = descent.python(RUN.format(["descent", "--seed", "3", "--out", str(tmp_path / "mine")]))
    assert done.returncode == 0, done.stderr
    assert "loss: 0.26" in done.stdout
    assert "(best baseline: momentum inf)" in done.stdout
    assert len(list((tmp_path / "mine").glob("*/record.json"))) == 1


def test_unknown_method_is_answered_with_the_closest_name_and_no_traceback(descent):
    done = descent.python(RUN.format(["descnt"]))
    assert done.returncode == 3
    assert done.stderr.strip() == "there is no method 'descnt': did you mean 'descent'?"
