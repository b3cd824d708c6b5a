"""One self-contained HTML page of a run: radar of dimensions, bars of components, types, and every question."""

from __future__ import annotations

import base64
import html
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.question import Question
from ..human_mme import COMPONENTS, DIMENSIONS, TEXT_METRICS, box_conventions

if TYPE_CHECKING:
    from ..human_mme import HumanMME
    from ..scoring.scores import Scores

NAMES = {"FU": "face", "BU": "body", "HU": "human and object", "MIU": "multi-image", "MPR": "multi-person",
         "ID": "intention", "CD": "causal", "ED": "emotion"}  # fmt: skip
LABELS = {"bbox": "boxes", "choice": "choice", "short": "short answers", "ranking": "ranking", "judgment": "judgment"}
SIDE, MOST = 360, 400
STYLE = """
:root{--ink:#1d2430;--soft:#5c6675;--line:#d9dee6;--page:#f7f8fa;--card:#fff;--blue:#2a66c8;--good:#1c7c4a;--bad:#b3382c}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px}h1{font-size:26px;margin:0}h2{font-size:18px;margin:0 0 12px}
p{margin:4px 0}.soft{color:var(--soft)}.cards{display:grid;grid-template-columns:1fr 1fr;gap:16px;margin:18px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px}.wide{grid-column:1/3}
.big{font-size:40px;font-weight:650}.note{background:#fff4d6;border-radius:8px;padding:8px 12px;margin:10px 0}
table{border-collapse:collapse;width:100%}td,th{padding:5px 8px;border-bottom:1px solid var(--line);text-align:right}
td:first-child,th:first-child{text-align:left}.bar{display:grid;grid-template-columns:110px 1fr 50px;gap:10px;margin:9px 0}
.track{background:#e9edf3;border-radius:5px}.fill{background:var(--blue);border-radius:5px;height:20px}
.controls{display:flex;gap:10px;flex-wrap:wrap;margin:12px 0}select,input{font:inherit;padding:6px 8px;border-radius:7px;
border:1px solid var(--line)}#questions{display:grid;grid-template-columns:1fr 1fr;gap:14px}
.q{display:flex;gap:14px;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px}
.q svg{width:210px;flex:none;border-radius:6px;align-self:flex-start}.q div{min-width:0}pre{white-space:pre-wrap;
overflow-wrap:anywhere;font:13px/1.4 ui-monospace,monospace;margin:4px 0;max-height:160px;overflow:auto}
.tag{font-size:12px;border-radius:5px;padding:1px 7px;background:#e9edf3}.right{color:var(--good)}.wrong{color:var(--bad)}
@media(max-width:860px){.cards,#questions{grid-template-columns:1fr}.wide{grid-column:1}.q{flex-direction:column}}
"""
SCRIPT = """
const list=[...document.querySelectorAll('.q')],t=document.getElementById('type'),r=document.getElementById('result'),
w=document.getElementById('word'),n=document.getElementById('count');
function show(){let c=0;for(const q of list){const ok=(!t.value||q.dataset.type===t.value)&&(!r.value||
q.dataset.result===r.value)&&q.textContent.toLowerCase().includes(w.value.toLowerCase());q.hidden=!ok;
q.style.display=ok?'':'none';c+=ok}n.textContent=c+' of '+list.length+' questions'}
for(const e of [t,r,w])e.addEventListener('input',show);show();
"""


