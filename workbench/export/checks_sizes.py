"""Checks of numbers: sizes of heads, layers, vocabulary and context in the config against the graph's."""

from __future__ import annotations

from workbench.analysis.graph_facts import GraphFacts
from workbench.export.subject import Findings, GraphCheck, Subject, finding

_READS = "The client reads it from the graph where it is fixed there; others believe the config."


def head_size(subject: Subject, facts: GraphFacts) -> Findings:
    """The size of a head: the cache's last axis, else what the attention works with."""
    yield from _against_cache(subject, facts, "genai.head-size", "head_size", -1, "heads of")


def kv_heads(subject: Subject, facts: GraphFacts) -> Findings:
    """How many key/value heads the cache holds."""
    yield from _against_cache(subject, facts, "genai.kv-heads", "num_key_value_heads", 1, "key/value heads:")


def _against_cache(subject: Subject, facts: GraphFacts, code: str, key: str, axis: int, words: str) -> Findings:
    said = subject.whole(f"model.decoder.{key}")
    for layer, name in sorted(facts.layers(subject.past[0]).items()):
        fixed = facts.inputs[name].size(axis) if name in facts.inputs else None
        op = next(iter(facts.readers.get(name, ())), None)
        from_op = (op.head_size if axis == -1 else op.kv_heads) if op is not None else None
        held = fixed if fixed is not None else from_op
        if said is not None and held is not None and said != held:
            yield finding(
                code, f"The config says {key} {said}; the graph's layer {layer} has {words} {held}."
                + (f" {_READS}" if fixed is not None else ""), f"model.decoder.{key}", f"Write {held}.",
                "warning" if fixed is not None else "error",
            )  # fmt: skip
            return


def layers(subject: Subject, facts: GraphFacts) -> Findings:
    """How many layers have a cache."""
    said, held = subject.whole("model.decoder.num_hidden_layers"), facts.layers(subject.past[0])
    if said is None or not held or len(held) == said:
        return
    yield finding(
        "genai.layers", f"The config says num_hidden_layers {said}; {len(held)} layers of the graph have a cache. "
        f"{_READS}", "model.decoder.num_hidden_layers", f"Write {len(held)}.", "warning",
    )  # fmt: skip


def vocabulary(subject: Subject, facts: GraphFacts) -> Findings:
    """The client makes the buffer of the logits as wide as the config says."""
    port = facts.outputs.get(subject.name("logits"))
    said, held = subject.whole("model.vocab_size"), port.size(-1) if port is not None else None
    if said is not None and held is not None and said != held:
        yield finding(
            "genai.vocab-logits", f"The config says vocab_size {said}; the graph gives {held} logits.",
            "model.vocab_size", f"Write {held}.",
        )  # fmt: skip


def context_length(subject: Subject, facts: GraphFacts) -> Findings:
    """Beyond the last row of its RoPE table a graph fails on CPU kernels; others may read what lies behind it."""
    said = subject.whole("model.context_length")
    for name, rows in facts.tables:
        if said is not None and said > rows:
            yield finding(
                "genai.context-length", f"The config says context_length {said}; the RoPE table {name!r} has "
                f"{rows} positions.", "model.context_length", f"Write {rows}, or build the graph with a longer table.",
            )  # fmt: skip
            break
    slots = facts.capacity(subject.past[0])
    if said is not None and slots is not None and said > slots:
        yield finding(
            "genai.context-length", f"The config says context_length {said}; the graph's cache has {slots} slots.",
            "model.context_length", f"Write {slots}.",
        )  # fmt: skip
    longest = subject.whole("search.max_length")
    if said is not None and longest is not None and longest > said:
        yield finding(
            "genai.context-length", f"search.max_length is {longest} and context_length {said}; the client makes no "
            "generator longer than the context.", "search.max_length", f"Write {said} or less.",
        )  # fmt: skip


CHECKS = (
    GraphCheck("genai.head-size", "the size of heads", head_size),
    GraphCheck("genai.kv-heads", "the number of key/value heads", kv_heads),
    GraphCheck("genai.layers", "the number of layers", layers),
    GraphCheck("genai.vocab-logits", "the vocabulary against the logits", vocabulary),
    GraphCheck("genai.context-length", "the context against the RoPE table", context_length),
)
