"""The decoding loop against a plain Python reference, and the laws every decoding keeps."""

import math

import pytest
import torch
from callables import EOS, MASK, VOCABULARY, adapted, context_model, position_model, shifted_twin
from iclr26_lm import BlockSchedule, ThresholdSchedule, TraceRecorder, decode, dream_counts, even_counts

PROMPT = torch.tensor([[1, 2, 3, 4]])


def reference_decode(function, prompt, length, counts, score, blocks=1):
    """LLaDA's loop written out for one sequence: argmax, p(x0), pick the best of the block, ties to the left."""
    ids = prompt[0].tolist() + [MASK] * length
    passes = 0
    for step, count in enumerate(counts):
        if MASK not in ids:
            break
        logits = function(torch.tensor([ids]))[0].double()
        logits[:, MASK] = -math.inf
        probability = logits.softmax(-1)
        block = step // (len(counts) // blocks)
        size = length // blocks
        start = len(prompt[0]) + block * size
        open_places = [j for j in range(start, start + size) if ids[j] == MASK]
        guesses = {j: int(probability[j].argmax()) for j in open_places}
        ranked = sorted(open_places, key=lambda j: (-score(probability[j]), j))
        for j in ranked[:count]:
            ids[j] = guesses[j]
        passes += 1
    return ids, passes


SCORES = {
    "low_confidence": lambda p: float(p.max()),
    "topk_margin": lambda p: float(p.topk(2).values[0] - p.topk(2).values[1]),
    "entropy": lambda p: float((p * (p + 1e-10).log()).sum()),
}


@pytest.mark.parametrize("confidence", SCORES)
@pytest.mark.parametrize("steps", [12, 5, 3, 1])
@pytest.mark.parametrize("seed", range(4))
def test_even_schedule_equals_the_written_out_loop(confidence, steps, seed):
    model = context_model(seed)
    output = decode(adapted(model), PROMPT, length=12, steps=steps, confidence=confidence)
    expected, passes = reference_decode(model, PROMPT, 12, even_counts(12, steps), SCORES[confidence])
    assert output.sequences[0].tolist() == expected
    assert output.passes == passes == min(steps, 12)