def write_page(path: str | Path, bench: HumanMME, scores: Scores, lenient: Scores | None, replies: Any) -> Path:
    """Write the page and return its path.

    Args:
        path: of the HTML file; nothing outside of it is needed to read it
        bench: the questions
        scores: by official parsing
        lenient: by lenient parsing, shown beside; None leaves it out
        replies: responses by key
    """
    shown = _chosen(bench.questions)
    types = "".join(f"<option>{html.escape(name)}</option>" for name in sorted({q.q_type for q in shown}))
    cards = "".join(_question(q, scores.per_question[q.key], replies.get(q.key)) for q in shown)
    some = "" if len(shown) == len(bench) else f"<p class=soft>{len(shown)} of {len(bench)} questions are shown.</p>"
    body = f"""<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width">
<title>Human-MME: {html.escape(scores.name)}</title><style>{STYLE}</style></head><body><main>
<h1>Human-MME: {html.escape(scores.name or "unnamed model")}</h1>
<p class=soft>{len(bench)} questions, coverage {scores.coverage:.1%}, refusals {scores.refusals}, cut off at the token
limit {scores.truncated}; {html.escape(", ".join(f"{k} {v}" for k, v in scores.settings.items()))}</p>
{"".join(f"<p class=note>{html.escape(note)}</p>" for note in scores.notes)}
<div class=cards><section class=card><h2>Dimensions</h2>{_radar(scores)}</section>
<section class=card><h2>Average</h2><p class=big id=average>{_number(scores.average)}</p>{_beside(scores, lenient)}
<h2 style="margin-top:22px">Components</h2>{_bars(scores)}</section>
<section class="card wide"><h2>Question types</h2>{_types(scores)}</section></div>
<h2>Questions</h2>{some}<div class=controls><select id=type><option value="">every type</option>{types}</select>
<select id=result><option value="">right or not</option><option>right</option><option>wrong</option>
<option>missing</option></select><input id=word placeholder="find a word"><span class=soft id=count></span></div>
<p class=soft>Drawn: gold box <b style="color:#1c9a55">green</b>, reply <b style="color:#e0542f">orange, dashed</b>, in
whichever box convention fits best; boxes that belong to the question in their own colour.</p>
<div id=questions>{cards}</div></main><script>{SCRIPT}</script></body></html>"""
    out = Path(path)
    out.write_text(body, encoding="utf-8", errors="replace")
    return out


def _chosen(questions: list[Question]) -> list[Question]:
    """Return at most 400 questions, spread over the types, so that a page of the whole benchmark still opens."""
    if len(questions) <= MOST:
        return questions
    counts: dict[str, int] = {}
    limit = MOST // len({q.q_type for q in questions})
    found = []
    for q in questions:
        counts[q.q_type] = counts.get(q.q_type, 0) + 1
        if counts[q.q_type] <= limit:
            found.append(q)
    return found


def _radar(scores: Scores) -> str:
    center, radius, names = 210, 140, list(DIMENSIONS)

    def point(place: int, share: float) -> tuple[float, float]:
        angle = 2 * math.pi * place / len(names) - math.pi / 2
        return center + radius * share * math.cos(angle), center - 20 + radius * share * math.sin(angle)

    def ring(shares: list[float]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in (point(i, share) for i, share in enumerate(shares)))

    parts = [f'<polygon points="{ring([s] * 8)}" fill="none" stroke="#d9dee6"/>' for s in (0.25, 0.5, 0.75, 1.0)]
    values = [scores.dimensions.get(name, 0.0) / 100 for name in names]
    values = [0.0 if math.isnan(value) else value for value in values]
    parts.append(f'<polygon points="{ring(values)}" fill="#2a66c833" stroke="#2a66c8" stroke-width="2"/>')
    for place, name in enumerate(names):
        x, y = point(place, 1.17)
        anchor = "middle" if abs(x - center) < 40 else "start" if x > center else "end"
        value = _number(scores.dimensions.get(name))
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="14" font-weight="600">{name} '
                     f'{value}</text><text x="{x:.0f}" y="{y + 16:.0f}" text-anchor="{anchor}" font-size="11" '
                     f'fill="#5c6675">{NAMES[name]}</text>')  # fmt: skip
    return f'<svg id="radar" viewBox="-60 0 540 400" role="img" width="100%">{"".join(parts)}</svg>'


def _bars(scores: Scores) -> str:
    rows = []
    for name in COMPONENTS:
        value = scores.components.get(name)
        width = 0.0 if value is None or math.isnan(value) else value
        rows.append(f"<div class=bar data-component={name}><span>{LABELS[name]}</span><div class=track>"
                    f"<div class=fill style='width:{width:.1f}%'></div></div><b>{_number(value)}</b></div>")  # fmt: skip
    return "".join(rows)


def _beside(scores: Scores, lenient: Scores | None) -> str:
    low, high = scores.intervals.get("average", (math.nan, math.nan))
    interval = "" if math.isnan(low) else f"<p class=soft>95 % of resamples: {low:.1f} to {high:.1f}</p>"
    other = "" if lenient is None else f"<p class=soft>lenient parsing: {_number(lenient.average)}</p>"
    return interval + other


