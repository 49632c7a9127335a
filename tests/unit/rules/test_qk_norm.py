"""fuse/qk_norm and lower/separate_qk_norm: one norm a head before RoPE, and whatever only looks like it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir
import pytest

from tests.modules import NormAfterRopeLlama
from tests.unit.rules.graphs import applied, config, distance, feeds, llama, nodes, only_miss, parsed, run
from workbench.ep import get_ep
from workbench.rules import RULES
from workbench.rules.features import uses
from workbench.rules.graph import new
from workbench.rules.plan import plan
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.runtime.stand_ins import for_cpu_kernels, stand_ins
from workbench.types import MS_DOMAIN, OpId, Role

LAYERS, FUSE, LOWER = 2, "fuse/qk_norm", "lower/separate_qk_norm"
OF = config(qk_norm="head", norm_eps=2e-3)
Change = Callable[[ir.Node], None]


def normed(**changes: object) -> ir.Model:
    return llama(config(**{"qk_norm": "head", "norm_eps": 2e-3, **changes}))


def gqa(model: ir.Model) -> list[ir.Node]:
    return nodes(model, "GroupQueryAttention", MS_DOMAIN)


def heads(model: ir.Model) -> list[ir.Node]:
    """Norms of query and key, in turn."""
    return [n for n in nodes(model, "RMSNormalization") if len(n.inputs[0].shape or ()) == 4]


# --- matches --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("given", [{"past": 0}, {"past": 0, "right_padded": True}, {"past": 3}], ids=str)
def test_norms_are_taken_in_and_out_again(given: dict[str, int]) -> None:
    """No CPU kernel has the fused form: the norm outside, and the operator's whole body, are what it is held to."""
    model = normed()
    after, report = applied(model, "fuse/gqa", FUSE)
    assert (report.candidates, report.applied, report.misses, report.partial) == (LAYERS, LAYERS, (), ())
    assert heads(after) == [] and not nodes(after, "RotaryEmbedding")
    for node in gqa(after):
        assert len(node.inputs) == 16 and [v.name.split(".")[-2] for v in node.inputs[14:]] == ["q_norm", "k_norm"]
        assert node.attributes["qk_norm_epsilon"].value == pytest.approx(2e-3)
        assert {use.feature for use in uses(node)} == {"", "do_rotary", "qk_norm"}
    rows = feeds(OF, **given)
    for back in (applied(after, LOWER)[0], applied(after, "lower/gqa_to_standard")[0]):
        assert all(node.domain != MS_DOMAIN or len(node.inputs) < 15 for node in back.graph)
        assert _real(model, back, rows) <= 1e-5
    assert _real(llama(config()), after, rows) > 1e-2  # the norms bite


def _real(one: ir.Model, two: ir.Model, rows: dict[str, np.ndarray]) -> float:
    """Rows padded on the right are compared where they are real."""
    if rows["attention_mask"].all():
        return distance(one, two, rows)
    before, after = run(one, rows)["logits"], run(two, rows)["logits"]
    return float(np.abs(before - after)[rows["attention_mask"][:, -before.shape[1] :] == 1].max())


def test_a_norm_with_onnx_runtimes_own_operator() -> None:
    model = normed()
    simple, report = applied(model, "lower/simplify_rms_norm", "fuse/gqa", FUSE)
    assert report.applied == LAYERS and not heads(simple)


def test_what_comes_packed_is_cut_apart_first() -> None:
    packed, _ = applied(llama(), "fuse/gqa", "fuse/pack_qkv")
    for node in gqa(packed):
        node.resize_inputs(16)
        for index in (14, 15):
            node.replace_input_with(index, _weight(packed, f"{node.name}.{index}", index))
    assert {use.feature for use in uses(gqa(packed)[0])} == {"", "do_rotary", "qk_norm", "packed_qkv", "packed_qk_norm"}
    apart, report = applied(packed, LOWER)
    assert report.applied == LAYERS and len(nodes(apart, "Split")) == LAYERS
    assert distance(applied(packed, "lower/gqa_to_standard")[0], apart, feeds(OF)) <= 1e-5


