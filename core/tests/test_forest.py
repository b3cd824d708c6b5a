"""Forest plots: well-formed, every value where it belongs, and no text over another."""

from __future__ import annotations

import math
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser import open_page
from iclr26_core.drawing import forest
from iclr26_core.drawing.axis import axis
from iclr26_core.drawing.forest import Mark, Panel

NAMESPACE = "{http://www.w3.org/2000/svg}"
OVERLAPS = """<!DOCTYPE html><meta charset="utf-8"><body>{svg}<script>
const texts = [...document.querySelectorAll("text")].map(t => [t.textContent, t.getBBox()]);
const bounds = document.querySelector("svg").viewBox.baseVal;
const found = [];
texts.forEach(([a, p], i) => {{
  if (p.x < 0 || p.x + p.width > bounds.width || p.y + p.height > bounds.height) found.push(a + " is outside");
  texts.slice(i + 1).forEach(([b, q]) => {{
    const across = Math.min(p.x + p.width, q.x + q.width) - Math.max(p.x, q.x);
    const down = Math.min(p.y + p.height, q.y + q.height) - Math.max(p.y, q.y);
    if (across > 0 && down > 1) found.push(a + " over " + b);
  }});
}});
document.body.innerHTML = "<p>" + texts.length + " texts; " + JSON.stringify(found) + "</p>";
</script>"""


def panels() -> list[Panel]:
    """Panels with long texts, wide letters, tiny and huge numbers, and values that are not finite."""
    draw = random.Random(0)
    made = []
    for size in (1e-9, 1.0, 123456.0):
        marks = []
        for name in ("sgd", "a baseline with a very long name " * 3, "方法の名前が長い" * 6, "", "W" * 90):
            middle, half = size * (1 + draw.random()), size * draw.random()
            text = f"{middle:.4g} [{middle - half:.4g}, {middle + half:.4g}] unclear"
            marks.append(Mark(label=name, text=text, value=middle, low=middle - half, high=middle + half, tone="bad"))
        made.append(Panel(title="a title that says a lot, " * 5, marks=marks, region=(size, math.inf), legend="shaded"))
    odd = [Mark(label=str(value), text="", value=value, low=-math.inf, high=math.inf) for value in (1.0, math.inf)]
    odd.append(Mark(label="not a number", text="nan", value=math.nan))
    wide = [Mark(label="wide", text="", value=10.0, low=1e-3, high=1e7)]
    return [*made, Panel(marks=odd), Panel(marks=wide), Panel(marks=[Mark(label="none", text="", value=math.nan)])]


def test_picture_is_well_formed_and_escaped() -> None:
    drawn = forest.svg([Panel(title="a < b & c", marks=[Mark(label="<i>", text='"', value=1.0)])], title='x " <y>')
    root = ElementTree.fromstring(drawn)
    assert root.get("aria-label") == 'x " <y>'
    texts = [element.text for element in root.iter(f"{NAMESPACE}text")]
    assert texts[:3] == ["a < b & c", "<i>", '"']
    assert "nan" not in forest.svg(panels(), title="all").replace(">nan<", "")
    assert "inf" not in forest.svg(panels(), title="all").replace(">inf<", "")


def test_values_stand_in_their_order() -> None:
    root = ElementTree.fromstring(
        forest.svg([Panel(marks=[Mark(label=str(v), text="", value=v) for v in (3.0, -1.0, 2.0)])], title="order")
    )
    places = [float(circle.get("cx")) for circle in root.iter(f"{NAMESPACE}circle")]
    assert places[1] < places[2] < places[0]
    assert (places[2] - places[1]) / (places[0] - places[1]) == pytest.approx(3 / 4, abs=0.001)


def test_region_ends_where_its_bound_is() -> None:
    panel = Panel(marks=[Mark(label="", text="", value=4.0, low=3.0, high=5.0)], region=(4.0, math.inf))
    root = ElementTree.fromstring(forest.svg([panel], title="region"))
    [shade] = [rect for rect in root.iter(f"{NAMESPACE}rect") if rect.get("class") == "shade"]
    [circle] = root.iter(f"{NAMESPACE}circle")
    assert float(shade.get("x")) == pytest.approx(float(circle.get("cx")), abs=0.1)
    assert float(shade.get("x")) + float(shade.get("width")) == pytest.approx(forest.RIGHT, abs=0.2)


def test_bad_is_told_by_its_shape_and_not_only_by_colour() -> None:
    good, bad = (
        forest.svg([Panel(marks=[Mark(label="", text="", value=1.0, tone=tone)])], title="x", styled=False)
        for tone in ("good", "bad")
    )
    assert "<circle" in good
    assert "<circle" not in bad


def test_ticks_lie_on_the_axis_in_order_and_are_round() -> None:
    draw = random.Random(1)
    for _ in range(500):
        middle = draw.choice((-1, 1)) * 10 ** draw.uniform(-9, 9)
        scale = axis([middle, middle * (1 + 10 ** draw.uniform(-4, 3))])
        assert scale is not None
        found = scale.ticks(356)
        assert 1 <= len(found) <= 7
        assert [value for value, _ in found] == sorted({value for value, _ in found})
        for value, label in found:
            assert -1e-9 <= scale.place(value) <= 1 + 1e-9
            assert float(label) == pytest.approx(value, rel=1e-9)


def test_far_apart_positive_values_are_drawn_by_their_logarithms() -> None:
    scale = axis([1e-3, 1e3])
    assert scale is not None
    assert scale.place(1.0) == pytest.approx(0.5)
    assert [label for _, label in scale.ticks(400)] == ["0.001", "0.1", "10", "1000"]
    linear = axis([0.0, 1e3])
    assert linear is not None
    assert not linear.logarithmic


def test_no_finite_value_has_no_axis() -> None:
    assert axis([math.nan, math.inf]) is None


def test_browser_finds_no_text_over_another_or_outside(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(OVERLAPS.format(svg=forest.svg(panels(), title="all")), encoding="utf-8")
    opened = open_page(page, tmp_path / "profile")
    assert opened.console == []
    count, _, found = opened.dom.partition("<p>")[2].partition(" texts; ")
    assert int(count) > 60
    assert found.startswith("[]")
