"""Graphs with ``COUNT`` anchors of a rule, some of them spoiled: for every rule at least one way to spoil an anchor."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable

import onnx_ir as ir

from tests.golden_ops import words
from tests.unit.rules.graphs import applied, config, llama, nodes, parsed
from tests.unit.rules.rope_tables import LONG
from tests.unit.rules.rope_tables import of as long_rope
from workbench.models import lookup
from workbench.recipe import Recipe
from workbench.tasks import get_task
from workbench.types import ROTARY_OFFSET_KEY, MissKind

COUNT = 3
Spoil = Callable[[ir.Node], None]


@dataclasses.dataclass(frozen=True)
class Plant:
    """A way to spoil anchors of a rule. ``make(spoiled)`` gives the graph, and the names of what is spoiled in it.

    ``allows`` names the features of the kernel (None: all).
    """

    rule: str
    kind: MissKind
    reason: str
    make: Callable[[int], tuple[ir.Model, set[str]]]
    allows: str | None = None


# --- layers of a model ----------------------------------------------------------------------------------------------
@functools.cache
def family(name: str) -> ir.Model:
    """Three layers of a family, without weights where the rules do not read them."""
    if name == "llama":
        return llama(config(num_hidden_layers=COUNT))
    if name == "longrope":
        return llama(dataclasses.replace(long_rope(LONG), num_hidden_layers=COUNT))
    spec = lookup(name)
    recipe = Recipe(spec.module, spec.read({**words(spec), "num_hidden_layers": COUNT}), get_task(spec.task))
    return recipe.generic(ir.DataType.FLOAT)[0]["model"]


def layers(op_type: str, spoil: Spoil, *first: str, of: str = "llama", anchor: str = "") -> Callable[[int], tuple]:
    """A family's graph after the rules ``first``, whose last layers have a node of ``op_type`` spoiled."""

    def make(spoiled: int) -> tuple[ir.Model, set[str]]:
        model = applied(family(of), *first)[0] if first else family(of).clone()
        found = nodes(model, op_type)
        assert len(found) == COUNT
        chosen = found[COUNT - spoiled :]
        named = {node.name for node in chosen} if not anchor else {anchor.format(i) for i in range(3 - spoiled, 3)}
        for node in chosen:
            spoil(node)
        return model, named

    return make


def setting(**attributes: int | float) -> Spoil:
    def spoil(node: ir.Node) -> None:
        for name, value in attributes.items():
            made = ir.AttrFloat32(name, value) if isinstance(value, float) else ir.AttrInt64(name, value)
            node.attributes[name] = made

    return spoil


def somebody_reads(index: int) -> Spoil:
    def spoil(node: ir.Node) -> None:
        assert node.graph is not None and node.inputs[index] is not None
        node.graph.outputs.append(node.inputs[index])

    return spoil


def without(*inputs: int) -> Spoil:
    def spoil(node: ir.Node) -> None:
        for index in inputs:
            node.replace_input_with(index, None)

    return spoil


def without_a_number(node: ir.Node) -> None:
    node.metadata_props[ROTARY_OFFSET_KEY] = "many"


def without_bias(node: ir.Node) -> None:
    """The keys' projection loses its bias."""
    add = node.inputs[1].producer()
    assert add is not None and add.op_type == "Add"
    node.replace_input_with(1, add.inputs[0])
    add.graph.remove(add, safe=True)


def other_mask(node: ir.Node) -> None:
    """The mask goes through a Not: some mask, and not one of ours."""
    made = ir.node("Not", [node.inputs[3]])
    made.outputs[0].dtype = ir.DataType.BOOL
    assert node.graph is not None
    node.graph.insert_before(node, made)
    node.replace_input_with(3, made.outputs[0])


# --- graphs of text -------------------------------------------------------------------------------------------------
GIVEN = "float[b, s, 8] x, float[b, s, 8] skip, bool c, int64[2] at, int64[b, s] ids, float[4, 2] cos, float[4, 2] sin"
CACHE = "float[b, 2, p, 4] past, int32[b] lengths, int32[1] total"
CONSTANTS = (
    "float[8] scale = {1, 2, 3, 4, 5, 6, 7, 8}, float[8] bias = {8, 7, 6, 5, 4, 3, 2, 1}, float half = {0.5}, "
    "float one = {1}, float two = {2}, float r2 = {1.41421356}"
)
TABLE = "float[4, 2] {name}{i} = {1, 2, 3, 4, 5, 6, 7, 8}"