def _weight(model: ir.Model, name: str, seed: int) -> ir.Value:
    array = np.random.default_rng(seed).standard_normal(16).astype(np.float32)
    value = ir.Value(name=name, type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([16]))
    value.const_value = ir.tensor(array, name=name)
    model.graph.initializers.add(value)
    return value


def test_the_kernel_takes_no_packed_ones() -> None:
    fused, _ = applied(normed(), "fuse/gqa", FUSE)
    miss = only_miss(applied(fused, "fuse/pack_qkv")[1])
    assert (miss.kind, miss.reason) == (
        "precondition", "the kernel normalises query and key, and takes them apart only",
    )  # fmt: skip


def test_each_norm_keeps_its_epsilon_and_old_graphs_onnx_runtimes_operator() -> None:
    model = parsed("""<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
      g (float[1, 3, 64] q, float[1, 3, 32] k, float[1, 3, 32] v, float[1, 2, p, 16] pk, float[1, 2, p, 16] pv,
         int32[1] lengths, int32[1] total, float[9, 8] cos, float[9, 8] sin, float[16] qw, float[16] kw)
      => (float[1, 3, 64] y, float[1, 2, t, 16] nk, float[1, 2, t, 16] nv) {
        y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2, do_rotary = 1,
          qk_norm_epsilon = 0.5, k_norm_epsilon = 0.25> (q, k, v, pk, pv, lengths, total, cos, sin, , , , , , qw, kw)
      }""")
    after, report = applied(model, LOWER)
    made = nodes(after, "SimplifiedLayerNormalization")
    assert (report.applied, [n.attributes["epsilon"].value for n in made]) == (1, [0.5, 0.25])
    assert set(gqa(after)[0].attributes) == {"num_heads", "kv_num_heads", "do_rotary"}


# --- misses ---------------------------------------------------------------------------------------------
def _before(node: ir.Node, index: int, op_type: str) -> None:
    made = new(OpId(op_type), [node.inputs[index]], like=[node.inputs[index]])
    assert node.graph is not None
    node.graph.insert_before(node, made)
    node.replace_input_with(index, made.outputs[0])


def _only_query(model: ir.Model) -> None:
    for norm in heads(model)[1::2]:
        norm.outputs[0].replace_all_uses_with(norm.inputs[0])


def _epsilons(model: ir.Model) -> None:
    for norm in heads(model)[::2]:
        norm.attributes["epsilon"] = ir.AttrFloat32("epsilon", 0.5)


def _first_axis(model: ir.Model) -> None:
    for norm in heads(model):
        norm.attributes["axis"] = ir.AttrInt64("axis", 2)


def _no_rotation(model: ir.Model) -> None:
    for node in gqa(model):
        del node.attributes["do_rotary"]


def _then_negated(model: ir.Model) -> None:
    for node in gqa(model):
        _before(node, 0, "Neg")


def _scaled(model: ir.Model) -> None:
    for node in gqa(model):
        value = ir.Value(name=f"{node.name}.two", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([]))
        value.const_value = ir.tensor(np.float32(2.0))
        model.graph.initializers.add(value)
        made = new(OpId("Mul"), [node.inputs[0], value], like=[node.inputs[0]])
        model.graph.insert_before(node, made)
        node.replace_input_with(0, made.outputs[0])


def _nothing(model: ir.Model) -> None:
    """As the configuration makes it."""


