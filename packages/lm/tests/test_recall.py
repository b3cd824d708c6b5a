"""The autoregressive twin has learnt to look up its context; what it cannot look up it makes up."""

import pytest
from iclr26_lm import context_answers, context_questions, tiny_recall
from iclr26_lm.recall import VOCABULARY
from iclr26_lm.training.recall import ID, answerable_accuracy, training_texts


@pytest.fixture(scope="module")
def twin():
    return tiny_recall()


def test_the_twin_answers_what_the_context_holds(twin):
    """2048 fresh questions in training's check, 512 others here: see the README for the measured share."""
    assert answerable_accuracy(twin.model, count=512, seed=77) > 0.95


def test_without_the_name_in_the_context_every_value_is_a_hallucination(twin):
    for answer in context_answers(twin, context_questions(24, seed=5, answerable=0.0)):
        tokens = answer.text.split()
        assert answer.trace.labels.tolist() == [int(token != "<eos>") for token in tokens]
        assert answer.trace.labels.max() == 1
        assert answer.trace.meta["answerable"] is False


def test_answers_carry_exact_token_labels_and_attention(twin):
    wrong = 0
    for answer in context_answers(twin, context_questions(24, seed=6, answerable=1.0), hidden_layers=[2]):
        trace, question = answer.trace, answer.question
        assert trace.attn_diag.shape == (trace.nodes, 12)
        assert trace.hidden[2].shape == (trace.nodes, 64)
        assert trace.labels.tolist() == list(question.token_labels(answer.text.split()))
        said = twin.tokenizer.convert_ids_to_tokens(trace.input_ids[trace.prompt_len :].tolist())
        assert " ".join(said) == answer.text
        wrong += int(trace.labels.max())
    assert wrong <= 4


def test_the_row_that_predicts_a_value_attends_to_the_fact_it_came_from(twin):
    """What a graph of attention has to work with: some head of the row that predicts v1 looks at v1 in the context."""
    found = 0
    for answer in context_answers(twin, context_questions(24, seed=8, answerable=1.0)):
        trace, question = answer.trace, answer.question
        place = question.prompt.split().index(question.answer[0])
        found += float(trace.dense_attention()[:, trace.prompt_len - 1, place].max()) > 0.5
    assert found >= 20


@pytest.mark.parametrize("colon", [True, False])
def test_training_texts_are_what_questions_look_like(colon, generator):
    rows, targets = training_texts(5, facts=3, colon=colon, generator=generator)
    assert rows.shape == targets.shape
    for row, target in zip(rows.tolist(), targets.tolist(), strict=True):
        words = [VOCABULARY[i] for i in row]
        context, asked = words[1:16], words[16:]
        values = {tuple(context[i : i + 2]): context[i + 2 : i + 4] for i in range(0, 15, 5)}
        size = 7 if colon else 6
        for start in range(0, 4 * size, size):
            question = asked[start : start + size]
            assert question[0] == "?"
            assert question[-3:-1] == values[tuple(question[1:3])]
            assert question[-1] == "<eos>"
            kept = [word for word, i in zip(question, target[16 + start :], strict=False) if i >= 0]
            assert kept == [question[2], *question[-3:]]
        assert target[:16] == [-100] * 16
    assert ID["<pad>"] == 0
    assert not bool((rows == 0).any())
