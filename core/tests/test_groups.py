"""Which runs may be set side by side: laws of grouping by fingerprints."""

from __future__ import annotations

import itertools

from iclr26_core.compare.groups import groups
from iclr26_core.record import Record


def run(name: str, seed: int, **inputs: str) -> Record:
    method = {"name": name, "package": name, "version": "1.0"}
    return Record(run_id=f"{name}-{seed}", method=method, job="run", config={}, seed=seed, inputs=inputs)


def members(*found: Record) -> list[list[str]]:
    return [sorted(group.members) for group in groups(found)]


def test_equal_inputs_are_together() -> None:
    assert members(run("a", 0, x="1"), run("b", 0, x="1")) == [["a", "b"]]


def test_names_of_inputs_do_not_matter() -> None:
    assert members(run("a", 0, x="1"), run("b", 0, y="1")) == [["a", "b"]]


def test_one_more_input_is_another_input() -> None:
    assert members(run("a", 0, x="1"), run("b", 0, x="1", y="2")) == [["a"], ["b"]]


def test_no_group_has_two_inputs_for_one_seed() -> None:
    """The law of the command, over all small cases: two methods, two seeds, three inputs."""
    for one, two, three, four in itertools.product("123", repeat=4):
        found = [run("a", 0, x=one), run("a", 1, x=two), run("b", 0, x=three), run("b", 1, x=four)]
        made = groups(found)
        assert sum(len(runs) for group in made for runs in group.members.values()) == 4
        for group in made:
            for seed in (0, 1):
                assert len({runs[seed].inputs["x"] for runs in group.members.values() if seed in runs}) <= 1


def test_inputs_that_differ_for_some_seeds_split_a_method() -> None:
    found = groups([run("a", 0, x="1"), run("a", 1, x="1"), run("a", 2, x="2")])
    assert [sorted(group.members["a"]) for group in found] == [[0, 1], [2]]


def test_inputs_that_differ_for_every_seed_do_not() -> None:
    found = groups([run("a", 0, x="1"), run("a", 1, x="2"), run("a", 2, x="3")])
    assert [sorted(group.members["a"]) for group in found] == [[0, 1, 2]]
    assert found[0].title == "x (per seed)"


def test_without_a_common_seed_only_one_fixed_input_is_comparable() -> None:
    assert members(run("a", 0, x="1"), run("b", 1, x="1")) == [["a", "b"]]
    assert members(run("a", 0, x="1"), run("b", 1, x="2")) == [["a"], ["b"]]
    assert members(run("a", 0, x="1"), run("a", 1, x="2"), run("b", 2, x="1")) == [["a"], ["b"]]


def test_runs_without_a_declared_input_are_alone() -> None:
    assert members(run("a", 0), run("b", 0)) == [["a"], ["b"]]
    assert members(run("a", 0, x="1"), run("b", 0)) == [["a"], ["b"]]
