"""Fit TraceDet on traces of the tiny diffusion model, score held-out entities, and say which passes counted."""

import warnings

import numpy as np
import torch
from iclr26_lm import knowledge_answers, tiny_diffusion
from iclr26_tracedet import ScalarDetector, TraceDetDetector, auroc, grouped_split

torch.set_num_threads(1)
warnings.filterwarnings("ignore", message="the validation set has")
lm = tiny_diffusion()
answers = list(knowledge_answers(lm, lm.knowledge.facts[:600]))
traces = [answer.trace for answer in answers]
labels = np.array([answer.judgement.label for answer in answers])
groups = [answer.fact.entity for answer in answers]

split = grouped_split(groups, seed=0)
part = {name: [traces[i] for i in getattr(split, name)] for name in ("train", "val", "test")}
detector = TraceDetDetector(epochs=40, lr=1e-3, device="cpu")
detector.fit(part["train"], labels[split.train], val=(part["val"], labels[split.val]))
mean = ScalarDetector("mean-entropy").fit(part["train"], labels[split.train])
for name, fitted in (("TraceDet", detector), ("mean entropy", mean)):
    print(f"{name}: AUROC {auroc(labels[split.test], fitted.score(part['test'])):.3f}")
print("weights of the passes:", detector.explain(part["test"]).mean(0).round(3))
