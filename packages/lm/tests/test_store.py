"""A store gives back what was written, field by field, and survives SIGKILL."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch
from iclr26_lm import TraceStore, capture_trace
from iclr26_lm.shard import Shard
from iclr26_lm.store import read_manifest, trace_tensors
from small_models import causal_model, tokens
from written_traces import denoising, same


def test_denoising_traces_come_back_bit_for_bit(tmp_path):
    traces = {
        "plain": denoising(0),
        "a/b c": denoising(1, labels=1),
        "empty": denoising(2, labels=None, spans=(), meta={}),
        "full": denoising(
            3, committed=torch.rand(6, 10) > 0.5, candidates=torch.randint(256, (6, 2)).to(torch.uint8)
        ),
    }  # fmt: skip
    with TraceStore.writer(tmp_path) as writer:
        for name, trace in traces.items():
            writer.append(name, trace)
    store = TraceStore.open(tmp_path)
    assert len(store) == 4
    assert store.ids == list(traces)
    assert all(same(store[name], trace) for name, trace in traces.items())
    assert all(same(stored, trace) for stored, trace in zip(store, traces.values(), strict=True))
    assert store["plain"].committed is None
    assert store["empty"].labels is None
    assert store["full"].candidate_mask().shape == (6, 10)


def test_ar_traces_come_back_bit_for_bit(tmp_path):
    model = causal_model("llama-gqa")
    trace = capture_trace(model, tokens(12)[0], 7, hidden_layers=[0, 2], labels=[0, 1, 0, 0, -1], spans=[(0, 2, "a")])
    with TraceStore.writer(tmp_path) as writer:
        writer.append("x", trace)
    stored = TraceStore.open(tmp_path)["x"]
    assert same(stored, trace)
    assert (stored.prompt_len, stored.nodes, stored.response_rows) == (7, 11, trace.response_rows)
    assert sorted(stored.hidden) == [0, 2]
    assert torch.equal(stored.dense_attention(), trace.dense_attention())
    assert torch.equal(stored.hidden[2], trace.hidden[2])
    with pytest.raises(KeyError, match="layer 1 was not captured"):
        stored.hidden[1]


def test_the_manifest_says_what_a_trace_is_without_opening_a_shard(tmp_path):
    with TraceStore.writer(tmp_path) as writer:
        writer.append("x", denoising())
    (entry,) = read_manifest(tmp_path / "manifest.jsonl")
    assert (entry["P"], entry["G"], entry["T"], entry["kind"]) == (4, 10, 6, "denoising")
    (tmp_path / "shard-00000.safetensors").unlink()
    store = TraceStore.open(tmp_path)
    assert store.labels["x"] in (-1, 0, 1)
    assert store["x"].meta["kind"] == "rare"


def test_a_field_is_read_only_when_it_is_used(tmp_path):
    """A 200 MB residual stream beside small fields: reading the small ones brings none of it into memory."""
    program = f"""
        import resource, torch
        from iclr26_lm import TraceStore
        resident = lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
        store = TraceStore.open({str(tmp_path)!r})
        trace = store["big"]
        trace.token_entropy.sum()
        before = resident()
        trace.token_logprob.sum(), trace.attn_diag.sum()
        small = resident() - before
        large = trace.hidden[0]
        print(small, resident() - before)
    """
    model, ids = causal_model("llama-gqa"), tokens(12)[0]
    trace = capture_trace(model, ids, 7)
    fields = {name: getattr(trace, name) for name in trace.__dataclass_fields__ if name != "kind"}
    big = type(trace)(**{**fields, "hidden": {0: torch.ones(11, 9_000_000, dtype=torch.float16)}})
    with TraceStore.writer(tmp_path) as writer:
        writer.append("big", big)
    small, large = map(int, subprocess.check_output([sys.executable, "-c", textwrap.dedent(program)]).split())
    assert small < 8 * 2**20
    assert large > 150 * 2**20


def test_subset_keeps_the_given_order_and_names_what_is_missing(tmp_path):
    with TraceStore.writer(tmp_path) as writer:
        for number in range(5):
            writer.append(str(number), denoising(number))
    some = TraceStore.open(tmp_path).subset(["3", "1"])
    assert some.ids == ["3", "1"]
    assert some[0].meta["seed"] == 3
    assert some[-1].meta["seed"] == 1
    with pytest.raises(KeyError, match="no trace '9'"):
        TraceStore.open(tmp_path).subset(["9"])
    with pytest.raises(IndexError, match=r"index must be in 0\.\.1 \(got 2\)"):
        some[2]


def test_a_store_can_be_sent_to_a_worker_process(tmp_path):
    with TraceStore.writer(tmp_path) as writer:
        writer.append("x", denoising())
    store = TraceStore.open(tmp_path)
    store["x"].entropy.sum()
    assert same(pickle.loads(pickle.dumps(store))["x"], denoising())


def test_resume_continues_and_without_it_nothing_is_overwritten(tmp_path):
    with TraceStore.writer(tmp_path) as writer:
        writer.append("0", denoising(0))
    with pytest.raises(FileExistsError, match="pass resume=True"):
        TraceStore.writer(tmp_path)
    with TraceStore.writer(tmp_path, resume=True) as writer:
        assert "0" in writer
        with pytest.raises(ValueError, match=r"id must be a new, non-empty string \(got '0'"):
            writer.append("0", denoising(0))
        writer.append("1", denoising(1))
    assert TraceStore.open(tmp_path).ids == ["0", "1"]


def test_shards_are_closed_when_full_and_the_limit_is_512_mib(tmp_path):
    with TraceStore.writer(tmp_path, shard_bytes=2000) as writer:
        for number in range(6):
            writer.append(str(number), denoising(number))
    assert len(list(tmp_path.glob("shard-*.safetensors"))) == 3
    with pytest.raises(ValueError, match="shard_bytes must be in"):
        TraceStore.writer(tmp_path / "other", shard_bytes=2**30)


def test_ranks_write_side_by_side_and_are_read_together(tmp_path):
    with TraceStore.writer(tmp_path, rank=0) as zero, TraceStore.writer(tmp_path, rank=1) as one:
        zero.append("a", denoising(0))
        one.append("b", denoising(1))
    assert sorted(TraceStore.open(tmp_path).ids) == ["a", "b"]
    with TraceStore.writer(tmp_path, rank=1, resume=True) as one:
        one.append("a", denoising(2))
    with pytest.raises(ValueError, match="id 'a' is listed twice"):
        TraceStore.open(tmp_path)


def test_two_writers_of_one_manifest_are_told_apart(tmp_path):
    with (
        TraceStore.writer(tmp_path),
        pytest.raises(BlockingIOError, match="give each writer its own rank"),
    ):
        TraceStore.writer(tmp_path, resume=True)
    TraceStore.writer(tmp_path, resume=True).close()


def test_a_folder_without_a_store_and_a_newer_format_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no trace store"):
        TraceStore.open(tmp_path)
    (tmp_path / "manifest.jsonl").write_text(json.dumps({"id": "x", "format": 2}) + "\n")
    with pytest.raises(ValueError, match=r"format must be 1 \(got 2\): upgrade"):
        TraceStore.open(tmp_path)


def test_meta_that_is_no_json_is_refused_before_anything_is_kept(tmp_path):
    with TraceStore.writer(tmp_path) as writer, pytest.raises((TypeError, ValueError)):
        writer.append("x", denoising(meta={"score": float("nan")}))


WRITER = """
    import sys, time
    sys.path.insert(0, {tests!r})
    from written_traces import denoising
    from iclr26_lm import TraceStore
    with TraceStore.writer({path!r}, resume=True, shard_bytes=20_000) as writer:
        for number in range({count}):
            if str(number) not in writer:
                writer.append(str(number), denoising(number))
                print(number, flush=True)
                time.sleep(0.002)
