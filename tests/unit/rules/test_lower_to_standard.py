"""lower/gqa_to_standard and lower/ms_to_standard: what no body is written for is left with its reason.

The numbers of every variant are in ``tests/unit/functions/test_contrib_bodies.py``.
"""

from __future__ import annotations

import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, distance, each, feeds, llama, nodes, only_miss, parsed
from workbench.types import MS_DOMAIN, WB_DOMAIN

GQA_RULE, MS_RULE = "lower/gqa_to_standard", "lower/ms_to_standard"
HEADER = '<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]>'


def gqa(
    opset: int = 24, inputs: str = "", extra: str = "", attributes: str = "", outputs: str = "y, pk, pv"
) -> ir.Model:
    given = "q, k, v, past_k, past_v, lengths, total" + inputs
    return parsed(f"""{HEADER.format(opset=opset)}
      g (float[b, s, 64] q, float[b, s, 32] k, float[b, s, 32] v, float[b, 2, p, 16] past_k, float[b, 2, p, 16] past_v,
         int32[b] lengths, int32[1] total{extra}) => (float[b, s, 64] y, float[b, 2, t, 16] pk, float[b, 2, t, 16] pv)
      {{ {outputs} = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2 {attributes}> ({given}) }}""")


GQA_MISSES = {
    "positions": (
        {"inputs": ", , , at", "extra": ", int64[b, s] at"}, "precondition",
        "position_ids are given to the kernel, which reads them differently for a prompt and after it",
    ),
    "quantized cache": (
        {"inputs": ", , , , , , scale, scale", "extra": ", float[1] scale"}, "precondition",
        "the cache is quantized, and no body is written for that",
    ),
    "not causal": (
        {"attributes": ", causal = 0"}, "precondition",
        "it is not causal, or its cache holds a window only; no body is written for that",
    ),
    "window cache": (
        {"attributes": ", sliding_window_cache = 1"}, "precondition",
        "it is not causal, or its cache holds a window only; no body is written for that",
    ),
    "old opset": (
        {"opset": 17}, "precondition", "the graph is of opset 17, and the body is written for 18 and later",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GQA_MISSES)
def test_what_gqa_may_be_and_no_body_is_written_for(name: str) -> None:
    words, kind, reason = GQA_MISSES[name]
    after, report = applied(gqa(**words), GQA_RULE)
    miss = only_miss(report)
    assert (report.candidates, miss.kind, miss.reason) == (1, kind, reason)
    assert [node.op_type for node in after.graph] == ["GroupQueryAttention"]


def test_head_size_that_nobody_knows() -> None:
    model = gqa()
    for value in (model.graph.inputs[0], model.graph.inputs[3]):
        value.shape = ir.Shape([None] * len(value.shape or ()))
    assert (only_miss(applied(model, GQA_RULE)[1]).kind, only_miss(applied(model, GQA_RULE)[1]).reason) == (
        "unmatched", "the size of a head is not known",
    )  # fmt: skip


def test_planted() -> None:
    """Two layers, one with a quantized cache: 1 of 2 and one reason."""
    before, _ = applied(llama(), "fuse/gqa", "fuse/pack_qkv")
    one = nodes(before, "GroupQueryAttention")[1]
    given = list(one.inputs)
    scale = ir.Value(name="scale", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([1]))
    before.graph.inputs.append(scale)
    one.resize_inputs(14)
    for index in range(len(given), 14):
        one.replace_input_with(index, scale if index > 11 else None)
    after, report = applied(before, GQA_RULE)
    assert (report.candidates, report.applied, len(report.misses)) == (2, 1, 1)
    assert report.misses[0].kind == "precondition" and "quantized" in report.misses[0].reason
    assert report.misses[0].scope == "model.layers.1.self_attn"
    assert len(nodes(after, "GroupQueryAttention", MS_DOMAIN)) == 1


@pytest.mark.parametrize("past", [0, 3])
def test_every_layer_of_a_llama(past: int) -> None:
    model = llama()
    after, report = applied(model, "fuse/gqa", "fuse/pack_qkv", GQA_RULE)
    assert (report.candidates, report.applied) == (2, 2)
    assert {node.domain for node in after.graph} == {"", WB_DOMAIN}  # KeyLengths is still a call
    from tests.unit.rules.graphs import config

    assert distance(model, after, feeds(config(), past=past)) <= 1e-5


def ms(text: str, opset: int = 24, inputs: str = "") -> ir.Model:
    return parsed(f"""{HEADER.format(opset=opset)}
      g (float[b, s, 64] q, float[b, s, 64] k, float[b, s, 64] v{inputs}) => (float[b, s, 64] y) {{ {text} }}""")


MHA = "y = com.microsoft.MultiHeadAttention <num_heads = 4 {more}> (q, k, v{given})"
ROTARY = "y = com.microsoft.RotaryEmbedding <num_heads = 4> (q, at, cos, sin)"
TABLES = ", float[64, 8] cos, float[64, 8] sin, int64[{at}] at"
MS_MISSES = {
    "a cache": (
        ms(MHA.format(more="", given=", , , , past, past"), inputs=", float[b, 4, p, 16] past"), "precondition",
        "it has a cache or looks back only, and no body is written for that",
    ),
    "looks back": (
        ms(MHA.format(more=", unidirectional = 1", given="")), "precondition",
        "it has a cache or looks back only, and no body is written for that",
    ),
    "lengths for a mask": (
        ms(MHA.format(more="", given=", , lengths"), inputs=", int32[b] lengths"), "unmatched",
        "key_padding_mask is not [B, T]",
    ),
    "one position": (
        ms(ROTARY, inputs=TABLES.format(at="1")), "unmatched",
        "positions are not [B, S], or it is packed or scaled",
    ),
    "no Gelu yet": (
        ms("y = com.microsoft.FastGelu (q)", opset=19), "precondition",
        "the graph is of opset 19, and the standard has Gelu from 20 on",
    ),
    "a second input of one": (
        ms("y = com.microsoft.Gelu (q, q)"), "unmatched", "it has 2 inputs, and the operator 1",
    ),
    "a bias that is left out": (
        ms("y = com.microsoft.BiasGelu (q)"), "unmatched", "BiasGelu lacks its input 1",
    ),
    "packed and causal": (
        ms("y = com.microsoft.Attention <num_heads = 4, unidirectional = 1> (q, w, bias)",
           inputs=", float[64, 192] w, float[192] bias"), "precondition",
        "it has a cache, looks back only or rotates, and no body is written for that",
    ),
    "widths that differ": (
        ms("y = com.microsoft.Attention <num_heads = 4, qkv_hidden_sizes = [64, 64, 32]> (q, w, bias)",
           inputs=", float[64, 160] w, float[160] bias"), "precondition",
        "widths differ or there is no bias, and no body is written for that",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MS_MISSES)
def test_what_the_others_may_be_and_no_body_is_written_for(name: str) -> None:
    model, kind, reason = MS_MISSES[name]
    after, report = applied(model, MS_RULE)
    miss = only_miss(report)
    assert (report.candidates, miss.kind, miss.reason) == (1, kind, reason)
    assert [node.op_type for node in after.graph] == [node.op_type for node in model.graph]


def test_planted_among_activations() -> None:
    """Three activations and an attention that looks back: 3 of 4."""
    model = ms("""a = com.microsoft.Gelu (q) c = com.microsoft.FastGelu (a) d = com.microsoft.Gelu (c)
      z = com.microsoft.MultiHeadAttention <num_heads = 4, unidirectional = 1> (d, k, v) y = Add (z, d)""")
    after, report = applied(model, MS_RULE)
    assert (report.candidates, report.applied, [m.kind for m in report.misses]) == (4, 3, ["precondition"])
    assert sorted(node.op_type for node in after.graph) == ["Add", "Gelu", "Gelu", "Gelu", "MultiHeadAttention"]


def test_other_nodes_are_no_candidates() -> None:
    model = each(llama(), "Attention", lambda node: None)
    assert applied(model, GQA_RULE)[1].candidates == applied(model, MS_RULE)[1].candidates == 0


def test_two_bodies_invent_no_sizes_of_one_name() -> None:
    """ONNX Runtime takes sizes of one name for equal, and gives one value the buffer of another."""
    attention = "com.microsoft.Attention <num_heads = {n}> (x, w, bias)"
    model = parsed(f"""{HEADER.format(opset=24)}
      g (float[b, s, 64] x, float[64, 192] w, float[192] bias) => (float[b, s, 64] y, float[b, s, 64] z)
      {{ y = {attention.format(n=4)} z = {attention.format(n=2)} }}""")
    after, report = applied(model, MS_RULE)
    assert report.applied == 2
    names = {str(dim) for n in after.graph for v in n.outputs for dim in v.shape or () if not isinstance(dim, int)}
    assert names <= {"b", "s", "None"}
