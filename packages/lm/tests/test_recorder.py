"""A denoising trace holds what the model said in every pass, before committing."""

import pytest
import torch
from callables import MASK, VOCABULARY, adapted, context_model, position_model
from iclr26_lm import EvenSchedule, TraceRecorder, commit_steps, decode

PROMPT = torch.tensor([[1, 2, 3], [4, 5, 6]])


def recorded(model, **options):
    recorder, passes = TraceRecorder(candidates=True), []
    keep = lambda step, state: passes.append((state.tokens.clone(), state.logits.double().clone(), state.guess.clone()))  # noqa: E731
    output = decode(adapted(model), PROMPT, recorders=[recorder, keep], **{"length": 8, **options})
    return recorder.traces(), output, passes


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scalars_equal_those_of_the_full_probabilities(temperature):
    traces, _, passes = recorded(context_model(), temperature=temperature, generator=torch.Generator().manual_seed(0))
    for row, trace in enumerate(traces):
        for step, (_, logits, guess) in enumerate(passes):
            probability = logits[row].softmax(-1)
            entropy = -(probability * probability.clamp(min=1e-300).log()).sum(-1)
            top = probability.topk(2, -1).values
            chosen = probability.gather(-1, guess[row][:, None])[:, 0]
            torch.testing.assert_close(trace.entropy[step].double(), entropy, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(trace.conf[step].double(), chosen, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(trace.margin[step].double(), top[:, 0] - top[:, 1], rtol=1e-5, atol=1e-6)


def test_the_guess_is_the_argmax_where_masked_and_the_token_elsewhere():
    traces, output, passes = recorded(context_model())
    for row, trace in enumerate(traces):
        for step, (_, logits, _) in enumerate(passes):
            open_places = trace.commit_step >= step
            assert torch.equal(trace.x0[step][open_places].long(), logits[row].argmax(-1)[open_places])
            assert torch.equal(trace.x0[step][~open_places].long(), output.canvas[row][~open_places])


def test_a_model_that_ignores_its_input_has_the_same_entropies_in_every_pass():
    """tracedet oracle 11: also at committed positions; one token per pass makes commit_step a permutation."""
    traces, _, _ = recorded(position_model())
    for trace in traces:
        assert torch.equal(trace.entropy, trace.entropy[:1].expand(8, -1))
        assert sorted(trace.commit_step.tolist()) == list(range(8))


def test_shapes_dtypes_and_settings():
    (trace, _), output, _ = recorded(context_model(), schedule="block:4", steps=4)
    assert trace.entropy.shape == trace.x0.shape == trace.conf.shape == trace.margin.shape == (4, 8)
    kinds = {"entropy": torch.float32, "x0": torch.int32, "commit_step": torch.int32, "output_ids": torch.int32}
    assert {name: getattr(trace, name).dtype for name in kinds} == kinds
    assert trace.committed is None
    assert trace.candidates.shape == (4, 1)
    assert trace.candidate_mask().int().sum(-1).tolist() == [4, 2, 4, 2]
    assert trace.meta["schedule"] == "block"
    assert (trace.meta["steps"], trace.meta["mask_token_id"], trace.meta["remasking"]) == (4, MASK, False)
    assert trace.output_ids.tolist() == output.canvas[0].tolist()


def test_a_remasking_schedule_writes_what_was_committed_when():
    class Regret(EvenSchedule):
        """Masks the first committed position of pass 0 again; two passes more repair it."""

        def begin(self, masked, known, steps):
            super().begin(masked, known, steps - 1)
            self.counts = torch.cat([self.counts, torch.ones(1, len(masked), dtype=torch.long)])

        def update(self, state):
            if state.step == 0:
                state.remask(state.committed & (state.committed.cumsum(-1) == 1))

    traces, output, _ = recorded(context_model(), schedule=Regret(), steps=5)
    assert not bool((output.sequences == MASK).any())
    for trace in traces:
        assert trace.meta["remasking"]
        counts = trace.committed.int().sum(0)
        assert sorted(counts.tolist()) == [*[1] * 7, 2]
        twice = int(counts.argmax())
        assert trace.commit_step[twice] == int(trace.committed[:, twice].nonzero().max())


def test_commit_steps_of_positions_masked_again():
    committed = torch.tensor([[1, 0], [0, 1], [1, 0]]).bool()
    remasked = torch.tensor([[1, 0], [0, 0], [0, 0]]).bool()
    assert commit_steps(committed, remasked).tolist() == [2, 1]
    assert commit_steps(committed[:2], remasked[:2]).tolist() == [-1, 1]


def test_a_sequence_that_finishes_earlier_has_fewer_passes():
    canvas = torch.full((2, 6), MASK)
    canvas[0, :4] = 7
    traces, output, _ = recorded(context_model(), length=None, canvas=canvas)
    assert output.passes == 6
    assert [trace.passes for trace in traces] == [2, 6]


def test_perplexity_at_commit_equals_brute_force():
    """tracedet oracle 17."""
    traces, _, passes = recorded(context_model())
    for row, trace in enumerate(traces):
        total = 0.0
        for place, step in enumerate(trace.commit_step.tolist()):
            logprob = passes[step][1][row].log_softmax(-1)
            total += float(logprob[place, passes[step][2][row, place]])
        assert float(trace.at_commit("conf").log().mean()) == pytest.approx(total / 8, rel=1e-5)


def test_labels_and_meta_go_to_their_sequence():
    recorder = TraceRecorder()
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        recorder.traces()
    decode(adapted(context_model()), PROMPT, length=4, recorders=[recorder])
    one, two = recorder.traces(labels=[1, [0, 0, 1, 0]], spans=[[], [(1, 2, "x")]], meta=[{"id": "a"}, {"id": "b"}])
    assert one.labels.tolist() == 1
    assert two.labels.tolist() == [0, 0, 1, 0]
    assert two.spans == ((1, 2, "x"),)
    assert (one.meta["id"], two.meta["id"]) == ("a", "b")
    with pytest.raises(ValueError, match=r"labels must have one entry per sequence, 2 \(got 1\)"):
        recorder.traces(labels=[1])


def test_a_recorder_begins_anew_with_the_next_batch():
    recorder = TraceRecorder()
    for length in (4, 6):
        decode(adapted(context_model()), PROMPT, length=length, recorders=[recorder])
    assert [trace.passes for trace in recorder.traces()] == [6, 6]


def test_size_of_a_trace_is_sixteen_bytes_a_pass_and_position():
    """The table's 256 KiB at T = G = 128; no probabilities are kept."""
    (trace, _), _, _ = recorded(context_model(), length=128)
    size = sum(getattr(trace, name).nbytes for name in ("entropy", "x0", "conf", "margin"))
    assert size == 256 * 1024
    assert VOCABULARY > 16
