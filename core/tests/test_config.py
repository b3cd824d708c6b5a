"""Options: flags, TOML, their errors; through the real command, and in this process where there are many cases."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from iclr26_core import config
from iclr26_core.errors import ConfigError, UsageError
from iclr26_core.options import Options


@dataclass(frozen=True)
class Inner:
    """A table.

    Attributes:
        rate: A rate in [0, 1].
        loud: A switch.
    """

    rate: float = 0.5
    loud: bool = False

    def __post_init__(self):
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate must be in [0, 1] (got {self.rate})")


@dataclass(frozen=True)
class Config:
    """Options of every type that a job may have.

    Attributes:
        learning_rate: Length of a step.
        steps: How many.
        mode: Which way.
        name: Free text.
        maybe: A number or nothing.
        sizes: Some integers.
        pair: Two floats.
        folder: A path.
        weights: Numbers by name.
        inner: A table.
        inners: A list of tables.
        quiet: A switch.
    """

    learning_rate: float = 0.1
    steps: int = 3
    mode: Literal["fast", "exact"] = "fast"
    name: str = ""
    maybe: float | None = None
    sizes: list[int] = field(default_factory=lambda: [1, 2])
    pair: tuple[float, float] = (0.9, 0.999)
    folder: Path = Path("data")
    weights: dict[str, float] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)
    inners: list[Inner] = field(default_factory=lambda: [Inner(), Inner(0.25)])
    quiet: bool = False

    def __post_init__(self):
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be > 0 (got {self.learning_rate}): try 0.1")


def parsed(*arguments: str) -> Config:
    return config.parse(Config, arguments, prog="test")[0]


def shared(*arguments: str) -> Options:
    return config.parse(Config, arguments, prog="test")[1]


@pytest.fixture
def toml(tmp_path):
    def write(text: str) -> str:
        (tmp_path / "file.toml").write_text(text)
        return str(tmp_path / "file.toml")

    return write


def test_without_arguments_every_option_has_its_default():
    assert config.parse(Config, [], prog="test") == (Config(), Options())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--learning_rate", "1e-3"], Config(learning_rate=1e-3)),
        (["--learning-rate=.5"], Config(learning_rate=0.5)),
        (["--learning_rate", "2"], Config(learning_rate=2.0)),
        (["--learning_rate", "inf"], Config(learning_rate=math.inf)),
        (["--maybe=-inf"], Config(maybe=-math.inf)),
        (["--maybe", "0.5"], Config(maybe=0.5)),
        (["--maybe", "null"], Config()),
        (["--mode", "exact"], Config(mode="exact")),
        (["--name", "5"], Config(name="5")),
        (["--name", "inf"], Config(name="inf")),
        (["--name", "true"], Config(name="true")),
        (["--name=--learning-rate"], Config(name="--learning-rate")),
        (["--name", "a-b = c # d"], Config(name="a-b = c # d")),
        (["--sizes", "[4, 5]"], Config(sizes=[4, 5])),
        (["--pair", "[0.5, 1]"], Config(pair=(0.5, 1.0))),
        (["--folder", "/no/such/folder"], Config(folder=Path("/no/such/folder"))),
        (["--weights.a", "1"], Config(weights={"a": 1.0})),
        (["--inner.rate", "0.25"], Config(inner=Inner(0.25))),
        (["--inner.loud"], Config(inner=Inner(loud=True))),
        (["--inners", '[{"rate": 0.75}]'], Config(inners=[Inner(0.75)])),
        (["--quiet"], Config(quiet=True)),
        (["--quiet", "--steps", "5"], Config(quiet=True, steps=5)),
        (["--quiet", "false"], Config()),
        (["--quiet=true"], Config(quiet=True)),
        (["--steps", "4", "--steps", "5"], Config(steps=5)),
    ],
)
def test_flags_are_read_by_the_type_of_their_field(arguments, expected):
    assert parsed(*arguments) == expected


def test_toml_is_read_by_the_type_of_the_fields(toml):
    path = toml("""
        learning_rate = inf
        steps = 7
        sizes = []
        pair = [0.5, 1]
        out = "there"
        resume = true
        weights = {a = 1}
        inner = {rate = 0.125}
        [[inners]]
        rate = 1
        [[inners]]
        loud = true
    """)
    expected = Config(
        learning_rate=math.inf,
        steps=7,
        sizes=[],
        pair=(0.5, 1.0),
        weights={"a": 1.0},
        inner=Inner(0.125),
        inners=[Inner(1.0), Inner(loud=True)],
    )
    assert config.parse(Config, ["--config", path], prog="test") == (expected, Options(out=Path("there"), resume=True))


def test_flags_after_a_file_win(toml):
    path = toml("steps = 7\n[inner]\nrate = 0.125\nloud = true")
    assert parsed("--config", path, "--steps", "9", "--inner.rate", "1") == Config(steps=9, inner=Inner(1.0, True))
    assert parsed(f"--config={path}") == Config(steps=7, inner=Inner(0.125, True))


@pytest.mark.parametrize("flag", ["--tracking-uri", "--tracking_uri"])
def test_dashes_and_underscores_in_flags_are_the_same(flag):
    assert shared(flag, "sqlite:///a-b.db").tracking_uri == "sqlite:///a-b.db"


def test_resume_is_a_switch_or_has_a_value():
    assert shared("--resume").resume
    assert shared("--resume", "--seed", "5") == Options(resume=True, seed=5)
    assert not shared("--resume", "false").resume


REFUSED_FLAGS = {
    "unknown": (["--learning_rat", "1"], ["learning_rat", "did you mean 'learning_rate'"]),
    "unknown with dashes": (["--learning-rates", "1"], ["learning_rates", "did you mean 'learning_rate'"]),
    "unknown and far": (["--zzz", "1"], ["zzz", "see --help"]),
    "unknown in a table": (["--inner.rat", "1"], ["inner.rat", "did you mean 'inner.rate'"]),
    "unknown in a list of tables": (["--inners", '[{"rat": 1}]'], ["inners.rat", "did you mean 'inners.rate'"]),
    "unknown shared": (["--sed", "1"], ["sed", "did you mean 'seed'"]),
    "a prefix": (["--step", "1"], ["step", "did you mean 'steps'"]),
    "a word": (["zzzzz"], ["zzzzz", "see --help"]),
    "no value": (["--steps"], ["--steps", "expected one argument"]),
    "text for int": (["--steps", "many"], ["steps", "must be int", "many"]),
    "float for int": (["--steps", "2.5"], ["steps", "must be int", "2.5"]),
    "text for float": (["--learning_rate", "fast"], ["learning_rate", "must be float", "fast"]),
    "text for maybe": (["--maybe", "fast"], ["maybe", "must be float", "fast"]),
    "text for switch": (["--quiet", "perhaps"], ["quiet", "must be bool", "perhaps"]),
    "text for list": (["--sizes", "many"], ["sizes", "must be list", "many"]),
    "float in list": (["--sizes", "[1.5]"], ["sizes", "must be int", "1.5"]),
    "short tuple": (["--pair", "[1]"], ["pair", "tuple with 2 elements", "[1]"]),
    "choice": (["--mode", "slow"], ["mode", "'fast', 'exact'", "slow"]),
    "text in table": (["--inner.rate", "fast"], ["inner.rate", "must be float", "fast"]),
    "number for table": (["--inner", "3"], ["inner", "must be a table", "--inner.NAME", "3"]),
    "range": (["--learning_rate", "-1"], ["learning_rate", "must be > 0", "-1", "try 0.1"]),
    "range in table": (["--inner.rate", "7"], ["rate", "must be in [0, 1]", "7"]),
    "range in list of tables": (["--inners", '[{"rate": 7}]'], ["rate", "must be in [0, 1]", "7"]),
    "seed range": (["--seed", "-1"], ["seed", "must be in [0, 2**32)", "-1"]),
    "seed type": (["--seed", "true"], ["seed", "must be int", "True"]),
    "tracker": (["--track", "wandb"], ["track", "'none', 'mlflow'", "wandb"]),
    "missing file": (["--config", "no.toml"], ["--config must be a TOML file", "'no.toml'", "No such file"]),
    "folder for file": (["--config", "/"], ["--config must be a TOML file", "'/'"]),
    "no file": (["--config"], ["--config must be a TOML file"]),
}


@pytest.mark.parametrize("case", REFUSED_FLAGS)
def test_a_wrong_flag_names_key_value_and_what_is_right(case):
    arguments, needed = REFUSED_FLAGS[case]
    with pytest.raises(UsageError) as caught:
        parsed(*arguments)
    assert [text for text in needed if text not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


REFUSED_TOML = {
    "unknown": ("learning_rat = 1", ["learning_rat", "did you mean 'learning_rate'"]),
    "unknown table": ("[optimizer]\nlr = 1", ["optimizer", "it must be one of learning_rate, steps"]),
    "unknown in a table": ("[inner]\nrat = 1", ["inner.rat", "did you mean 'rate'"]),
    "unknown in a list of tables": ("[[inners]]\nrat = 1", ["inners.rat", "did you mean 'rate'"]),
    "dashes": ("learning-rate = 1", ["learning-rate", "did you mean 'learning_rate'"]),
    "text for int": ("steps = 'many'", ["steps", "must be int", "many"]),
    "float for int": ("steps = 2.5", ["steps", "must be int", "2.5"]),
    "text in table": ("[inner]\nrate = 'x'", ["inner.rate", "must be float", "x"]),
    "text in list of tables": ("[[inners]]\nrate = 'x'", ["inners.rate", "must be float", "x"]),
    "number for table": ("inner = 3", ["inner must be a table, under [inner]", "3"]),
    "table for list of tables": ("[inners]\nrate = 1", ["inners must be a list of tables", "[[inners]]", "1"]),
    "numbers for list of tables": ("inners = [1]", ["inners must be a list of tables", "[[inners]]", "[1]"]),
    "range": ("learning_rate = -1", ["learning_rate", "must be > 0", "-1"]),
    "range in list of tables": ("[[inners]]\nrate = 7", ["rate", "must be in [0, 1]", "7"]),
    "no TOML": ("steps = = 3", ["--config must be a TOML file", "file.toml", "line 1"]),
    "a number twice": ("steps = 3\nsteps = 4", ["--config must be a TOML file", "overwrite"]),
}


@pytest.mark.parametrize("case", REFUSED_TOML)
def test_a_wrong_file_names_key_value_and_what_is_right(case, toml):
    text, needed = REFUSED_TOML[case]
    with pytest.raises(ConfigError) as caught:
        parsed("--config", toml(text))
    assert [text for text in needed if text not in str(caught.value)] == []
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "file.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"must be a TOML file \(got '.*file.toml'\)"):
        parsed("--config", str(tmp_path / "file.toml"))


def test_help_of_every_flag_comes_from_the_docstring(capsys):
    with pytest.raises(SystemExit) as left:
        parsed("--help")
    assert left.value.code == 0
    help = capsys.readouterr().out
    for text in ("--learning_rate", "Length of a step", "A rate in [0, 1]", "--tracking_uri", "Seed of everything"):
        assert text in help


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--learning_rate", "inf", "--name", 'a "b" \\ # ü', "--sizes", "[]", "--pair", "[1, 2]", "--weights.a", "1"],
        ["--inner.rate", "1", "--inners", '[{"rate": 0.75, "loud": true}]', "--quiet", "--maybe", "1e-9"],
        ["--seed", "7", "--out", "a b/c", "--device", "cpu", "--track", "mlflow", "--tracking-uri", "http://x:5000"],
    ],
)
def test_the_printed_toml_read_back_gives_the_same_options(arguments, capsys, toml):
    with pytest.raises(SystemExit) as left:
        parsed(*arguments, "--print_config")
    assert left.value.code == 0
    again = ["--config", toml(capsys.readouterr().out)]
    assert config.parse(Config, again, prog="test") == config.parse(Config, arguments, prog="test")


def test_variables_are_the_defaults_of_the_shared_options(monkeypatch):
    monkeypatch.setenv("ICLR26_OUT", "/somewhere")
    monkeypatch.setenv("ICLR26_TRACK", "mlflow")
    assert shared() == Options(out=Path("/somewhere"), track="mlflow")
    assert shared("--out", "here", "--track", "none") == Options(out=Path("here"), track="none")


def test_the_command_refuses_a_wrong_option_with_exit_code_2_before_any_work(descent, tmp_path):
    (tmp_path / "file.toml").write_text("[start]\ny = 'low'")
    witness = tmp_path / "begun"
    for arguments, needed in [
        (["--learning-rte", "1"], "did you mean 'learning_rate'"),
        (["--config", "file.toml"], "start.y must be float (got low)"),
        (["--start.x", "11"], "x must be in [-10, 10] (got 11.0): start closer"),
    ]:
        done = descent("run", "descent", "minimise", "--witness", witness, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert needed in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not witness.exists()
    assert not (tmp_path / "runs").exists()


def test_the_command_takes_its_own_printed_config(descent, tmp_path):
    flags = ["--steps", "1", "--clip", "0.5", "--label", "ü", "--start.x", "2", "--variants", '[{"name": "other"}]']
    printed = descent("run", "descent", *flags, "--print-config")
    assert (printed.returncode, printed.stderr) == (0, "")
    (tmp_path / "file.toml").write_text(printed.stdout)
    again = descent("run", "descent", "--config", "file.toml", "--print_config")
    assert again.stdout == printed.stdout
    assert "clip = 0.5" in printed.stdout
    assert not (tmp_path / "runs").exists()


def test_a_wrong_variable_is_named_with_exit_code_2(descent):
    for command in (["run", "descent"], ["runs"]):
        done = descent(*command, ICLR26_TRACK="wandb", ICLR26_OUT="")
        assert done.returncode == 2
        assert "'wandb'" in done.stderr
        assert "ICLR26_TRACK" in done.stderr
