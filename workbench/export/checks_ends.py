"""Checks of the graph's ends: names of inputs, outputs and cache, and their dtypes."""

from __future__ import annotations

import onnx_ir as ir

from workbench.analysis.graph_facts import GraphFacts, Port
from workbench.errors import Diagnostic, some
from workbench.export.subject import Findings, GraphCheck, Subject, finding
from workbench.types import dtype_word

_TOKENS = ("input_ids", "attention_mask", "position_ids")
_WHOLE = (ir.DataType.INT64, ir.DataType.INT32)
_LOGITS = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
_CACHE = (
    ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.INT8, ir.DataType.UINT8,
    ir.DataType.FLOAT8E4M3FN,
)  # fmt: skip


def input_names(subject: Subject, facts: GraphFacts) -> Findings:
    """Inputs that the config names and the graph lacks, or that the graph wants and nobody feeds."""
    for key in _TOKENS:
        wanted = subject.says(key) or (key == "input_ids" and not subject.says("inputs_embeds"))
        if wanted and (name := subject.name(key)) not in facts.inputs:
            yield finding(
                "genai.input-name", f"The graph has no input {name!r}; it has {some(_plain(facts, subject))}.",
                f"model.decoder.inputs.{key}", _rename(_TOKENS, key, facts),
                "error" if key == "input_ids" else "warning",  # the client gives the others where the graph has them
            )  # fmt: skip
    fed = _fed(subject, facts)
    for name in _plain(facts, subject):
        if name not in fed:
            yield finding(
                "genai.input-name", f"The graph wants the input {name!r}, which the client does not feed.", name,
                "Name it in model.decoder.inputs if it is one of the client's, else build the graph without it.",
                "error" if facts.readers.get(name) else "warning",  # nobody reads it: it may be absent
            )  # fmt: skip


def _plain(facts: GraphFacts, subject: Subject) -> list[str]:
    """Inputs that are no part of a cache."""
    cached = {name for template in subject.past for name in facts.layers(template).values()}
    return [name for name, port in facts.inputs.items() if name not in cached and len(port.dims) != 4]


def _fed(subject: Subject, facts: GraphFacts) -> set[str]:
    held = subject.at("model.decoder.inputs")
    named = [name for name in held.values() if isinstance(name, str)] if isinstance(held, dict) else []
    templates = {name for template in named if "%d" in template for name in facts.layers(template).values()}
    return {*named, *templates, *(subject.name(key) for key in _TOKENS)}


def _rename(keys: tuple[str, ...], key: str, facts: GraphFacts) -> str:
    return f"Name it {key!r} there." if key in facts.inputs else "Name the graph's own input, or leave the entry out."


def output_names(subject: Subject, facts: GraphFacts) -> Findings:
    """Logits are all that the client must have."""
    name = subject.name("logits")
    if name not in facts.outputs:
        plain = [found for found, port in facts.outputs.items() if len(port.dims) != 4]
        yield finding(
            "genai.output-name", f"The graph has no output {name!r}; it has {some(plain)}.",
            "model.decoder.outputs.logits", "Name the graph's logits there.",
        )  # fmt: skip


def past_names(subject: Subject, facts: GraphFacts) -> Findings:
    """Templates of the cache's inputs."""
    yield from _templates(subject, facts, ("past_key_names", "past_value_names"), "inputs")


def present_names(subject: Subject, facts: GraphFacts) -> Findings:
    """Templates of the cache's outputs."""
    yield from _templates(subject, facts, ("present_key_names", "present_value_names"), "outputs")