@pytest.mark.parametrize("steps", [12, 6, 3])
@pytest.mark.parametrize("seed", range(4))
def test_block_schedule_equals_the_written_out_loop(steps, seed):
    model = context_model(seed)
    output = decode(adapted(model), PROMPT, length=12, steps=steps, schedule="block:4")
    counts = even_counts(4, steps // 3) * 3
    assert (
        output.sequences[0].tolist()
        == reference_decode(model, PROMPT, 12, counts, SCORES["low_confidence"], blocks=3)[0]
    )


@pytest.mark.parametrize("steps", [12, 6, 4])
def test_dream_schedule_equals_the_written_out_loop_with_its_counts(steps):
    model = context_model(1)
    output = decode(adapted(model), PROMPT, length=12, steps=steps, schedule="dream", confidence="maskgit_plus")
    counts = dream_counts(12, steps)
    assert output.sequences[0].tolist() == reference_decode(model, PROMPT, 12, counts, SCORES["low_confidence"])[0]


def test_more_steps_than_positions_use_no_more_passes():
    assert decode(adapted(context_model()), PROMPT, length=5, steps=50).passes == 5


@pytest.mark.parametrize("schedule", ["even", "dream", "block:4", ThresholdSchedule(4, 0.3)])
@pytest.mark.parametrize("confidence", ["low_confidence", "topk_margin", "entropy", "random"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_position_is_committed_once_and_stays(schedule, confidence, temperature, generator):
    recorder = TraceRecorder(candidates=True)
    prompts = torch.randint(0, 28, (3, 4), generator=generator)
    output = decode(
        adapted(context_model()), prompts, length=12, steps=12, schedule=schedule, confidence=confidence,
        temperature=temperature, generator=generator, recorders=[recorder],
    )  # fmt: skip
    assert not bool((output.sequences == MASK).any())
    assert torch.equal(output.sequences[:, :4], prompts)
    for row, trace in enumerate(recorder.traces()):
        assert int(trace.commit_step.min()) >= 0
        allowed = trace.candidate_mask()
        for place, step in enumerate(trace.commit_step.tolist()):
            assert bool(allowed[step, place])
            assert bool((trace.x0[step:, place] == output.canvas[row, place]).all())
        for step in range(trace.passes):
            open_places = trace.commit_step >= step
            assert not bool((allowed[step] & ~open_places).any())


def test_ties_go_to_the_left():
    model = adapted(lambda ids, mask=None: torch.zeros(*ids.shape, VOCABULARY))
    recorder = TraceRecorder()
    decode(model, PROMPT, length=40, recorders=[recorder])
    assert recorder.traces()[0].commit_step.tolist() == list(range(40))


def test_threshold_commits_what_is_sure_and_the_scheduled_number_at_least():
    sure = adapted(position_model(scale=1000.0))
    assert decode(sure, PROMPT, length=12, steps=12, schedule=ThresholdSchedule(4, 0.9)).passes == 3
    unsure = adapted(position_model(scale=0.01))
    assert decode(unsure, PROMPT, length=12, steps=12, schedule=ThresholdSchedule(4, 0.9)).passes == 12
    assert decode(unsure, PROMPT, length=12, steps=6, schedule=ThresholdSchedule(4, 0.9)).passes == 6
    with pytest.raises(ValueError, match=r"threshold must be in \(0, 1\]"):
        ThresholdSchedule(4, 0.0)


def test_infilling_keeps_what_is_given_and_counts_the_rest():
    canvas = torch.full((1, 10), MASK)
    canvas[0, [3, 7]] = torch.tensor([11, 12])
    recorder = TraceRecorder()
    output = decode(adapted(context_model()), PROMPT, canvas=canvas, recorders=[recorder])
    (trace,) = recorder.traces()
    assert output.passes == 8
    assert output.canvas[0, [3, 7]].tolist() == [11, 12]
    assert [place for place, step in enumerate(trace.commit_step.tolist()) if step < 0] == [3, 7]
    assert sorted(step for step in trace.commit_step.tolist() if step >= 0) == list(range(8))
    assert bool(trace.at_commit("conf")[3].isnan())


def test_left_padded_batch_equals_one_by_one():
    model, prompts = adapted(context_model()), [[5, 6, 7, 8, 9], [1, 2], [3, 4, 5]]
    padded = torch.tensor([[0] * (5 - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (5 - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    recorder = TraceRecorder()
    batch = decode(model, padded, length=7, attention_mask=mask, recorders=[recorder])
    for row, prompt in enumerate(prompts):
        single = TraceRecorder()
        alone = decode(model, torch.tensor([prompt]), length=7, recorders=[single])
        assert torch.equal(batch.canvas[row], alone.canvas[0])
        trace, expected = recorder.traces()[row], single.traces()[0]
        torch.testing.assert_close(trace.entropy, expected.entropy, rtol=1e-4, atol=1e-5)
        assert trace.prompt_ids.tolist() == prompt


def test_a_shifted_model_decodes_as_its_aligned_twin_and_forgetting_the_shift_does_not():
    aligned, shifted = context_model(), shifted_twin(context_model())
    recorders = [TraceRecorder() for _ in range(3)]
    outputs = [
        decode(adapted(function, logits_shift=shift), PROMPT, length=9, recorders=[recorder])
        for function, shift, recorder in zip((aligned, shifted, shifted), (False, True, False), recorders, strict=True)
    ]
    first, second, forgotten = [recorder.traces()[0] for recorder in recorders]
    assert torch.equal(outputs[0].sequences, outputs[1].sequences)
    torch.testing.assert_close(first.entropy, second.entropy)
    assert not torch.equal(outputs[0].sequences, outputs[2].sequences)
    assert float((first.entropy - forgotten.entropy).abs().max()) > 0.1


def test_a_model_that_predicts_the_mask_token_cannot_commit_it():
    def wants_masks(ids, attention_mask=None):
        logits = context_model()(ids)
        logits[..., MASK] += 100.0
        return logits

    assert not bool((decode(adapted(wants_masks), PROMPT, length=8).sequences == MASK).any())


def far_eos(ids, attention_mask=None):
    """EOS with p = .99 from canvas position 5 on, token 3 with p = .5 before: wavefront oracle 16."""
    logits = torch.full((*ids.shape, VOCABULARY), math.log(0.5 / (VOCABULARY - 2)))
    logits[..., 3] = math.log(0.5)
    logits[:, 9:] = math.log(0.01 / (VOCABULARY - 2))
    logits[:, 9:, EOS] = math.log(0.99)
    logits[..., MASK] = -50.0
    return logits


def commit_order(**options):
    recorder = TraceRecorder()
    output = decode(adapted(far_eos), PROMPT, length=12, recorders=[recorder], **options)
    return recorder.traces()[0].commit_step.argsort().tolist(), output


def test_eos_policies():
    plain, output = commit_order()
    assert plain[0] == 5
    assert output.text_lengths.tolist() == [5]
    last, output = commit_order(eos="suppress_confidence")
    assert last == list(range(12))
    assert output.canvas[0, 5:].tolist() == [EOS] * 7
    _, output = commit_order(eos="suppress_logits")
    assert not bool((output.sequences == EOS).any())
    assert output.text_lengths.tolist() == [12]
    with pytest.raises(ValueError, match="eos must be one of none, suppress_logits, suppress_confidence"):
        commit_order(eos="never")


@pytest.mark.parametrize("confidence", ["entropy", "topk_margin", "random", "low_confidence"])
def test_suppressed_eos_is_last_for_every_confidence_and_never_leaves_a_mask(confidence, generator):
    """Entropies are negative, so that ranking EOS at 0 would put it first; at -inf finished positions would win."""
    order, output = commit_order(eos="suppress_confidence", confidence=confidence, steps=5, generator=generator)
    assert set(order[:5]) == set(range(5)) or confidence == "random"
    assert not bool((output.sequences == MASK).any())


def test_early_stop_saves_passes_and_fills_with_eos():
    full, stopped = commit_order(eos="suppress_confidence")[1], commit_order(eos="suppress_confidence", early_stop=True)
    assert torch.equal(full.sequences, stopped[1].sequences)
    assert (full.passes, stopped[1].passes) == (12, 6)
    recorder = TraceRecorder()
    decode(adapted(far_eos), PROMPT, length=12, eos="suppress_confidence", early_stop=True, recorders=[recorder])
    (trace,) = recorder.traces()
    assert trace.commit_step.tolist() == [0, 1, 2, 3, 4, 5, *[-1] * 6]
    assert trace.meta["filled_with_eos"] == 6


def test_early_stop_waits_for_everything_before_the_eos():
    _, output = commit_order(early_stop=True)
    assert output.passes == 12
    assert not bool((output.sequences == MASK).any())


def test_policies_without_eos_ids_are_refused():
    with pytest.raises(ValueError, match=r"need eos_token_ids \(the model has none\)"):
        decode(adapted(context_model(), eos_token_ids=()), PROMPT, length=4, early_stop=True)


def test_guidance_takes_the_prompt_away_in_one_batch():
    seen, model = [], context_model()

    def watched(ids, attention_mask=None):
        seen.append(ids.clone())
        return model(ids, attention_mask)

    recorder = TraceRecorder()
    output = decode(adapted(watched), PROMPT, length=6, guidance=1.5, recorders=[recorder])
    assert output.passes == 6
    assert all(ids.shape == (2, 10) for ids in seen)
    assert seen[0][1].tolist() == [MASK] * 10
    both = model(seen[0]).double()
    guided = both[1] + 2.5 * (both[0] - both[1])
    guided[:, MASK] = -math.inf
    probability = guided[4:].softmax(-1)
    entropy = -(probability * probability.clamp(min=1e-300).log()).sum(-1)
    torch.testing.assert_close(recorder.traces()[0].entropy[0].double(), entropy, rtol=1e-4, atol=1e-5)


def test_the_same_generator_state_gives_the_same_tokens():
    def run(seed):
        return decode(
            adapted(context_model()), PROMPT, length=9, temperature=1.0, confidence="random",
            generator=torch.Generator().manual_seed(seed),
        ).sequences  # fmt: skip

    assert torch.equal(run(1), run(1))
    assert not torch.equal(run(1), run(2))


def test_sampled_tokens_have_the_models_frequencies(generator):
    """One position, 20,000 rows of a position model: chi-square over 29 tokens, 0.999 quantile 56.9."""
    model = adapted(position_model(scale=1.0))
    output = decode(model, PROMPT.expand(20_000, -1), length=1, temperature=0.7, generator=generator)
    logits = position_model(scale=1.0)(torch.zeros(1, 5, dtype=torch.long))[0, 4].double()
    logits[MASK] = -math.inf
    expected = 20_000 * (logits / 0.7).softmax(-1)
    counts = torch.bincount(output.canvas[:, 0], minlength=VOCABULARY)
    used = expected > 0
    assert float(((counts - expected)[used] ** 2 / expected[used]).sum()) < 56.9


def test_top_p_and_tempered_confidence_follow_dreams_rule():
    """Confidence of the tempered, cut and renormalised distribution; the trace keeps the raw one."""
    model, seen = context_model(2), []
    decode(
        adapted(model), PROMPT, length=6, temperature=0.1, top_p=0.95, tempered_confidence=True,
        generator=torch.Generator().manual_seed(0), recorders=[lambda step, state: seen.append(
            (state.scores.clone(), state.guess.clone(), state.logits.clone(), state.statistics.conf.clone()))],
    )  # fmt: skip
    scores, guess, logits, conf = seen[0]
    probability = (logits.double() / 0.1).softmax(-1)
    ordered = probability.sort(descending=True)
    keep = torch.zeros_like(probability, dtype=torch.bool).scatter(
        -1, ordered.indices, ordered.values.cumsum(-1) - ordered.values < 0.95
    )
    cut = probability * keep
    expected = (cut / cut.sum(-1, keepdim=True)).gather(-1, guess[..., None])[..., 0]
    torch.testing.assert_close(scores.double(), expected, rtol=1e-4, atol=1e-5)
    raw = logits.double().softmax(-1).gather(-1, guess[..., None])[..., 0]
    torch.testing.assert_close(conf.double(), raw, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 4, "canvas": torch.full((1, 4), MASK)}, "give either length or canvas"),
        ({}, "give either length or canvas"),
        ({"length": 0}, r"length must be >= 1 \(got 0\)"),
        ({"length": 4, "steps": 0}, r"steps must be >= 1 \(got 0\)"),
        ({"length": 4, "schedule": "spiral"}, r"schedule must be even, dream, block:<length>"),
        ({"length": 4, "schedule": "block:3"}, r"block must divide the canvas of 4 \(got 3\)"),
        ({"length": 4, "confidence": "none"}, "confidence must be one of low_confidence"),
        ({"length": 4, "temperature": -1.0}, r"temperature must be >= 0 \(got -1.0\)"),
        ({"length": 4, "attention_mask": torch.ones(1, 3)}, "attention_mask must have the prompts' shape"),
        ({"canvas": torch.full((2, 4), MASK)}, r"canvas must have shape \(1, G\)"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        decode(adapted(context_model()), PROMPT, **options)


def test_a_prompt_with_masks_and_a_schedule_that_leaves_some_are_refused():
    with pytest.raises(ValueError, match=r"the prompt holds the mask token 29: put positions to fill into canvas="):
        decode(adapted(context_model()), torch.tensor([[1, MASK]]), length=4)

    class Lazy(BlockSchedule):
        def count(self, state):
            return torch.zeros(1, dtype=torch.long)

    with pytest.raises(ValueError, match=r"must commit every position in 4 passes \(got 4 masks left\)"):
        decode(adapted(context_model()), PROMPT, length=4, schedule=Lazy(4))


def test_logits_that_are_no_number_stop_the_decoding():
    def broken(ids, attention_mask=None):
        logits = context_model()(ids)
        logits[:, 6] = torch.nan
        return logits

    with pytest.raises(ValueError, match="logits at position 2 give no distribution"):
        decode(adapted(broken), PROMPT, length=4)
