from pathlib import Path

import pytest
from iclr26_human_mme import HumanMmeBenchmark
from iclr26_human_mme.baselines import left_to_right, most_frequent_answer
from iclr26_human_mme.config import ScoreConfig
from iclr26_human_mme.job import read


def test_every_answer_is_what_python_says() -> None:
    for question in HumanMmeBenchmark(size=300).examples("test"):
        assert question.answer == eval(question.question.removesuffix(" = ?"))


def test_another_seed_asks_other_questions() -> None:
    here, there = (HumanMmeBenchmark(seed=seed).examples("test") for seed in (0, 1))
    assert [question.question for question in here] != [question.question for question in there]


def test_a_calculator_without_precedence_is_wrong_where_a_sum_comes_first() -> None:
    assert left_to_right("3 + 4 * 5 = ?") == 35
    assert left_to_right("3 * 4 + 5 = ?") == 17


def test_the_constant_rule_gives_the_most_frequent_answer_of_the_questions_it_knows() -> None:
    known = HumanMmeBenchmark(size=50).examples("validation")
    answers = [question.answer for question in known]
    best = most_frequent_answer(known)("any question")
    assert answers.count(best) == max(map(answers.count, answers))


def test_answers_are_read_from_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "test-0", "answer": 7}\n')
    assert read(path) == {"test-0": 7}
    path.write_text('{"id": "test-0", "answer": 7}\nseven\n')
    with pytest.raises(ValueError, match="line 2"):
        read(path)


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="size"):
        ScoreConfig(size=0)
    with pytest.raises(ValueError, match="answers"):
        ScoreConfig(answers=tmp_path / "missing.jsonl")
