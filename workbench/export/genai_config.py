"""``genai_config.json`` of a decoder: from the graph's own ends, the model's config, and facts about its provider."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

import onnx_ir as ir

from workbench.analysis.graph_facts import GraphFacts
from workbench.config.model_config import ModelConfig
from workbench.ep import ExecutionProvider, execution_providers, get_ep
from workbench.errors import ArgumentError, SaveError, UnsupportedError, some, unknown
from workbench.export.keys import DEFAULT_NAMES, GENERIC_TYPE, KEYS, SAMPLING, TYPES
from workbench.package.generation import special_tokens
from workbench.types import OpId, dtype_word

NAME = "genai_config.json"
_PAST = (DEFAULT_NAMES["past_key_names"], DEFAULT_NAMES["past_value_names"])
_PRESENT = (DEFAULT_NAMES["present_key_names"], DEFAULT_NAMES["present_value_names"])
_TOKENS = ("input_ids", "attention_mask", "position_ids")
LOCAL = frozenset(dtype for ep in map(get_ep, execution_providers()) if ep.local_kernels for dtype in ep.computes)
"""Dtypes in which the kernels of the plain ONNX Runtime compute."""


@dataclasses.dataclass(frozen=True)
class ClientConfig:
    """The words of ``genai_config.json``, and sentences about them."""

    values: Mapping[str, Any]
    notes: tuple[str, ...]

    def to_json(self) -> bytes:
        """The file."""
        return (json.dumps(self.values, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def client_config(
    facts: GraphFacts,
    config: ModelConfig,
    ep: ExecutionProvider,
    *,
    filename: str,
    generation: Mapping[str, Any],
    search: Mapping[str, Any],
) -> ClientConfig:
    """Write everything that the client would otherwise guess.

    Raises:
        UnsupportedError: the graph has other ends than the client can feed.
        ArgumentError, UnknownNameError: ``search`` holds what the client does not know.
    """
    check_ends(facts)
    notes: list[str] = []
    shares, room = facts.shares_buffer(*_PAST), facts.capacity(_PAST[0]) or config.max_position_embeddings
    decoder = {
        "filename": filename,
        "head_size": config.head_dim,
        "hidden_size": config.hidden_size,
        "num_attention_heads": config.num_attention_heads,
        "num_key_value_heads": config.num_key_value_heads,
        "num_hidden_layers": config.num_hidden_layers,
        "session_options": _session_options(ep, shares, facts.rotary_offset),
        "inputs": _inputs(facts),
        "outputs": {
            "logits": "logits", "present_key_names": _PRESENT[0], "present_value_names": _PRESENT[1],
        },
    }  # fmt: skip
    decoder |= _window(facts)
    model = {
        "type": config.model_type if config.model_type in TYPES else GENERIC_TYPE,
        "vocab_size": config.vocab_size,
        "context_length": room,
        **_tokens(config, generation, notes),
        "decoder": decoder,
    }
    values = {"model": model, "search": _search(room, generation, search, shares, notes)}
    return ClientConfig(values, tuple(notes))


def check_ends(facts: GraphFacts) -> None:
    """The client feeds tokens, a mask, positions and a cache, and nothing else.

    Raises:
        UnsupportedError: the graph wants something else, gives no logits, or takes a single token at a time.
    """
    odd = [name for name in facts.inputs if name not in _TOKENS and not _is_past(facts, name)]
    lacking = [name for name in ("input_ids", "logits") if name not in {**facts.inputs, **facts.outputs}]
    if odd or lacking:
        raise UnsupportedError(
            "onnxruntime-genai runs text generators, and this graph is none: "
            + "; ".join(_what(odd, "unknown inputs") + _what(lacking, "no"))
            + ". Export a model of the task text-generation."
        )
    if facts.inputs["input_ids"].size(1) == 1:
        raise UnsupportedError(
            "This graph takes one token at a time (graph_capture=True), and onnxruntime-genai gives it the whole "
            "prompt at once. Build it without graph_capture."
        )


def _is_past(facts: GraphFacts, name: str) -> bool:
    return any(name in facts.layers(template).values() for template in _PAST)


def _what(names: list[str], words: str) -> list[str]:
    return [f"{words} {some(names, 3)}"] if names else []


def _inputs(facts: GraphFacts) -> dict[str, str]:
    """Only what the graph has: an input that the pipeline dropped must not be named."""
    named = {name: name for name in _TOKENS if name in facts.inputs}
    cache = dict(zip(("past_key_names", "past_value_names"), _PAST, strict=True))
    return named | {key: template for key, template in cache.items() if facts.layers(template)}


def _session_options(ep: ExecutionProvider, shares: bool, rotary_offset: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {"log_id": "onnxruntime-genai"}
    options |= {name: option.text(shares_buffer=shares) for name, option in ep.session_options.items()}
    entry = {name: option.text(shares_buffer=shares) for name, option in ep.provider_options.items()}
    if rotary_offset is not None and ep.rotary_offset_option:
        entry[ep.rotary_offset_option] = str(rotary_offset)
    options["provider_options"] = [{ep.genai_name: entry}] if ep.genai_name else []
    return options


def _window(facts: GraphFacts) -> dict[str, Any]:
    """The client shortens the cache of the layers listed here, which only a node that is told so can take."""
    layers = facts.cache_ops(_PAST[0])
    bounded = {layer: op.window for layer, ops in layers.items() for op in ops if op.bounded and op.window}
    if not bounded:
        return {}
    return {
        "sliding_window": {
            "window_size": max(bounded.values()), "slide_key_value_cache": False, "slide_inputs": False,
            "layers": sorted(bounded), "cache_slack": 0,
        }
    }  # fmt: skip


# --- tokens -------------------------------------------------------------------------------------------------------
def _tokens(config: ModelConfig, generation: Mapping[str, Any], notes: list[str]) -> Mapping[str, Any]:
    """The special tokens, with a pad token in any case: without one the client refuses."""
    found, said = special_tokens(config, generation)
    notes += said
    ends = found.get("eos_token_id")
    if not ends:
        notes.append("The model names no end token; the client takes the pad token for one.")
        return found
    if "pad_token_id" not in found:
        notes.append(f"The model names no pad token: pad_token_id is its end token {ends[0]}.")
    return {**found, "pad_token_id": found.get("pad_token_id", ends[0])}


# --- search -------------------------------------------------------------------------------------------------------
def _search(
    room: int, generation: Mapping[str, Any], given: Mapping[str, Any], shares: bool, notes: list[str]
) -> dict[str, Any]:
    values = dict(SAMPLING)
    for name, default in SAMPLING.items():
        word = generation.get(name)
        if word is not None and _fits(word, default):
            values[name] = word
    foreign = sorted(set(generation) & _NOT_KNOWN)
    if foreign:
        notes.append(f"generation_config.json also asks for {', '.join(foreign)}, which the client does not have.")
    values |= {"max_length": room, "past_present_share_buffer": shares}
    return values | _checked(given, values, room)


_NOT_KNOWN = frozenset(
    "min_p typical_p epsilon_cutoff eta_cutoff top_h penalty_alpha encoder_repetition_penalty bad_words_ids "
    "forced_bos_token_id forced_eos_token_id suppress_tokens begin_suppress_tokens sequence_bias "
    "exponential_decay_length_penalty guidance_scale stop_strings".split()
)


def _fits(word: Any, default: object) -> bool:
    if isinstance(default, bool) or isinstance(word, bool):
        return isinstance(default, bool) and isinstance(word, bool)
    return isinstance(word, int) if isinstance(default, int) else isinstance(word, int | float)


def _checked(given: Mapping[str, Any], values: Mapping[str, Any], room: int) -> dict[str, Any]:
    """The caller's own words, each known to the client and of the right kind."""
    for name, word in given.items():
        if name not in KEYS["search"]:
            raise unknown("search option", name, KEYS["search"])
        default = values.get(name, 0.0)
        if not _fits(word, default):
            kind = "true or false" if isinstance(default, bool) else "a number"
            raise ArgumentError(f"search[{name!r}] must be {kind}; found {type(word).__name__} {word!r:.60}.")
    length = given.get("max_length")
    if length is not None and not 1 <= length <= room:
        raise SaveError(
            f"search['max_length'] is {length}; the model has {room} positions. Give a number from 1 to that."
        )
    if given.get("past_present_share_buffer") and not values["past_present_share_buffer"]:
        raise UnsupportedError(
            "search['past_present_share_buffer'] is true, and this graph's attention returns a longer cache at every "
            "step instead of writing into one buffer. Leave it out."
        )
    return dict(given)


