"""``iclr26 reproduce --all``: every method's claims, none of which can end the rest, and the pages about them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import open_page
from conftest import PLUGIN, Command, distribution
from iclr26_core.record import records
from rivals import collective, is_alive, rival, rivals


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, Any]:
    """The reproduction of a good, a failing and a broken method, made once: the command and how it ended."""
    command = rivals(tmp_path_factory.mktemp("reproduced"), good=0.3, failing=0.3)
    distribution(command.site, "broken", "import no_such_module")
    return command, command("reproduce", "--all", "--out", "out", "--report", "report")


@pytest.fixture(scope="module")
def page(reproduced: tuple[Command, Any]) -> str:
    return (reproduced[0].folder / "report" / "index.html").read_text(encoding="utf-8")


LOADING = ("src", "srcset", "data", "action", "poster", "background")


class Tables(HTMLParser):
    """The tables of a page as rows of cells, and every attribute that could load something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.headers: list[dict[str, str | None]] = []
        self.loads: list[str] = []
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in ("meta", "img", "rect", "line", "path", "circle"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag == "th":
            self.headers.append(dict(attributes))
        self.loads += [
            str(value) for name, value in attributes if name in ("src", "srcset", "data", "action", "poster")
        ]

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if {"th", "td"} & set(self.open):
            self.rows[-1][-1] += data


def test_one_failing_method_does_not_end_the_rest(reproduced: tuple[Command, Any]) -> None:
    _, done = reproduced
    assert done.returncode == 1, "a method that did not complete is exit code 1"
    assert re.search(r"failing +optimizer +1\.0 +1 +0 +0 +\d+ +RuntimeError: no <data> \| here", done.stdout)
    assert re.search(r"good +optimizer +1\.0 +1 +1 +1 +\d+ +ok", done.stdout)
    assert re.search(r"broken +– .* +broken plugin, ModuleNotFoundError", done.stdout)
    assert "Claims of 3 methods: 2 hold, 1 fail, 1 not testable here." in done.stdout


def test_a_failing_claim_is_no_failure_of_the_command(tmp_path: Path) -> None:
    command = rivals(tmp_path, good=0.3)
    done = command("reproduce", "--all", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "docs" / "reproduction").iterdir()) == ["README.md", "index.html"]


def test_runs_know_the_run_that_they_are_part_of(reproduced: tuple[Command, Any]) -> None:
    out = reproduced[0].folder / "out"
    _, whole = collective(out)
    assert whole.status == "ok"
    assert whole.artifacts == ["README.md", "index.html"]
    parts = [record for _, record in records(out) if record.run_id != whole.run_id]
    assert {record.parent for record in parts} == {whole.run_id}
    assert {record.method["name"]: record.status for record in parts} == {"good": "ok", "failing": "failed"}


def test_markdown_has_summary_and_claims(reproduced: tuple[Command, Any]) -> None:
    text = (reproduced[0].folder / "report" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^\| good \| optimizer \| 1\.0 \| 1 \| 1 \| 1 \| \d+ \| ok \|$", text, re.MULTILINE)
    assert r"RuntimeError: no \<data\> \| here" in text
    claims = [line for line in text.splitlines() if line.startswith("| holds |")]
    assert len(claims) == 2
    assert claims[1].startswith(
        r"| holds | It is \<b\>large\</b\> & good | 0.5 (Table 1) | 0.42 \[0.31, 0.55\] (n = 5, seeds 0, 1, 2) "
    )
    assert "| – not testable here |" in text
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")}
    assert widths == {9}, "every row has the eight cells of its table"


def test_page_says_everything_about_a_claim(page: str) -> None:
    rows = {tuple(row) for row in Tables(page).rows}
    assert {
        ("Paper", "0.5 (Table 1)"),
        ("Here", "0.42 [0.31, 0.55]"),
        ("Holds if", ">= 0.25"),
        ("Interval", "95 % t over seeds"),
        ("Repetitions", "n = 5, seeds 0, 1, 2"),
        ("Compared", "loss of good minus that of SGD"),
        ("Needs", "8 GPUs"),
    } <= rows
    assert "It is &lt;b&gt;large&lt;/b&gt; &amp; good" in page
    assert "The plot missing.png is missing from the run." in page
    assert "The plot notes.pdf is of type application/pdf, not an image." in page


def test_page_has_the_summary_at_the_top(page: str) -> None:
    rows = [row for row in Tables(page).rows if len(row) == 8]
    assert rows[0] == ["Method", "Kind", "Version", "Holds", "Fails", "Not testable here", "Seconds", "Status"]
    assert [row[0] for row in rows[1:]] == ["failing", "good", "broken", "All"]
    assert page.index('class="summary"') < page.index("<section")


def test_page_loads_nothing(page: str) -> None:
    found = Tables(page)
    assert found.loads, "the plot is in the page"
    assert all(source.startswith("data:image/png;base64,") for source in found.loads)
    assert not {"script", "link", "iframe", "object", "embed", "base"} & found.tags
    assert "url(" not in page
    assert "@import" not in page


def test_page_can_be_read_without_seeing_it(page: str) -> None:
    found = Tables(page)
    assert '<html lang="en">' in page
    assert '<meta name="viewport"' in page
    assert "<title>" in page
    assert all(header.get("scope") in ("row", "col") for header in found.headers)
    assert len(re.findall(r"<svg [^>]*role=\"img\" aria-label=\"[^\"]+\"", page)) == page.count("<svg")
    assert len(re.findall(r'<img [^>]*alt="[^"]+"', page)) == page.count("<img")
    assert "✓ holds" in page
    assert "✗ fails" in page
    assert page.count("<h1") == 1


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["0", "1"], ids=["dark", "light"])
def test_browser_shows_the_page_and_complains_of_nothing(page: str, tmp_path: Path, width: int, scheme: str) -> None:
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    options = (f"--window-size={width},900", f"--blink-settings=preferredColorScheme={scheme}")
    opened = open_page(tmp_path / "index.html", tmp_path / "profile", *options)
    assert opened.console == []
    assert Tables(opened.dom).rows == Tables(page).rows
    assert opened.dom.count("<svg") == page.count("<svg") > 0


