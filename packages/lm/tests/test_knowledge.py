"""The knowledge base labels exactly; the shipped model hallucinates as its classes say."""

import collections

import pytest
import torch
from iclr26_lm import KnowledgeBase, context_questions, knowledge_answers, tiny_diffusion
from iclr26_lm.knowledge import CANVAS, FORMS, KINDS, PROMPT_LENGTH, VALUE_POSITIONS
from iclr26_lm.tiny import MODELS
from iclr26_lm.training.diffusion import masked_loss, statements


@pytest.fixture(scope="module")
def knowledge():
    return KnowledgeBase.generate(seed=0)


@pytest.fixture(scope="module")
def tiny():
    return tiny_diffusion()


def test_kinds_have_their_shares_and_their_statements(knowledge):
    counts = collections.Counter(fact.kind for fact in knowledge.facts)
    assert set(counts) == set(KINDS)
    assert {kind: round(count / 1200, 2) for kind, count in counts.items()} == {
        "frequent": 0.32, "rare": 0.2, "unseen": 0.2, "corrupted": 0.14, "confident-wrong": 0.14,
    }  # fmt: skip
    for fact in knowledge.facts:
        values = [value for value, _ in fact.stated]
        weights = [weight for _, weight in fact.stated]
        assert (fact.value in values) is (fact.kind in ("frequent", "rare", "corrupted"))
        assert (
            weights
            == {"frequent": [8], "rare": [1], "unseen": [], "corrupted": [4, 4], "confident-wrong": [8]}[fact.kind]
        )
        for value in values:
            assert value == fact.value or (value[0] != fact.value[0] and value[1] != fact.value[1])


def test_names_differ_and_the_same_seed_gives_the_same_facts(knowledge):
    assert len({fact.name for fact in knowledge.facts}) == 300
    assert KnowledgeBase.generate(seed=0) == knowledge
    assert KnowledgeBase.generate(seed=1) != knowledge
    with pytest.raises(ValueError, match="entities must be in"):
        KnowledgeBase.generate(entities=0)


@pytest.mark.parametrize("form", FORMS)
def test_questions_and_answers_have_fixed_lengths_and_known_words(knowledge, form):
    words = set(knowledge.vocabulary)
    assert len(words) == len(knowledge.vocabulary)
    for fact in knowledge.facts[:50]:
        question, answer = knowledge.question(fact, form=form).split(), knowledge.answer(fact, form=form).split()
        assert (len(question), len(answer)) == (PROMPT_LENGTH, CANVAS[form])
        assert {*question, *answer} <= words
        for first, second in VALUE_POSITIONS[form]:
            assert (answer[first], answer[second]) == fact.value


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_is_hallucinated_iff_a_value_token_is_wrong(knowledge, form):
    fact = knowledge.facts[0]
    right = knowledge.answer(fact, form=form).split()
    assert knowledge.judge(fact, right, form=form).label == 0
    values = {place for pair in VALUE_POSITIONS[form] for place in pair}
    for place in range(CANVAS[form]):
        changed = [*right]
        changed[place] = "zu" if place not in values else ("a23" if right[place] != "a23" else "a0")
        judgement = knowledge.judge(fact, changed, form=form)
        assert judgement.label == int(place in values)
        assert judgement.well_formed is (place in values)
        assert [i for i, wrong in enumerate(judgement.token_labels) if wrong] == ([place] if place in values else [])
    with pytest.raises(ValueError, match="answer must have"):
        knowledge.judge(fact, right[:-1], form=form)
    with pytest.raises(ValueError, match=r"form must be one of short, long \(got 'medium'\)"):
        knowledge.question(fact, form="medium")


def test_saving_and_loading_keeps_every_fact(knowledge, tmp_path):
    knowledge.save(tmp_path / "facts.json")
    assert KnowledgeBase.load(tmp_path / "facts.json") == knowledge


def test_the_training_text_states_what_the_facts_say(knowledge):
    rows, weights = statements(knowledge, "short")
    assert len(rows) == sum(len(fact.stated) for fact in knowledge.facts)
    assert float(weights.sum()) == sum(weight for fact in knowledge.facts for _, weight in fact.stated)
    words = knowledge.vocabulary
    said = {" ".join(words[i] for i in row) for row in rows.tolist()}
    unseen = next(fact for fact in knowledge.facts if fact.kind == "unseen")
    assert not any(knowledge.question(unseen) in text for text in said)


