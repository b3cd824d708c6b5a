"""Laws of the detectors: what they find, what they must not depend on, what they refuse, and that they come back."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from iclr26_core.testing import DetectorContract
from iclr26_lm import TraceStore
from iclr26_tracedet import (
    FlatLogisticRegression,
    LSTMDetector,
    NoMaskDetector,
    ScalarDetector,
    TraceDetDetector,
    auroc,
)
from iclr26_tracedet.training import Training
from traces import denoising, noisy

pytestmark = pytest.mark.filterwarnings("ignore:the validation set has")
QUICK = {"lr": 3e-3, "epochs": 8, "device": "cpu"}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore:the validation set has")
class TestReference(DetectorContract):
    method = "tracedet"

    def make(self, device="cpu"):
        return TraceDetDetector(lr=3e-3, epochs=4, device=device)

    def example(self):
        traces, labels = noisy(40)
        return list(traces), list(labels)

    def restored(self, detector, folder):
        detector.save(folder)
        return TraceDetDetector.load(folder, device="cpu")


@pytest.mark.filterwarnings("ignore:the validation set has")
class TestPaper(DetectorContract):
    method = "tracedet"

    def make(self, device="cpu"):
        return TraceDetDetector(variant="paper", lr=1e-2, epochs=8, device=device)

    def example(self):
        traces, labels = noisy(40)
        return list(traces), list(labels)

    def restored(self, detector, folder):
        detector.save(folder)
        return TraceDetDetector.load(folder, device="cpu")


@pytest.mark.filterwarnings("ignore:the validation set has")
class TestNoMask(DetectorContract):
    method = "tracedet"

    def make(self, device="cpu"):
        return NoMaskDetector(training=Training(lr=3e-3, epochs=4), device=device)

    def example(self):
        traces, labels = noisy(40)
        return list(traces), list(labels)

    def restored(self, detector, folder):
        detector.save(folder)
        return NoMaskDetector.load(folder, device="cpu")


@pytest.mark.filterwarnings("ignore:the validation set has")
class TestLSTM(DetectorContract):
    method = "tracedet"

    def make(self, device="cpu"):
        return LSTMDetector(training=Training(lr=3e-3, epochs=2), device=device)

    def example(self):
        traces, labels = noisy(40)
        return list(traces), list(labels)


class TestFlatLogisticRegression(DetectorContract):
    method = "tracedet"

    def make(self):
        return FlatLogisticRegression()

    def example(self):
        traces, labels = noisy(24)
        return list(traces), list(labels)


class TestMeanEntropy(DetectorContract):
    method = "tracedet"

    def make(self):
        return ScalarDetector("mean-entropy")

    def example(self):
        traces, labels = noisy(24)
        return list(traces), list(labels)


@pytest.mark.parametrize("variant", ["reference", "paper"])
def test_scores_are_probabilities_and_do_not_depend_on_batch_size(variant):
    traces, labels = noisy()
    detector = TraceDetDetector(variant=variant, **QUICK).fit(traces, labels)
    scores = detector.score(traces)
    assert scores.shape == (len(traces),)
    assert ((scores >= 0) & (scores <= 1)).all()
    detector.training = Training(batch_size=7)
    assert np.abs(detector.score(traces) - scores).max() < 1e-6
    again = TraceDetDetector(variant=variant, **QUICK).fit(traces, labels)
    assert np.array_equal(again.score(traces), scores)


def test_positions_may_be_permuted_only_in_fit_and_score_alike():
    """Position 0 is uncertain in hallucinated answers, position 2 in faithful ones; the order swaps the two."""
    traces, labels = noisy(lift=0.0)
    traces[labels == 1, :, 0] += 1.0
    traces[labels == 0, :, 2] += 1.0
    order = np.array([2, 3, 0, 1])
    settings = {"lr": 5e-3, "epochs": 15, "batch_size": 16, "dropout": 0.0, "device": "cpu"}
    detector = TraceDetDetector(**settings).fit(traces, labels)
    permuted = TraceDetDetector(**settings).fit(traces[:, :, order], labels)
    assert auroc(labels, detector.score(traces)) > 0.99
    assert auroc(labels, permuted.score(traces[:, :, order])) > 0.99
    assert auroc(labels, detector.score(traces[:, :, order])) < 0.01
    assert auroc(labels, permuted.score(traces)) < 0.01


@pytest.mark.parametrize("variant", ["reference", "paper"])
def test_separable_traces_are_separated_in_thirty_epochs(variant):
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    traces = np.zeros((300, 8, 6), dtype=np.float32)
    for trace, label in zip(traces, labels, strict=True):
        if label:
            trace[rng.choice(8, 3, replace=False)] = 1.0
    detector = TraceDetDetector(variant=variant, lr=3e-3, epochs=30, device="cpu").fit(traces[:200], labels[:200])
    assert detector.evaluate(traces[200:], labels[200:])["auroc"] > 0.99


def test_random_labels_give_chance():
    rng = np.random.default_rng(0)
    traces, labels = rng.random((300, 6, 4)).astype(np.float32), rng.integers(0, 2, 300)
    detector = TraceDetDetector(**QUICK).fit(traces[:200], labels[:200])
    positive = int(labels[200:].sum())
    bound = 3 * np.sqrt(101 / (12 * positive * (100 - positive)))
    assert abs(auroc(labels[200:], detector.score(traces[200:])) - 0.5) < bound


@pytest.mark.slow
def test_planted_step_is_kept_most_and_the_kl_holds_the_mean():
    traces, labels = noisy(1200, steps=8, canvas=8, where=3)
    detector = TraceDetDetector(variant="paper", tau=0.2, lr=5e-3, epochs=60, patience=60, dropout=0.0, device="cpu")
    detector.fit(traces[:1000], labels[:1000])
    keep = detector.explain(traces[1000:]).mean(0)
    assert int(keep.argmax()) == 3
    assert 0.05 <= keep.mean() <= 0.5


@pytest.mark.parametrize("variant", ["reference", "paper"])
def test_saved_detector_scores_bit_for_bit_the_same(variant, tmp_path):
    traces, labels = noisy(80)
    detector = TraceDetDetector(variant=variant, normalize="zscore", **QUICK).fit(traces, labels)
    detector.save(tmp_path)
    loaded = TraceDetDetector.load(tmp_path, device="cpu")
    assert np.array_equal(loaded.score(traces), detector.score(traces))
    assert np.array_equal(loaded.explain(traces), detector.explain(traces))
    assert loaded.variant == variant
    with pytest.raises(ValueError, match="must hold a NoMaskDetector"):
        NoMaskDetector.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no detector"):
        TraceDetDetector.load(tmp_path / "nothing")


def test_ragged_traces_score_as_they_do_one_by_one():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    traces = [rng.random((5 + 2 * (i % 3), 4)).astype(np.float32) + labels[i] for i in range(60)]
    detector = TraceDetDetector(**QUICK)
    with pytest.warns(UserWarning, match=r"different numbers of passes: \[5, 7, 9\]"):
        detector.fit(traces, labels)
    together = detector.score(traces)
    assert np.abs(together - np.concatenate([detector.score([trace]) for trace in traces])).max() < 1e-6
    weights = detector.explain(traces)
    assert weights.shape == (60, 9)
    assert (weights[0, 5:] == 0.0).all()
    assert np.allclose(weights.sum(1), 1.0)


def test_canvases_of_different_length_need_canvas_and_are_told_apart_by_it():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    traces = [rng.random((6, 3 + labels[i])).astype(np.float32) for i in range(60)]
    with pytest.raises(ValueError, match=r"one canvas length \(got \[3, 4\]\): pass canvas=4"):
        TraceDetDetector(**QUICK).fit(traces, labels)
    detector = TraceDetDetector(canvas=4, **QUICK).fit(traces, labels)
    assert detector.layout.width == 8
    assert detector.evaluate(traces, labels)["auroc"] > 0.99
    equal, _ = noisy(60)
    plain, padded = TraceDetDetector(**QUICK), TraceDetDetector(canvas=4, **QUICK)
    assert np.array_equal(plain.fit(equal, labels).score(equal), padded.fit(equal, labels).score(equal))
    with pytest.raises(ValueError, match=r"canvas length must be 4, as in fit \(got \[5\]\)"):
        plain.score(rng.random((2, 6, 5)))


def test_other_features_are_read_and_help_where_the_signal_is_there():
    labels = np.arange(120) % 2
    rng = np.random.default_rng(0)
    conf = rng.random((120, 5, 4)).astype(np.float32) * 0.5
    traces = [
        denoising(rng.random((5, 4)).astype(np.float32), label=int(label), conf=torch.tensor(c + 0.4 * label))
        for label, c in zip(labels, conf, strict=True)
    ]
    detector = TraceDetDetector(features=("entropy", "conf", "margin", "changed", "committed"), **QUICK).fit(traces)
    assert detector.layout.width == 20
    assert detector.evaluate(traces)["auroc"] > 0.9


def test_store_and_list_give_the_same_detector(tmp_path):
    entropies, labels = noisy(60)
    traces = [denoising(e, label=int(label)) for e, label in zip(entropies, labels, strict=True)]
    with TraceStore.writer(tmp_path) as writer:
        for number, trace in enumerate(traces):
            writer.append(f"q{number}", trace)
    store = TraceStore.open(tmp_path)
    from_store, from_list = (TraceDetDetector(**QUICK).fit(source).score(store) for source in (store, traces))
    assert np.array_equal(from_store, from_list)
    assert np.array_equal(from_list, TraceDetDetector(**QUICK).fit(entropies, labels).score(entropies))


def test_interrupted_training_goes_on_to_the_same_detector(tmp_path):
    traces, labels = noisy(80)
    whole = TraceDetDetector(**QUICK).fit(traces, labels).score(traces)
    part = TraceDetDetector(**{**QUICK, "epochs": 3}).fit(traces, labels, checkpoint=tmp_path / "state.pt")
    assert len(part.history) == 3
    rest = TraceDetDetector(**QUICK).fit(traces, labels, checkpoint=tmp_path / "state.pt")
    assert len(rest.history) == 8
    assert np.array_equal(rest.score(traces), whole)


def test_soft_labels_are_taken_where_asked_for():
    traces, labels = noisy(80)
    soft = np.where(labels == 1, 0.9, 0.2)
    with pytest.raises(ValueError, match="labels must be 1"):
        TraceDetDetector(**QUICK).fit(traces, soft)
    detector = TraceDetDetector(soft_labels=True, **QUICK).fit(traces, soft)
    assert detector.evaluate(traces, soft)["auroc"] > 0.9


def test_groups_keep_an_entity_out_of_its_own_validation():
    labels = noisy(100)[1]
    detector = TraceDetDetector(**QUICK)
    chosen, held = detector._own_validation(labels.astype(float), [i // 4 for i in range(100)])
    assert not {i // 4 for i in chosen} & {i // 4 for i in held}
    assert sorted([*chosen, *held]) == list(range(100))


def test_nan_loss_restores_the_best_epoch_and_says_so():
    traces, labels = noisy(80)
    detector = TraceDetDetector(**QUICK)
    build = detector.build_network

    def breaking(layout):
        network = build(layout)
        plain, calls = network.loss, []

        def loss(*arguments):
            calls.append(1)
            return plain(*arguments) * (float("nan") if len(calls) > 3 else 1.0)

        network.loss = loss
        return network

    detector.build_network = breaking
    with pytest.warns(UserWarning, match="not finite in epoch 4: stopped, best epoch restored"):
        detector.fit(traces, labels)
    assert len(detector.history) == 3
    assert np.isfinite(detector.score(traces)).all()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda x: x[:, :1], r"must be \(T >= 2, D >= 1\) \(got \(1, 4\)\)"),
        (lambda x: -x, "finite entropies >= 0"),
        (lambda x: x + np.inf, "finite entropies >= 0"),
        (lambda x: x * 0 + 3.0, r"entropies <= log\(16\)"),
    ],
)
def test_impossible_entropies_are_refused(damage, told):
    traces, labels = noisy(40)
    with pytest.raises(ValueError, match=told):
        TraceDetDetector(vocabulary=16, **QUICK).fit(damage(traces), labels)


def test_one_class_and_unknown_settings_are_refused():
    traces, _ = noisy(40)
    with pytest.raises(ValueError, match=r"both classes \(got 40 times 1\)"):
        TraceDetDetector(**QUICK).fit(traces, np.ones(40))
    for wrong, told in (
        ({"variant": "other"}, "variant must be"),
        ({"tau": 1.0}, "tau must be in"),
        ({"features": ("colour",)}, "features must be"),
        ({"normalize": "l2"}, "normalize must be"),
        ({"epochs": 0}, "epochs must be >= 1"),
        ({"dropout": 1.0}, "dropout in"),
    ):
        with pytest.raises(ValueError, match=told):
            TraceDetDetector(**wrong)


def test_few_validation_items_are_warned_about():
    traces, labels = noisy(40)
    with pytest.warns(UserWarning, match="under 50 the chosen epoch is partly luck"):
        TraceDetDetector(**QUICK).fit(traces, labels)


def test_detector_file_is_plain_json(tmp_path):
    traces, labels = noisy(40)
    TraceDetDetector(**QUICK).fit(traces, labels).save(tmp_path)
    content = json.loads((tmp_path / "detector.json").read_text())
    assert content["settings"]["variant"] == "reference"
    assert len(content["history"]) == 8