def _templates(subject: Subject, facts: GraphFacts, keys: tuple[str, str], part: str) -> Findings:
    held = facts.inputs if part == "inputs" else facts.outputs
    cached = [name for name, port in held.items() if len(port.dims) == 4]
    code = "genai.past-name" if part == "inputs" else "genai.present-name"
    for key in keys:
        template = subject.name(key)
        found = [name for name in facts.layers(template).values() if name in held]
        if not found and (cached or subject.says(key)):
            yield finding(
                code, f"No {part[:-1]} of the graph is called like {template!r}; it has {some(cached, 3)}.",
                f"model.decoder.{part}.{key}", "Write the graph's own name with %d in the place of the layer's number.",
            )  # fmt: skip


# --- dtypes -------------------------------------------------------------------------------------------------------
def ids_dtype(subject: Subject, facts: GraphFacts) -> Findings:
    """Tokens are int64 or int32."""
    port = facts.inputs.get(subject.name("input_ids"))
    if port is not None and port.dtype is not None and port.dtype not in _WHOLE:
        yield _dtype("genai.ids-dtype", port, "int64 or int32", "Build the graph with one of them.")


def mask_dtype(subject: Subject, facts: GraphFacts) -> Findings:
    """Mask and positions are int64 or int32, and both the same."""
    ports = [facts.inputs[name] for name in (subject.name(k) for k in _TOKENS[1:]) if name in facts.inputs]
    for port in ports:
        if port.dtype is not None and port.dtype not in _WHOLE:
            yield _dtype("genai.mask-dtype", port, "int64 or int32", "Build the graph with one of them.")
    if len(ports) == 2 and ports[0].dtype != ports[1].dtype:
        yield finding(
            "genai.mask-dtype", f"{ports[0].name} is {_word(ports[0])} and {ports[1].name} is {_word(ports[1])}; the "
            "client makes both in one dtype.", ports[1].name, "Build the graph with one dtype for both.",
        )  # fmt: skip


def cache_dtype(subject: Subject, facts: GraphFacts) -> Findings:
    """The client makes all buffers in the dtype of the first."""
    held = {**facts.inputs, **facts.outputs}
    names = [name for template in (*subject.past, *subject.present) for name in facts.layers(template).values()]
    ports = [held[name] for name in names if held[name].dtype is not None]
    for port in ports:
        if port.dtype not in _CACHE:
            yield _dtype("genai.cache-dtype", port, "a float dtype, or int8 or uint8", "Build the graph with one.")
            return
    odd = next((port for port in ports if port.dtype != ports[0].dtype), None)
    if odd is not None:
        yield finding(
            "genai.cache-dtype", f"{odd.name} is {_word(odd)} and {ports[0].name} is {_word(ports[0])}; the client "
            "makes the whole cache in one dtype.", odd.name, "Build the graph with one dtype for the cache.",
        )  # fmt: skip


def logits_dtype(subject: Subject, facts: GraphFacts) -> Findings:
    """Logits are a float dtype."""
    port = facts.outputs.get(subject.name("logits"))
    if port is not None and port.dtype is not None and port.dtype not in _LOGITS:
        yield _dtype("genai.logits-dtype", port, "float32, float16 or bfloat16", "Cast them in the graph.")


def _dtype(code: str, port: Port, allowed: str, hint: str) -> Diagnostic:
    return finding(code, f"{port.name} is {_word(port)}; the client takes {allowed}.", port.name, hint)


def _word(port: Port) -> str:
    return dtype_word(port.dtype) if port.dtype is not None else "of no dtype"


CHECKS = (
    GraphCheck("genai.input-name", "names of inputs", input_names),
    GraphCheck("genai.output-name", "names of outputs", output_names),
    GraphCheck("genai.past-name", "names of the cache's inputs", past_names),
    GraphCheck("genai.present-name", "names of the cache's outputs", present_names),
    GraphCheck("genai.ids-dtype", "the dtype of tokens", ids_dtype),
    GraphCheck("genai.mask-dtype", "the dtype of mask and positions", mask_dtype),
    GraphCheck("genai.cache-dtype", "the dtype of the cache", cache_dtype),
    GraphCheck("genai.logits-dtype", "the dtype of logits", logits_dtype),
)