"""


@pytest.mark.parametrize("after", [3, 51])
def test_a_killed_writer_loses_at_most_the_open_shard_and_resume_completes_it(tmp_path, after):
    """20 traces of about 1 kB per shard; SIGKILL after some appends, anywhere in the loop or in a flush."""
    count, path = 70, tmp_path / "traces"
    program = textwrap.dedent(WRITER.format(tests=os.path.dirname(__file__), path=str(path), count=count))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        appended = next(int(line) + 1 for line in victim.stdout if int(line) + 1 >= after)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        appended = max([appended, *(int(line) + 1 for line in victim.stdout)])
    assert appended < count, "the writer finished before it was killed"
    survived = list(TraceStore.open(path)) if (path / "manifest.jsonl").exists() else []
    per_shard = -(-20_000 // sum(t.nbytes for t in trace_tensors(denoising()).values()))
    assert len(survived) >= appended - per_shard
    assert all(same(trace, denoising(int(trace.meta["seed"]))) for trace in survived)
    with TraceStore.writer(path, resume=True, shard_bytes=20_000) as writer:
        for number in range(count):
            if str(number) not in writer:
                writer.append(str(number), denoising(number))
    store = TraceStore.open(path)
    assert store.ids == [str(number) for number in range(count)]
    assert all(same(store[str(number)], denoising(number)) for number in range(count))
    assert not list(path.glob("*.tmp"))


@pytest.mark.parametrize("cut", [1, 30])
def test_every_torn_state_between_two_writes_is_recovered(tmp_path, cut):
    """What a kill can leave: a temporary shard, a shard that is not listed, a manifest line that is half written."""
    with TraceStore.writer(tmp_path, shard_bytes=1) as writer:
        for number in range(3):
            writer.append(str(number), denoising(number))
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes()[:-cut])
    (tmp_path / "shard-00003.safetensors.tmp").write_bytes(b"half")
    (tmp_path / "shard-00003.safetensors").write_bytes(b"orphan")
    assert TraceStore.open(tmp_path).ids == ["0", "1"]
    with TraceStore.writer(tmp_path, resume=True, shard_bytes=1) as writer:
        for number in range(4):
            if str(number) not in writer:
                writer.append(str(number), denoising(number))
    store = TraceStore.open(tmp_path)
    assert store.ids == ["0", "1", "2", "3"]
    assert all(same(store[str(number)], denoising(number)) for number in range(4))


def test_a_shard_is_what_the_safetensors_library_reads_too(tmp_path):
    from safetensors.torch import load_file, save_file

    dtypes = (
        torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.int64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64,
    )  # fmt: skip
    tensors = {str(dtype): torch.arange(12).view(3, 4).to(dtype) for dtype in dtypes}
    tensors |= {"empty": torch.empty(0, 3), "scalar": torch.tensor(7, dtype=torch.int8)}
    save_file(tensors, tmp_path / "x.safetensors")
    shard = Shard(tmp_path / "x.safetensors")
    for key, tensor in load_file(tmp_path / "x.safetensors").items():
        assert torch.equal(shard.tensor(key), tensor)
        assert shard.tensor(key).dtype == tensor.dtype
    with pytest.raises(KeyError):
        shard.tensor("nothing")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no safetensors file"),
        (b"\xff" * 30, "is no safetensors file"),
        (None, r"must have \d+ bytes .* was cut"),
    ],
)
def test_a_broken_shard_is_named(tmp_path, content, message):
    with TraceStore.writer(tmp_path) as writer:
        writer.append("x", denoising())
    path = tmp_path / "shard-00000.safetensors"
    path.write_bytes(path.read_bytes()[:-10] if content is None else content)
    with pytest.raises(ValueError, match=message):
        TraceStore.open(tmp_path)["x"].entropy.sum()


@pytest.mark.slow
def test_ten_thousand_traces_stream_within_one_gib(tmp_path):
    """T = D = 64, 10,000 traces, 640 MB: the peak resident set of a reader that takes one at a time."""
    with TraceStore.writer(tmp_path) as writer:
        trace = denoising(0, passes=64, canvas=64)
        for number in range(10_000):
            writer.append(str(number), trace)
    program = f"""
        from iclr26_lm import TraceStore
        total = 0.0
        for trace in TraceStore.open({str(tmp_path)!r}):
            total += float(trace.entropy.mean() + trace.conf.mean() + trace.margin.mean() + trace.x0.float().mean())
        print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
    """
    started = time.perf_counter()
    peak = 1024 * int(subprocess.check_output([sys.executable, "-c", textwrap.dedent(program)]))
    assert peak < 2**30, f"{peak / 2**20:.0f} MiB in {time.perf_counter() - started:.0f} s"


def test_trace_fields_must_agree():
    with pytest.raises(ValueError, match=r"conf must have the shape of entropy \(6, 10\) \(got \(5, 10\)\)"):
        denoising(conf=torch.rand(5, 10))
    with pytest.raises(ValueError, match=r"commit_step must have shape \(10,\) \(got \(9,\)\)"):
        denoising(commit_step=torch.zeros(9))
    with pytest.raises(ValueError, match=r"entropy must have shape \(T, G\)"):
        denoising(entropy=torch.rand(6))


def test_values_at_commit_are_those_of_the_committing_pass():
    trace = denoising(commit_step=torch.tensor([0, 5, -1, 2, 1, 1, 1, 1, 1, 1], dtype=torch.int32))
    got = trace.at_commit("conf")
    assert got[:2].tolist() == [float(trace.conf[0, 0]), float(trace.conf[5, 1])]
    assert bool(got[2].isnan())