def _types(scores: Scores) -> str:
    names = ("accuracy", "iou", "composite_score", "tau")
    head = "<tr><th>type</th><th>questions</th>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"
    rows = []
    for name, counted in sorted(scores.rolled.counts.items()):
        cells = "".join(f"<td>{_share(scores.per_type[name].get(metric))}</td>" for metric in names)
        rows.append(f"<tr><td>{html.escape(name)}</td><td>{counted}</td>{cells}</tr>")
    return f"<table id=types>{head}{''.join(rows)}</table>"


def _question(q: Question, scored: Any, response: Any) -> str:
    metrics = scored["metrics"]
    right = metrics.get("accuracy", float(metrics.get("have") == metrics.get("pred_have")))
    result = "missing" if not scored["answered"] else "right" if right >= 1 else "wrong"
    raw = "" if response is None else response.error or response.raw or ""
    figures = ", ".join(f"{name} {value:.2f}" for name, value in metrics.items()
                        if name in ("iou", "tau", *TEXT_METRICS) and not math.isnan(value))  # fmt: skip
    gold = q.gold if isinstance(q.gold, str) else json.dumps(_rounded(q.gold))
    return (
        f'<article class=q data-type="{html.escape(q.q_type)}" data-result={result}>{_picture(q, scored)}<div>'
        f"<span class=tag>{html.escape(q.key)}</span> <b class={result}>{result}</b> "
        f"<span class=soft>{figures}</span><p>{html.escape(q.text).replace(chr(10), '<br>')}</p>"
        f"<p class=soft>gold</p><pre class=gold>{html.escape(str(gold))}</pre>"
        f"<p class=soft>reply</p><pre class=reply>{html.escape(raw[:2000])}</pre></div></article>"
    )


def _picture(q: Question, scored: Any) -> str:
    try:
        photo = q.image()
    except (OSError, ValueError) as error:
        return f"<p class=wrong>{html.escape(str(error))}</p>"
    photo.thumbnail((SIDE * (2 if len(q.images) == 4 else 1), SIDE))
    buffer = io.BytesIO()
    photo.save(buffer, format="JPEG", quality=72)
    data = base64.b64encode(buffer.getvalue()).decode()
    width, height = photo.size
    boxes = "".join(_rectangle(box, width, height, style) for box, style in _boxes(q, scored))
    return (f'<svg viewBox="0 0 {width} {height}"><image href="data:image/jpeg;base64,{data}" width="{width}" '
            f'height="{height}"/>{boxes}</svg>')  # fmt: skip


def _boxes(q: Question, scored: Any) -> list[tuple[Any, str]]:
    if q.a_type not in ("bbox", "tf_bbox", "open_hoi"):
        return []
    gold = q.gold["bbox"] if q.a_type == "open_hoi" else q.gold
    found = [(gold, 'stroke="#1c9a55" stroke-width="4"')] if gold[0] != -1 else []
    guess = (scored["parsed"] or {}).get("bbox")
    fits = box_conventions(guess, gold, *q.size) if guess is not None and guess[0] != -1 else {}
    if fits:
        best = max(fits, key=lambda name: fits[name])
        scale = min(1920 / max(q.size), 1080 / min(q.size))
        by = {"pixels": q.size, "per mille": (1000, 1000),
              "pixels of the scaled view": (q.size[0] * scale, q.size[1] * scale)}.get(best, (1, 1))  # fmt: skip
        box = [guess[0] / by[0], guess[1] / by[1], guess[2] / by[0], guess[3] / by[1]]
        found.append((box, 'stroke="#e0542f" stroke-width="3" stroke-dasharray="8 5"'))
    return found


def _rectangle(box: Any, width: int, height: int, style: str) -> str:
    x, y, right, bottom = box[0] * width, box[1] * height, box[2] * width, box[3] * height
    size = f'width="{max(right - x, 0):.1f}" height="{max(bottom - y, 0):.1f}"'
    return f'<rect class="box" x="{x:.1f}" y="{y:.1f}" {size} fill="none" {style}/>'


def _rounded(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _rounded(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_rounded(value) for value in content]
    return round(content, 4) if isinstance(content, float) else content


def _number(value: float | None) -> str:
    return "n/a" if value is None or math.isnan(value) else f"{value:.1f}"


def _share(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.3f}"
