"""Checks of what the client does with the cache, and of the provider that it does it on."""

from __future__ import annotations

import onnx_ir as ir

from workbench.analysis.graph_facts import GQA, SHARES, CacheOp, GraphFacts
from workbench.ep import ExecutionProvider, ep_of_client, execution_providers, get_ep
from workbench.export.subject import Findings, GraphCheck, Subject, finding
from workbench.types import dtype_word

_SLIDING = "sliding"
"""Part of the names that ORT GenAI gives to the axes of a cache which holds a window only."""


def share_buffer(subject: Subject, facts: GraphFacts) -> Findings:
    """One buffer for past and present: only some operators write into the buffer that they read."""
    shares = subject.at("search.past_present_share_buffer")
    if shares is True and (op := _grows(subject, facts)) is not None:
        yield finding(
            "genai.share-buffer", f"search.past_present_share_buffer is true, and {op.node} ({op.use}) returns a "
            "longer cache at every step: the client's buffer does not fit.", "search.past_present_share_buffer",
            "Write false, or build the graph with GroupQueryAttention.",
        )  # fmt: skip
    for name, options in subject.providers.items():
        ep = ep_of_client(name)
        for key in _captures(ep) if shares is not True else ():
            if options.get(key) == (ep.provider_options[key].value if ep else None):
                yield finding(
                    "genai.share-buffer", f"{name} captures graphs ({key} is {options[key]!r}), which the client "
                    "refuses unless past_present_share_buffer is true.", f"provider_options.{name}.{key}",
                    f'Write "{ep.provider_options[key].growing if ep else "0"}".',
                )  # fmt: skip


def _captures(ep: ExecutionProvider | None) -> list[str]:
    return [name for name, option in ep.provider_options.items() if option.growing is not None] if ep else []


def _grows(subject: Subject, facts: GraphFacts) -> CacheOp | None:
    """A node that returns a longer cache than it got, unless the cache's length is fixed."""
    for template in subject.past:
        for name in facts.layers(template).values():
            fixed = name in facts.inputs and facts.inputs[name].size(2) is not None
            for op in () if fixed else facts.readers.get(name, ()):
                if op.use not in SHARES:
                    return op
    return None


# --- windows ------------------------------------------------------------------------------------------------------
def window_not_told(subject: Subject, facts: GraphFacts) -> Findings:
    """The graph holds the window alone, and the client is not told to make the cache that short."""
    entry = subject.at("model.decoder.sliding_window")
    listed = _listed(subject)
    for layer, ops in facts.cache_ops(subject.past[0]).items():
        short = any(op.bounded for op in ops) or _named_sliding(facts, subject, layer)
        if short and (not isinstance(entry, dict) or (listed and layer not in listed)):
            yield finding(
                "genai.window-not-told", f"Layer {layer} of the graph works with a cache of its window alone, and the "
                "config does not say so: the client keeps all of it.", "model.decoder.sliding_window",
                "Write window_size, layers, slide_key_value_cache false and slide_inputs false.", "warning",
            )  # fmt: skip
            return


def _named_sliding(facts: GraphFacts, subject: Subject, layer: int) -> bool:
    name = facts.layers(subject.past[0])[layer]
    dims = facts.inputs[name].dims if name in facts.inputs else ()
    return any(isinstance(size, str) and _SLIDING in size for size in dims)


def _listed(subject: Subject) -> list[int]:
    found = subject.at("model.decoder.sliding_window.layers")
    return [one for one in found if isinstance(one, int)] if isinstance(found, list) else []


def window_not_there(subject: Subject, facts: GraphFacts) -> Findings:
    """The client shortens the cache, and the graph knows of no window: dropped while it was made, say."""
    size = subject.whole("model.decoder.sliding_window.window_size")
    if size is None:
        return
    listed = _listed(subject)
    for layer, ops in facts.cache_ops(subject.past[0]).items():
        for op in ops if not listed or layer in listed else ():
            if op.use == GQA and (text := _wrong_window(op, layer, size, listed, _evicts(subject))):
                yield finding(
                    "genai.window-not-there", text, "model.decoder.sliding_window",
                    "Make the graph again with the model's window, or remove the entry if the model has none.",
                )  # fmt: skip
                return


def _evicts(subject: Subject) -> bool:
    """Whether the provider itself forgets what lies outside the window, so that its nodes need no attribute."""
    eps = [ep_of_client(name) for name in subject.providers]
    return any(ep is not None and "window_cache" not in _has(ep) for ep in eps)


