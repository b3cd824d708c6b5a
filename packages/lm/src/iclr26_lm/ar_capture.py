"""Captures ``ARTrace`` records of autoregressive language models, one teacher-forced forward pass per answer.

One pass over prompt and response without the last token gives the attentions that ``generate`` would have given step
by step (a sliding-window cache excepted, whose rows ``generate`` returns cropped). Hidden states come from hooks on the
blocks that are asked for; of the logits only scalars and the top 10 stay.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from iclr26_lm.ar_trace import ARTrace
from iclr26_lm.attention import LayerAttention, attention_capture, entries_bound
from iclr26_lm.statistics import token_statistics

if TYPE_CHECKING:
    from iclr26_lm.store import TraceWriter

LARGEST_ATTENTION = 2**30
FLOAT16_MAX = 65504.0


@torch.no_grad()
def capture_trace(
    model: Any,
    input_ids: torch.Tensor | Sequence[int],
    prompt_len: int,
    *,
    tau: float = 0.05,
    hidden_layers: Sequence[int] = (),
    layers: Sequence[int] | None = None,
    keep_prompt_rows: bool = False,
    top_k: int = 10,
    allow_large: bool = False,
    labels: int | Sequence[int] | torch.Tensor | None = None,
    spans: Sequence[tuple[int, int, str]] = (),
    meta: Mapping[str, Any] | None = None,
) -> ARTrace:
    """Return the trace of one prompt and its response.

    Args:
        model: a causal language model of transformers, in eval mode
        input_ids: (P + G,) token ids, prompt then response
        prompt_len: P
        tau: attention entries below are dropped, in [0, 1)
        hidden_layers: residual streams to keep, 0 = embeddings, l = output of block l
        layers: attention layers to keep, all if None; a hybrid model needs its attention layers listed
        keep_prompt_rows: keep the prompt rows' off-diagonal entries too
        top_k: how many of the most probable tokens to keep
        allow_large: go on although the attention may take more than 1 GiB
        labels: one per generated token or one for the answer; 1 = hallucinated
        spans: (start, end, name) in generated tokens
        meta: kept with the trace, beside tau, model and dtype

    Raises:
        ValueError: no prompt or no response, a model in training mode or not causal, layers without softmax
            attention, an attention that may be too large
    """
    ids = torch.as_tensor(input_ids, dtype=torch.long).flatten()
    if not 1 <= prompt_len < len(ids):
        raise ValueError(f"prompt_len must be in 1..{len(ids) - 1}, leaving a response (got {prompt_len})")
    if model.training:
        raise ValueError("model must be in eval mode (got training mode): call model.eval()")
    wanted = _attention_layers(model, layers)
    nodes, first_row = len(ids) - 1, 0 if keep_prompt_rows else prompt_len - 1
    _refuse_large(model, nodes, nodes - first_row, len(wanted), tau=tau, allow_large=allow_large)
    with (
        attention_capture(model, tau=tau, first_row=first_row) as attention,
        _hidden_states(model, hidden_layers) as hidden,
    ):
        logits = _response_logits(model, ids[:-1], len(ids) - prompt_len)
    missing = [layer for layer in wanted if layer not in attention.layers]
    if missing:
        raise ValueError(
            f"layers {missing} of {type(model).__name__} have no softmax attention that could be read: "
            f"pass layers={sorted(attention.layers)}"
        )
    response = ids[prompt_len:].to(logits.device)
    statistics = token_statistics(logits, response)
    top = torch.topk(logits.float(), min(top_k, logits.shape[-1]), dim=-1)
    return ARTrace(
        input_ids=ids.to(torch.int32),
        prompt_len=prompt_len,
        **_edges([attention.layers[layer] for layer in wanted]),
        hidden=dict(sorted(hidden.items())),
        token_logprob=statistics.logprob.cpu(),
        token_entropy=statistics.entropy.cpu(),
        topk_ids=top.indices.to(torch.int32).cpu(),
        topk_logprob=(top.values - statistics.logsumexp[:, None]).cpu(),
        labels=labels,  # type: ignore[arg-type]
        spans=tuple(spans),
        meta={**_description(model, tau, wanted, keep_prompt_rows, hidden), **(meta or {})},
    )


@torch.no_grad()
def capture(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    responses: Sequence[str] | None = None,
    *,
    store: TraceWriter | None = None,
    ids: Sequence[str] | None = None,
    max_new_tokens: int = 64,
    label: Callable[[int, str], int | Sequence[int] | None] | None = None,
    chat_template: bool = False,
    **options: Any,
) -> list[ARTrace]:
    """Return one trace per prompt; with ``store`` they are written there instead and the list is empty.

    Args:
        model: a causal language model of transformers, in eval mode
        tokenizer: its tokenizer
        prompts: the prompts
        responses: replayed by teacher forcing; if None, each is decoded greedily, up to ``max_new_tokens``
        store: a writer; ids that it holds already are skipped
        ids: one per prompt; ``"0"``, ``"1"``, … if None
        max_new_tokens: longest response when decoding
        label: called with the prompt's number and the response's text; returns labels, 1 = hallucinated
        chat_template: wrap each prompt as a user's message; noted in ``meta``
        options: of ``capture_trace``

    Raises:
        ValueError: lists of different lengths, or an empty response
    """
    names = [str(number) for number in range(len(prompts))] if ids is None else list(ids)
    for what, values in (("ids", names), ("responses", responses)):
        if values is not None and len(values) != len(prompts):
            raise ValueError(f"{what} must have one entry per prompt, {len(prompts)} (got {len(values)})")
    traces = []
    for number, name in enumerate(names):
        if store is not None and name in store:
            continue
        prompt = _prompt_ids(tokenizer, prompts[number], chat_template)
        reply = _decoded(model, prompt, max_new_tokens) if responses is None else _encoded(tokenizer, responses[number])
        if not len(reply):
            raise ValueError(f"the response to prompt {name!r} is empty: it needs at least one token")
        text = tokenizer.decode(reply, skip_special_tokens=True)
        trace = capture_trace(
            model,
            torch.cat([prompt, reply]),
            len(prompt),
            labels=None if label is None else label(number, text),
            meta={"id": name, "chat_template": chat_template, "greedy": responses is None},
            **options,
        )
        if store is None:
            traces.append(trace)
        else:
            store.append(name, trace)
    return traces


def _prompt_ids(tokenizer: Any, prompt: str, chat_template: bool) -> torch.Tensor:
    if chat_template:
        message = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        return torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])
    return torch.tensor(tokenizer(prompt)["input_ids"])


def _encoded(tokenizer: Any, text: str) -> torch.Tensor:
    return torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"], dtype=torch.long)


def _decoded(model: Any, prompt: torch.Tensor, max_new_tokens: int) -> torch.Tensor:
    row = prompt[None].to(model.device)
    tokens = model.generate(
        row, attention_mask=torch.ones_like(row), do_sample=False, max_new_tokens=max_new_tokens, use_cache=True
    )
    reply: torch.Tensor = tokens[0, len(prompt) :].cpu()
    return reply


def _attention_layers(model: Any, layers: Sequence[int] | None) -> list[int]:
    count = model.config.get_text_config().num_hidden_layers
    if layers is None:
        return list(range(count))
    if not layers or not set(layers) <= set(range(count)) or len(set(layers)) < len(layers):
        raise ValueError(f"layers must be distinct and in 0..{count - 1} (got {list(layers)})")
    return sorted(layers)


def _refuse_large(model: Any, nodes: int, rows: int, layers: int, *, tau: float, allow_large: bool) -> None:
    channels = layers * int(model.config.get_text_config().num_attention_heads)
    size = entries_bound(rows, nodes, channels, tau) * 4
    if size > LARGEST_ATTENTION and not allow_large:
        raise ValueError(
            f"{rows} rows of {nodes} tokens and {channels} channels at tau={tau} may take {size / 2**30:.1f} GiB: "
            "raise tau, drop keep_prompt_rows, pass fewer layers, or allow_large=True"
        )


def _response_logits(model: Any, ids: torch.Tensor, length: int) -> torch.Tensor:
    """Return (G, V) logits of the response rows; the model computes no others where it can be told so."""
    row = ids[None].to(model.device)
    options: dict[str, Any] = {"use_cache": False}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        options["logits_to_keep"] = length
    logits: torch.Tensor = model(input_ids=row, attention_mask=torch.ones_like(row), **options).logits
    return logits[0, -length:]


@contextmanager
def _hidden_states(model: Any, wanted: Sequence[int]) -> Iterator[dict[int, torch.Tensor]]:
    """Give a dict that fills with (n, d) residual streams while the model runs."""
    kept: dict[int, torch.Tensor] = {}
    blocks = transformer_blocks(model) if wanted else []
    outside = [layer for layer in wanted if not 0 <= layer <= len(blocks)]
    if outside:
        raise ValueError(f"hidden layers must be in 0..{len(blocks)} (got {outside})")
    handles = []
    for layer in wanted:
        if layer == 0:
            handles.append(blocks[0].register_forward_pre_hook(_keep_input(kept), with_kwargs=True))
        else:
            handles.append(blocks[layer - 1].register_forward_hook(_keep_output(kept, layer)))
    try:
        yield kept
    finally:
        for handle in handles:
            handle.remove()


def _keep_input(kept: dict[int, torch.Tensor]) -> Callable[..., None]:
    def hook(block: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        kept[0] = half_precision(positional[0] if positional else named["hidden_states"])

    return hook


def _keep_output(kept: dict[int, torch.Tensor], layer: int) -> Callable[..., None]:
    def hook(block: Any, positional: tuple[Any, ...], output: Any) -> None:
        kept[layer] = half_precision(output[0] if isinstance(output, tuple) else output)

    return hook


def half_precision(states: torch.Tensor) -> torch.Tensor:
    """Return (1, n, d) states as (n, d) float16 on the CPU, or bfloat16 where float16 would overflow."""
    largest = float(states.abs().max())
    dtype = torch.bfloat16 if largest > FLOAT16_MAX else torch.float16
    return states.reshape(-1, states.shape[-1]).to(dtype).cpu()


def transformer_blocks(model: Any) -> Sequence[torch.nn.Module]:
    """Return a model's blocks: its first module list with as many entries as the configuration has layers.

    Raises:
        ValueError: there is no such list
    """
    count = model.config.get_text_config().num_hidden_layers
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return list(module)
    raise ValueError(f"{type(model).__name__} has no module list of {count} blocks to read hidden states from")


def _edges(layers: Sequence[LayerAttention]) -> dict[str, torch.Tensor]:
    """Return the attention fields of an ``ARTrace``; edges are sorted by row, then column, entries by channel."""
    heads = layers[0].diagonal.shape[-1]
    row = torch.cat([layer.row for layer in layers]).long()
    column = torch.cat([layer.column for layer in layers]).long()
    channel = torch.cat([layer.head.long() + place * heads for place, layer in enumerate(layers)])
    value = torch.cat([layer.value for layer in layers])
    if bool((column > row).any()):
        raise ValueError("an ARTrace needs a causal model (got one whose tokens attend to later ones)")
    nodes, channels = layers[0].diagonal.shape[1], heads * len(layers)
    order = torch.argsort((row * nodes + column) * channels + channel)
    pair, counts = torch.unique_consecutive((row * nodes + column)[order], return_counts=True)
    kind = torch.uint16 if channels <= 2**16 else torch.uint32
    return {
        "attn_diag": torch.cat([layer.diagonal[0] for layer in layers], -1),
        "attn_row": (pair // nodes).to(torch.int32),
        "attn_col": (pair % nodes).to(torch.int32),
        "attn_indptr": torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]),
        "attn_chan": channel[order].to(torch.int32).to(kind),
        "attn_val": value[order],
    }


def _description(
    model: Any, tau: float, layers: Sequence[int], keep_prompt_rows: bool, hidden: Mapping[int, torch.Tensor]
) -> dict[str, Any]:
    import transformers

    return {
        "model": model.config.name_or_path or type(model).__name__,
        "revision": getattr(model.config, "_commit_hash", None),
        "tau": tau,
        "layers": list(layers),
        "heads": model.config.get_text_config().num_attention_heads,
        "keep_prompt_rows": keep_prompt_rows,
        "dtype": str(model.dtype).removeprefix("torch."),
        "hidden_dtype": {str(layer): str(states.dtype).removeprefix("torch.") for layer, states in hidden.items()},
        "torch": str(torch.__version__),
        "transformers": transformers.__version__,
    }