def test_the_loss_is_the_papers_and_never_masks_the_prompt(generator):
    """E over masks of (1/t) sum of masked CE / (B G): for a uniform model ln V at every t."""
    seen = []

    class Uniform:
        def __call__(self, input_ids):
            seen.append(input_ids)
            return type("Output", (), {"logits": torch.zeros(*input_ids.shape, 50)})

    rows = torch.arange(9 + 40)[None].expand(512, -1) % 40 + 5
    loss = sum(float(masked_loss(Uniform(), rows, mask_id=3, generator=generator)) for _ in range(8)) / 8
    assert loss == pytest.approx(torch.tensor(50.0).log().item(), rel=0.05)
    assert all(bool((ids[:, :9] == rows[:, :9]).all()) for ids in seen)
    share = torch.stack([(ids[:, 9:] == 3).float().mean(-1) for ids in seen]).mean()
    assert float(share) == pytest.approx(0.5, abs=0.01)


def test_shipped_facts_are_those_of_seed_zero_and_the_weights_are_small(knowledge, tiny):
    assert tiny.knowledge == knowledge
    assert sum(path.stat().st_size for path in MODELS.rglob("*.safetensors")) <= 2 * 2 * 2**20
    assert sum(parameter.numel() for parameter in tiny.model.model.parameters()) == pytest.approx(0.36e6, rel=0.02)


def test_the_shipped_model_hallucinates_as_its_classes_say(tiny):
    """Measured over all 1200 facts, 12 passes: see the README; the bounds leave room for other machines' rounding."""
    right, sure, formed, asked = (collections.Counter() for _ in range(4))
    for answer in knowledge_answers(tiny, tiny.knowledge.facts[:600], batch=200):
        kind = answer.fact.kind
        asked[kind] += 1
        right[kind] += 1 - answer.judgement.label
        formed[kind] += answer.judgement.well_formed
        sure[kind] += float(answer.trace.at_commit("conf")[7:9].prod())
    accuracy = {kind: right[kind] / asked[kind] for kind in KINDS}
    confidence = {kind: sure[kind] / asked[kind] for kind in KINDS}
    assert accuracy["frequent"] > 0.85
    assert accuracy["unseen"] < 0.05
    assert accuracy["confident-wrong"] < 0.05
    assert 0.25 < accuracy["corrupted"] < 0.75
    assert accuracy["rare"] < accuracy["frequent"] - 0.3
    assert confidence["confident-wrong"] > confidence["frequent"] - 0.1
    assert confidence["confident-wrong"] > confidence["unseen"] + 0.2
    assert sum(formed.values()) / 600 > 0.95


def test_answers_carry_labels_spans_and_the_grouping_key(tiny):
    for form in FORMS:
        for answer in knowledge_answers(tiny, tiny.knowledge.facts[:3], form=form, steps=CANVAS[form] // 4):
            trace, judgement = answer.trace, answer.judgement
            assert trace.labels.tolist() == list(judgement.token_labels)
            assert trace.spans == judgement.spans
            assert trace.meta["entity"] == answer.fact.entity
            assert trace.passes == CANVAS[form] // 4
            assert " ".join(tiny.tokenizer.convert_ids_to_tokens(trace.output_ids.tolist())) == answer.text


def test_context_questions_are_answerable_as_often_as_asked_for():
    questions = context_questions(2000, seed=0, answerable=0.5)
    share = sum(question.answer is not None for question in questions) / 2000
    assert abs(share - 0.5) < 0.05
    for question in questions:
        names = [name for name, _ in question.facts]
        assert len(set(names)) == len(names)
        assert (question.name in names) is (question.answer is not None)
        if question.answer is not None:
            assert dict(question.facts)[question.name] == question.answer
    assert context_questions(5, seed=3) == context_questions(5, seed=3)
    with pytest.raises(ValueError, match="need count >= 1"):
        context_questions(0, seed=0)


def test_labels_of_context_answers():
    known = next(question for question in context_questions(20, seed=0) if question.answer)
    first, second = known.answer
    assert known.token_labels([first, second, "<eos>"]) == (0, 0, 0)
    assert known.token_labels([first, "b_", "<eos>"]) == (0, 1, 0)
    unknown = next(question for question in context_questions(20, seed=0) if question.answer is None)
    assert unknown.token_labels(["a1", "b1", "<eos>"]) == (1, 1, 0)