def _wrong_window(op: CacheOp, layer: int, size: int, listed: list[int], evicts: bool) -> str:
    if op.window is None:
        lost = "" if listed else ", and the entry lists no layers"
        return f"The config says a window of {size} tokens; {op.node} (layer {layer}) has none{lost}: it was dropped."
    if op.window != size:
        return f"The config says a window of {size} tokens; {op.node} (layer {layer}) has {op.window}."
    if not op.bounded and not evicts:
        return (
            f"The config shortens the cache of layer {layer} to {size} tokens and some; {op.node} needs all of it "
            "(sliding_window_cache is not set): the client fails at the first longer prompt."
        )
    return ""


# --- providers ----------------------------------------------------------------------------------------------------
def other_provider(subject: Subject, facts: GraphFacts) -> Findings:
    """Options, or a graph, of another execution provider than the one that the client is to use."""
    yield from _other_than_made_for(subject)
    for name, options in subject.providers.items():
        ep = ep_of_client(name)
        if ep is None:
            continue
        for key in options:
            owner = _owner(key)
            if key not in ep.provider_options and owner is not None:
                yield finding(
                    "genai.other-provider", f"{key!r} is an option of {owner.genai_name}, and stands under {name!r}.",
                    f"provider_options.{name}.{key}", f"Remove it, or write {owner.genai_name!r} instead of {name!r}.",
                )  # fmt: skip
        yield from _cannot_run(ep, name, subject, facts)


def rotary_offset(subject: Subject, facts: GraphFacts) -> Findings:
    """Two RoPE tables in one: the provider has to be told where the second begins."""
    for name, options in subject.providers.items() if facts.rotary_offset is not None else ():
        ep = ep_of_client(name)
        key, wanted = ep.rotary_offset_option if ep is not None else "", str(facts.rotary_offset)
        if key and options.get(key) != wanted:
            yield finding(
                "genai.rotary-offset", f"The second RoPE table of the graph begins at row {wanted}, and {name} is told "
                f"{options.get(key, 'nothing')!r}: tokens beyond would be rotated by the wrong table.",
                f"provider_options.{name}.{key}", f'Write "{key}": "{wanted}".',
            )  # fmt: skip


def _other_than_made_for(subject: Subject) -> Findings:
    if subject.made_for not in execution_providers():
        return
    own, named = get_ep(subject.made_for).genai_name, list(subject.providers)
    if sorted(map(_plain, named)) != ([_plain(own)] if own else []):
        yield finding(
            "genai.other-provider", f"The graph was made for {subject.made_for!r} (manifest.json), and the config "
            f"names {', '.join(named) or 'no provider'}.", "model.decoder.session_options.provider_options",
            f"Write an entry for {own!r}." if own else "Write an empty list.",
        )  # fmt: skip


def _plain(name: str) -> str:
    return name.lower().removesuffix("executionprovider")


def _owner(key: str) -> ExecutionProvider | None:
    return next((ep for ep in map(get_ep, execution_providers()) if key in ep.provider_options), None)


def _cannot_run(ep: ExecutionProvider, name: str, subject: Subject, facts: GraphFacts) -> Findings:
    """The attention that holds the cache, asked of the facts about the provider; one finding is enough."""
    for layer, ops in facts.cache_ops(subject.past[0]).items():
        dtype = facts.inputs[facts.layers(subject.past[0])[layer]].dtype
        for op in ops if dtype is not None and dtype.is_floating_point() else ():
            if op.use == GQA and (missing := _missing(ep, op, dtype)):
                yield finding(
                    "genai.other-provider", f"{op.node} (layer {layer}) uses {missing}, for which no kernel of "
                    f"{name} is known: the graph was made for another provider.", op.node,
                    f"Build it for {ep.name!r}, or name the provider that it was built for.", "warning",
                )  # fmt: skip
                return


def _missing(ep: ExecutionProvider, op: CacheOp, dtype: ir.DataType | None) -> str:
    if dtype is not None and not ep.runs(GQA, dtype):
        return f"{GQA.op_type} in {dtype_word(dtype)}"
    return ", ".join(sorted(op.features - _has(ep)))


def _has(ep: ExecutionProvider) -> frozenset[str]:
    fact = ep.kernels.get(GQA)
    return fact.has if fact is not None else frozenset()


CHECKS = (
    GraphCheck("genai.share-buffer", "one buffer for past and present", share_buffer),
    GraphCheck("genai.window-not-told", "windows of the graph in the config", window_not_told),
    GraphCheck("genai.window-not-there", "windows of the config in the graph", window_not_there),
    GraphCheck("genai.rotary-offset", "where the second of two RoPE tables begins", rotary_offset),
    GraphCheck("genai.other-provider", "the provider of graph, manifest and options", other_provider),
)