def lines(good: str, bad: str, outputs: str = "float[b, s, 8] y{i}", more: str = "") -> Callable[[int], tuple]:
    """Lines of anchors that match and of spoiled ones: ``{i}`` is the number of ``y{i}``, ``more`` further outputs."""

    def make(spoiled: int) -> tuple[ir.Model, set[str]]:
        bodies = [bad if i >= COUNT - spoiled else good for i in range(COUNT)]
        named = [outputs + (more if body is bad else "") for body in bodies]
        text = " ".join(body.replace("{i}", str(i)) for i, body in enumerate(bodies))
        names = [(name, str(i)) for name in ("short", "long", "sines", "more") for i in range(COUNT)]
        tables = ", ".join(TABLE.replace("{name}", name).replace("{i}", i) for name, i in names)
        declared = ", ".join(each.replace("{i}", str(i)) for i, each in enumerate(named))
        model = parsed(
            '<ir_version: 10, opset_import: ["" : 24, "com.microsoft" : 1, "ep_workbench" : 1]> '
            f"g ({GIVEN}, {CACHE}) => ({declared}) <{CONSTANTS}, {tables}> {{ {text} }}"
        )
        for node in model.graph:
            node.name = node.outputs[0].name
        return model, {f"y{i}" for i in range(COUNT - spoiled, COUNT)}

    return make


RMS = "y{i} = RMSNormalization <axis = -1{more}> (x, scale)"
SUM = "s{i} = Add (x, skip) y{i} = {op} <axis = -1, stash_type = {stash}> (s{i}, scale{beta})"
GELU = "e{i} = Div (x, r2) y{i} = Erf (e{i}) g{i} = Add (one, y{i}) h{i} = Mul (x, g{i}) z{i} = Mul (h{i}, {last})"
BRANCHES = """y{i} = If (c) < then_branch = yes{i} () => (float[b, s, 8] a{i}) { a{i} = Neg (x) },
  else_branch = no{i} () => (float[b, s, 8] b{i}) { b{i} = {op} }>"""
SKIP = "com.microsoft.SkipSimplifiedLayerNormalization (x, skip, scale)"


def of(text: str, **parts: str) -> str:
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text


def summed(op: str, beta: str = "") -> Callable[[int], tuple]:
    return lines(*(of(SUM, op=op, beta=beta, stash=stash) for stash in ("1", "10")))


def normed(text: str) -> Callable[[int], tuple]:
    return lines(*(text.replace("{more}", more) for more in ("", ", stash_type = 10")))


def _gelu_lines() -> Iterable[Plant]:
    yield Plant(
        "fuse/gelu",
        "precondition",
        "it computes 2 times Gelu",
        lines(of(GELU, last="half"), of(GELU, last="two"), "float[b, s, 8] z{i}"),
    )
    add = "a{i} = Add (x, {what}) y{i} = Gelu (a{i})"
    yield Plant(
        "fuse/bias_gelu", "precondition", "the bias is not one number per entry of the last axis",
        lines(of(add, what="bias"), of(add, what="half")),
    )  # fmt: skip


CHOSEN = "y{i} = ep_workbench.LongRopeTable <original = 2> (ids, short{i}, long{i}) "
SINES = "s{i} = ep_workbench.LongRopeTable <original = 2> (ids, sines{i}, more{i}) "
ROTATES = """o{i}, k{i}, v{i} = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 2, do_rotary = 1>
  (x, x, x, past, past, lengths, total, y{i}, {sin}) """