AFTER_ROPE = "RoPE stands between the norm of query and the attention, and the kernel would normalise after it"
MISSES: dict[str, tuple[dict[str, object], Callable[[ir.Model], None], str, str]] = {
    "only the query": ({}, _only_query, "precondition", "key is not normalised, and the kernel normalises both"),
    "two epsilons": ({}, _epsilons, "precondition", "the norms of query and key differ in epsilon (0.5 and 0.002)"),
    "another axis": ({}, _first_axis, "precondition", "the norm of query is not over the last axis"),
    "no rotation": (
        {}, _no_rotation, "precondition",
        "the attention does not rotate, and the kernel normalises only where it rotates",
    ),
    "all heads at once": (
        {"qk_norm": "full"}, _nothing, "precondition",
        "the norm of query is over all heads at once, and the kernel's over each",
    ),
    "a mean is taken off": (
        {"qk_norm_type": "layer_norm"}, _nothing, "precondition",
        "query is normalised by LayerNormalization, and the kernel by the root of the mean square",
    ),
    "a weight for each head": (
        {"qk_norm_per_head_weight": True}, _nothing, "precondition",
        "the norm of query has a weight for each head, and the kernel takes one for all",
    ),
    "RoPE outside": ({"head_dim": 24}, _nothing, "precondition", AFTER_ROPE),
    "scaled after": ({}, _scaled, "precondition", "query is made by Mul after its norm"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_keeps_its_norms_and_says_why(name: str) -> None:
    changes, change, kind, reason = MISSES[name]
    before, _ = applied(normed(**changes), "fuse/gqa")
    change(before)
    after, report = applied(before, FUSE)
    miss = only_miss(report)
    assert (report.candidates, miss.kind, miss.reason) == (LAYERS, kind, reason)
    assert [n.op_type for n in after.graph] == [n.op_type for n in before.graph]


def test_a_norm_after_rope_is_refused_by_the_fusion_before() -> None:
    """As in models that rotate first: the kernel would do it in the other order."""
    of = config(head_dim=16)
    before = llama(of, NormAfterRopeLlama)
    fused, report = applied(before, "fuse/gqa")
    assert {"QK-norm after RoPE" in miss.reason for miss in report.misses} == {True}
    assert applied(fused, FUSE)[1].candidates == 0


def test_planted() -> None:
    """Two layers, in the second the key is not normalised: 1 of 2 and one reason; no norm, no candidate."""
    before, _ = applied(normed(), "fuse/gqa")
    norm = heads(before)[3]
    norm.outputs[0].replace_all_uses_with(norm.inputs[0])
    after, report = applied(before, FUSE)
    assert (report.candidates, report.applied, len(report.misses)) == (2, 1, 1)
    assert report.misses[0].scope == "model.layers.1.self_attn"
    assert [len(node.inputs) for node in gqa(after)].count(16) == 1
    assert applied(applied(llama(), "fuse/gqa")[0], FUSE)[1].candidates == 0


def test_rope_is_not_taken_out_before_the_norm() -> None:
    fused, _ = applied(normed(), "fuse/gqa", FUSE)
    miss = only_miss(applied(fused, "lower/separate_rope")[1])
    assert miss.reason == "it normalises query and key before it rotates them; take that out first"
    assert distance(normed(), applied(fused, LOWER, "lower/separate_rope")[0], feeds(OF)) <= 1e-5


# --- plans and facts ------------------------------------------------------------------------------------
def test_planned_where_the_kernel_does_it() -> None:
    has = {}
    for name in ("cpu", "cuda", "dml", "webgpu", "trt-rtx", "default", "onnx-standard"):
        ep = get_ep(name)
        steps = {step.rule.name for step in plan(ep, ep.default_dtype, Role.DECODER, RULES).steps}
        has[name] = (FUSE in steps, LOWER in steps)
    assert has == {
        "cpu": (False, True), "cuda": (True, True), "dml": (False, True), "webgpu": (True, True),
        "trt-rtx": (False, True), "default": (False, False), "onnx-standard": (False, False),
    }  # fmt: skip


def test_a_graph_for_other_kernels_runs_here_with_the_norm_written_out() -> None:
    fused, _ = applied(normed(), "fuse/gqa", FUSE)
    assert stand_ins(fused) == ("GroupQueryAttention qk_norm",)
    with OrtCpuSession(fused) as session:
        assert session.stand_ins == stand_ins(fused)
    assert len(gqa(fused)[0].inputs) == 16  # the graph itself stays
    plain, _ = applied(llama(), "fuse/gqa")
    assert for_cpu_kernels(plain) is plain and stand_ins(plain) == ()