def test_browser_would_complain_of_anything_from_outside(page: str, tmp_path: Path) -> None:
    """The check above can fail: the page's own policy refuses what is not in it, and the console says so."""
    for number, element in enumerate(('<img src="https://example.org/x.png">', "<script>document.title = 1</script>")):
        bad = tmp_path / f"{number}.html"
        bad.write_text(page.replace("</body>", f"{element}</body>"), encoding="utf-8")
        assert any("Content Security Policy" in line for line in open_page(bad, tmp_path / "profile").console)


def test_only_the_chosen_methods_are_reproduced(tmp_path: Path) -> None:
    command = rivals(tmp_path, good=0.3, failing=0.3)
    distribution(command.site, "broken", "import no_such_module")
    done = command("reproduce", "--all", "--only", "good", "--out", "out", "--report", "report")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report" / "README.md").read_text(encoding="utf-8")
    assert "iclr26 reproduce --all --scale small --only good" in text
    assert "failing" not in text


def test_a_method_without_claims_is_not_complete(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    distribution(tmp_path / "site", "silent", PLUGIN)
    done = Command(tmp_path / "site", tmp_path)("reproduce", "--all", "--out", "out", "--report", "report")
    assert done.returncode == 1
    assert "it has no claims" in done.stdout


@pytest.mark.slow
def test_time_limit_ends_a_method_and_keeps_what_it_had(tmp_path: Path, wait: Callable[..., None]) -> None:
    command = rivals(tmp_path, slow=0.3)
    rival(command.site, "zz-after")
    done = command("reproduce", "--all", "--timeout", "15", "--out", "out", "--report", "report")
    assert done.returncode == 1
    assert re.search(r"slow +optimizer +1\.0 +1 +0 +0 +15 +ran out of time after 15 s", done.stdout)
    assert re.search(r"zz-after +optimizer +1\.0 +1 +1 +1 +\d+ +ok", done.stdout)
    [(_, record)] = [found for found in records(tmp_path / "out") if found[1].method["name"] == "slow"]
    assert record.status == "interrupted"
    [file] = tmp_path.glob("out/*/child.pid")
    wait(lambda: not is_alive(int(file.read_text())), 5)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "needs the NAME of a method, or --all"),
        (("--all", "good"), 2, "takes a name or --all (got 'good' and --all): use --only good"),
        (("--scale", "paper", "good"), 2, "the options of good come behind it (got --scale before it)"),
        (("--all", "--only", "god"), 3, "no method 'god': did you mean 'good'"),
        (("--all", "--only", ","), 2, "must be names with commas between"),
        (("--all", "--scale", "big"), 2, "invalid choice: 'big'"),
        (("--all", "--report", "occupied"), 2, "choose another with --report"),
        (("--all", "--out", "occupied"), 2, "choose another with --out"),
    ],
)
def test_what_cannot_be_done_is_refused(
    reproduced: tuple[Command, Any], tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "occupied").touch()
    done = dataclasses.replace(reproduced[0], folder=tmp_path)("reproduce", *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_one_method_is_reproduced_as_before(reproduced: tuple[Command, Any], tmp_path: Path) -> None:
    done = dataclasses.replace(reproduced[0], folder=tmp_path)("reproduce", "good", "--scale", "small", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "not testable here" in done.stdout
    assert not (tmp_path / "docs").exists()