FUSED = ("fuse/gqa", "fuse/pack_qkv")
NORMED = ("fuse/gqa", "fuse/qk_norm")
HALF = int(ir.DataType.FLOAT16)
PLANTS: tuple[Plant, ...] = (
    Plant("fuse/gqa", "precondition", "softmax_precision is not float32",
          layers("Attention", setting(softmax_precision=HALF))),
    Plant("fuse/gqa", "unmatched", "is_causal is set beside a mask", layers("Attention", setting(is_causal=1))),
    Plant("fuse/gqa", "fact", "the kernel does not apply softcap",
          layers("Attention", setting(softcap=2.0)), "do_rotary local_window"),
    Plant("fuse/pack_qkv", "precondition", "query: the projection has another reader",
          layers("GroupQueryAttention", somebody_reads(0), "fuse/gqa")),
    Plant("fuse/mha", "precondition", "scores are capped", layers("Attention", setting(softcap=2.0), of="bert")),
    Plant("fuse/mha", "unmatched", "attn_mask is made by Not, not by PaddingMask",
          layers("Attention", other_mask, of="bert")),
    Plant("fuse/packed_attention", "precondition", "only some of query, key and value have a bias",
          layers("MultiHeadAttention", without_bias, "fuse/mha", of="bert")),
    Plant("fuse/moe", "precondition", "the smallest probabilities are chosen",
          layers("TopK", setting(largest=0), of="mixtral", anchor="model.layers.{}.mlp.experts")),
    Plant("fuse/skip_rms_norm", "precondition", "stash_type is not float32", summed("RMSNormalization")),
    Plant("fuse/skip_layer_norm", "precondition", "stash_type is not float32", summed("LayerNormalization", ", bias")),
    *_gelu_lines(),
    Plant("fuse/qk_norm", "precondition", "the attention does not rotate",
          layers("GroupQueryAttention", setting(do_rotary=0), "fuse/gqa", of="qwen3")),
    Plant("lower/separate_qk_norm", "unmatched", "number or size of heads is not known",
          layers("GroupQueryAttention", setting(num_heads=0), *NORMED, of="qwen3")),
    Plant("lower/one_rope_table", "unmatched", "no number of rows",
          layers("GroupQueryAttention", without_a_number, "fuse/gqa", "lower/split_if", of="longrope")),
    Plant("lower/split_if", "unmatched", "cosines and sines of an attention are chosen differently",
          lines(CHOSEN + SINES + of(ROTATES, sin="s{i}"), CHOSEN + of(ROTATES, sin="sin"), "float[b, s, 8] o{i}")),
    Plant("lower/unpack_qkv", "unmatched", "5 query, key and value heads do not divide",
          layers("GroupQueryAttention", setting(num_heads=3, kv_num_heads=1), *FUSED)),
    Plant("lower/separate_rope", "unmatched", "query, key and value are packed",
          layers("GroupQueryAttention", without(1, 2), "fuse/gqa")),
    Plant("lower/gqa_to_standard", "precondition", "it is not causal",
          layers("GroupQueryAttention", setting(causal=0), *FUSED)),
    Plant("lower/ms_to_standard", "precondition", "it has a cache or looks back only",
          lines("y{i} = com.microsoft.FastGelu (x)",
                "y{i} = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = 1> (x, x, x)")),
    Plant("lower/attention", "unmatched", "is_causal, nonpad_kv_seqlen or used scores are not lowered",
          layers("Attention", setting(is_causal=1))),
    Plant("lower/rotary_to_ms", "unmatched", "num_heads is not set",
          lines("y{i} = RotaryEmbedding <num_heads = 2> (x, cos, sin, ids)",
                "y{i} = RotaryEmbedding (x, cos, sin, ids)")),
    Plant("lower/skip_norms", "precondition", "somebody reads the mean or the deviation",
          lines(f"y{{i}} = {SKIP}", f"y{{i}}, m{{i}} = {SKIP}", more=", float[b, s, 1] m{i}")),
    Plant("lower/simplify_rms_norm", "precondition", "stash_type is not float32", normed(RMS)),
    Plant("lower/rms_norm", "precondition", "stash_type is not float32", normed(RMS)),
    Plant("lower/layer_norm", "precondition", "stash_type is not float32",
          normed("y{i} = LayerNormalization <axis = -1{more}> (x, scale, bias)")),
    Plant("lower/gelu_to_ms", "unmatched", "Gelu lacks its input 0", lines("y{i} = Gelu (x)", "y{i} = Gelu ( )")),
    Plant("lower/if_to_where", "precondition", "its else branch holds Gather",
          lines(of(BRANCHES, op="Exp (x)"), of(BRANCHES, op="Gather <axis = 2> (x, at)"))),
    Plant("lower/eliminate_shape", "unmatched", "only the length of a matrix's second axis is counted",
          lines("y{i} = Shape <start = 1, end = 2> (ids)", "y{i} = Shape <end = 1> (ids)", "int64[1] y{i}")),
)  # fmt: skip
