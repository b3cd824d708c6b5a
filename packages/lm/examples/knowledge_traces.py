"""Ask the shipped diffusion model 200 questions, keep labelled traces, read one back. Runs in seconds, offline."""

import tempfile
from pathlib import Path

from iclr26_lm import TraceStore, knowledge_answers, tiny_diffusion

lm = tiny_diffusion()
folder = Path(tempfile.mkdtemp()) / "traces"
with TraceStore.writer(folder) as writer:
    for answer in knowledge_answers(lm, lm.knowledge.facts[:200]):
        writer.append(answer.fact.id, answer.trace)

store = TraceStore.open(folder)
trace = store["17-river"]
print(len(store), "traces; 17-river is", trace.meta["kind"], "and its label", store.labels["17-river"])
print("entropy", tuple(trace.entropy.shape), "mean of the first pass", round(float(trace.entropy[0].mean()), 4))
print("confidence of the value when committed", [round(float(value), 4) for value in trace.at_commit("conf")[7:9]])