# --- notes -------------------------------------------------------------------------------------------------------
def _local(use: OpId, feature: str) -> bool:
    """Whether the kernels of the plain ONNX Runtime do this, or nothing is said about the operator."""
    found = [ep.kernels.get(use) for ep in map(get_ep, execution_providers()) if ep.local_kernels]
    return any(fact is None or feature in fact.has for fact in found)


def client_notes(facts: GraphFacts, ep: ExecutionProvider, dtype: ir.DataType, padding: str) -> Iterator[str]:
    """What whoever runs the folder has to know."""
    ops = [op for found in facts.cache_ops(_PAST[0]).values() for op in found]
    lacking = sorted({feature for op in ops for feature in op.features if not _local(op.use, feature)})
    if ep.genai_name and lacking:
        yield (
            f"The client needs the provider {ep.genai_name}: the CPU kernel of its attention has no "
            f"{' and no '.join(lacking)}. Build for another provider to run it here."
        )
    elif ep.genai_name and dtype in LOCAL:
        yield (
            f"The client needs the provider {ep.genai_name}; elsewhere clear it to run the graph on CPU kernels "
            "(Config.clear_providers(), workbench run does so by itself)."
        )
    elif ep.genai_name:
        yield f"The client needs the provider {ep.genai_name}; CPU kernels do not compute in {dtype_word(dtype)}."
    if facts.rotary_offset is not None:
        yield (
            f"The graph holds two RoPE tables in one, and {ep.rotary_offset_option or 'an option'} tells the provider "
            f"where the second begins: without that provider the graph is wrong beyond {facts.rotary_offset} tokens."
        )
    if padding == "right":
        yield "Rows of a batch may be padded on the right only, which is how the client pads them (0.18)."
    windows = {op.window for op in ops if op.window and not op.bounded}
    if windows:
        yield (
            f"Sliding windows ({', '.join(map(str, sorted(windows)))} tokens) are inside the graph and the cache is "
            "kept whole, so there is no sliding_window entry; window_cache=True makes the client keep the window only."
        )
    if not facts.shares_buffer(*_PAST):
        yield "past_present_share_buffer is false: this graph's attention returns a longer cache at every step."
