"""``optimize`` on graphs that others made: right or left alone, never silently wrong, never another interface."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import config, distance, feeds, llama
from workbench import FusionError, LegalityError, ModelFileError, RopeConfig, optimize
from workbench.ep import execution_providers
from workbench.passes.fold import fold
from workbench.runtime.ort_cpu import OrtCpuSession, SessionSettings

FOREIGN = Path(__file__).parents[1] / "data" / "foreign"
CASES = sorted(path.name for path in FOREIGN.iterdir() if path.is_dir())
EPS = execution_providers()
CASES_ON_EPS = list(itertools.product(CASES, EPS))


def proto(case: str, file: str = "model.onnx") -> onnx.ModelProto:
    return onnx.load(str(FOREIGN / case / file))


def arrays(case: str, which: str) -> dict[str, np.ndarray]:
    with np.load(FOREIGN / case / f"{which}.npz") as file:
        return {name: file[name] for name in file.files}


def worst(model: ir.Model, case: str) -> float:
    """The largest difference from what the graph must give."""
    with OrtCpuSession(model, SessionSettings(graph_optimization="none")) as session:
        found = session.run(arrays(case, "inputs"))
    expected = arrays(case, "expected")
    assert {name: (a.shape, a.dtype) for name, a in found.items()} == {
        n: (a.shape, a.dtype) for n, a in expected.items()
    }
    return max(float(np.abs(found[name].astype(np.float64) - expected[name]).max()) for name in expected)


def interface(model: onnx.ModelProto) -> list[bytes]:
    """Inputs and outputs: names, order, types and shapes."""
    return [value.SerializeToString() for value in (*model.graph.input, *model.graph.output)]


def ops(model: ir.Model) -> list[str]:
    return [node.op_type for node in ir.traversal.RecursiveGraphIterator(model.graph)]


@pytest.mark.parametrize(("case", "name"), CASES_ON_EPS)
def test_numbers_hold(case: str, name: str) -> None:
    assert worst(optimize(proto(case), execution_provider=name).model, case) <= 1e-5


@pytest.mark.parametrize(("case", "name"), CASES_ON_EPS)
def test_the_interface_stays(case: str, name: str) -> None:
    given = proto(case)
    before = given.SerializeToString(deterministic=True)
    made = ir.to_proto(optimize(given, execution_provider=name).model)
    assert interface(made) == interface(given)
    assert given.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize(("case", "name"), CASES_ON_EPS)
def test_a_second_time_changes_nothing(case: str, name: str) -> None:
    once = optimize(proto(case), execution_provider=name).model
    again = optimize(once, execution_provider=name).model
    assert ops(again) == ops(once)
    assert worst(again, case) <= 1e-5


@pytest.mark.parametrize("name", EPS)
def test_a_scale_that_widens_is_no_norm(name: str) -> None:
    made = optimize(proto("rms-scale-widens"), execution_provider=name).model
    assert not {"RMSNormalization", "SimplifiedLayerNormalization", "LayerNormalization"} & set(ops(made))


@pytest.mark.parametrize("name", ["cpu", "dml", "webgpu"])
def test_a_sum_that_is_an_output_comes_out_of_the_fused_node(name: str) -> None:
    made = optimize(proto("residual-sum-is-output"), execution_provider=name).model
    (node,) = made.graph
    assert node.op_type == "SkipSimplifiedLayerNormalization"
    assert [value.name for value in made.graph.outputs] == ["hidden", "y"]
    assert node.outputs[3] is made.graph.outputs[0]


@pytest.mark.parametrize("name", EPS)
def test_rope_is_not_taken_in_behind_a_norm(name: str) -> None:
    optimized = optimize(proto("qk-norm-after-rope"), execution_provider=name)
    assert "GroupQueryAttention" not in ops(optimized.model)
    planned = {step.split(" ")[0] for step, _ in optimized.report.planned}
    reasons = [miss.reason for miss in optimized.report.misses if miss.rule == "fuse/gqa"]
    expected = ["attn_mask is made by Unsqueeze, not by CausalMask or SlidingWindowMask"]
    assert reasons == (expected if "fuse/gqa" in planned else [])


def in_float16(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same graph with every float32 input, output and weight in float16."""
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            half = onnx.numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(onnx.numpy_helper.from_array(half, tensor.name))
    return model


def test_packed_qkv_is_taken_apart_where_the_kernel_wants_it_so() -> None:
    """Three inputs on DirectML in float16; cpu and webgpu take it packed."""
    case = "unpack-packed-qkv"
    optimized = optimize(in_float16(proto(case)), execution_provider="dml")
    assert optimized.report.dtype == "float16"
    done = {rule.rule: (rule.candidates, rule.applied) for rule in optimized.report.rules}
    assert done["lower/unpack_qkv"] == (1, 1)
    (gqa,) = (node for node in optimized.model.graph if node.op_type == "GroupQueryAttention")
    assert all(value is not None for value in gqa.inputs[:3])
    half = {n: a.astype(np.float16) if a.dtype == np.float32 else a for n, a in arrays(case, "inputs").items()}
    with OrtCpuSession(optimized.model) as session:
        found = session.run(half)
    expected = arrays(case, "expected")
    assert max(float(np.abs(found[name] - expected[name]).max()) for name in expected) <= 0.02
    for name in ("cpu", "webgpu"):
        (gqa,) = (n for n in optimize(proto(case), execution_provider=name).model.graph if n.op_type == gqa.op_type)
        assert gqa.inputs[1] is gqa.inputs[2] is None
    lowered = optimize(proto(case), execution_provider="dml")  # no kernel in float32: the body stands for it
    assert (lowered.report.diagnostics, {node.domain for node in lowered.model.graph}) == ((), {""})


@pytest.mark.parametrize("name", ["default", "onnx-standard"])
def test_a_foreign_operator_that_must_not_remain_is_told_not_hidden(name: str) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> g (float[2] x) => (float[2] y) {
      y = com.microsoft.QuickGelu (x) }"""
    given = onnx.parser.parse_model(text)
    optimized = optimize(given, execution_provider=name)
    found = [d for d in optimized.report.diagnostics if d.code == "legality.domain"]
    assert [d.severity for d in found] == ["error"]
    assert "operators of domain 'com.microsoft' must not remain (com.microsoft.QuickGelu)" in found[0].message
    with pytest.raises(LegalityError, match="must not remain"):
        optimize(given, execution_provider=name, strict=True)


@pytest.mark.parametrize("name", ["default", "onnx-standard"])
def test_a_foreign_operator_with_a_body_is_carried_by_it(name: str) -> None:
    """Portable output holds no com.microsoft; the default form keeps one call, whose body is in the model."""
    made = optimize(proto("unpack-packed-qkv"), execution_provider=name, strict=True).model
    assert {node.domain for node in made.graph} == ({"", "ep_workbench"} if name == "default" else {""})
    assert [f.name for f in made.functions.values()] == (["GroupQueryAttention"] if name == "default" else [])


def test_strict_raises_for_what_was_not_recognised() -> None:
    with pytest.raises(
        FusionError, match="fuse/gqa recognised none of its 1 candidates: attn_mask is made by Unsqueeze"
    ):
        optimize(proto("qk-norm-after-rope"), execution_provider="cpu", strict=True)


def test_a_copied_output_keeps_its_copy() -> None:
    given = ir.from_proto(proto("identity-between-two-outputs"))
    optimized = optimize(given, execution_provider="cpu")
    assert [value.name for value in optimized.model.graph.outputs] == ["a", "b", "fin", "ys"]
    assert ops(optimized.model).count("Identity") == ops(ir.from_proto(proto("identity-between-two-outputs"))).count(
        "Identity"
    )
    assert [d.code for d in optimized.report.diagnostics] == ["cleanup.identities-kept"]


def test_unsorted_nodes_are_sorted_in_the_copy_only() -> None:
    given = ir.from_proto(proto("unsorted-nodes"))
    before = ops(given)
    optimized = optimize(given, execution_provider="cpu")
    assert ops(given) == before
    assert ops(optimized.model) != before
    assert [(d.code, d.severity) for d in optimized.report.diagnostics] == [("cleanup.sorted", "info")]
    onnx.checker.check_model(ir.to_proto(optimized.model), full_check=True)


def test_a_reader_inside_a_branch_counts_too() -> None:
    """An If whose branch reads a value that is made after the If."""
    text = """<ir_version: 10, opset_import: ["" : 17]> g (float[2] x, bool c) => (float[2] y) {
      y = If (c) <
        then_branch = yes () => (float[2] a) { a = Neg (late) },
        else_branch = no () => (float[2] b) { b = Abs (late) }>
      late = Add (x, x)
    }"""
    optimized = optimize(onnx.parser.parse_model(text), execution_provider="cpu")
    assert [node.op_type for node in optimized.model.graph] == ["Add", "If"]
    with OrtCpuSession(optimized.model) as session:
        found = session.run({"x": np.array([1, -2], np.float32), "c": np.array(True)})
    assert found["y"].tolist() == [-2, 4]


def test_a_cycle_is_refused_with_its_nodes() -> None:
    given = ir.from_proto(proto("unsorted-nodes", "cyclic.onnx"))
    before = ops(given)
    with pytest.raises(ModelFileError) as refused:
        optimize(given, execution_provider="cpu")
    text = str(refused.value)
    assert text.startswith("Graph 'g' cannot be put in order: ")
    assert "form a cycle, each needing the result of the one before it. Export the model again." in text
    names = text.split(": ", 1)[1].split(" form")[0].split(" -> ")
    assert names[0] == names[-1]
    assert len(names) > len(set(names)) >= 2
    assert ops(given) == before


def test_nodes_get_names_of_their_own() -> None:
    case = "duplicate-and-empty-names"
    optimized = optimize(proto(case), execution_provider="cpu")
    names = [node.name for node in optimized.model.graph]
    assert len(set(names)) == len(names) == 5
    assert all(names)
    assert "same" in names  # the first keeps it
    assert [d.code for d in optimized.report.diagnostics] == ["cleanup.renamed"]


def test_rewrites_of_unnamed_nodes_do_not_share_a_name() -> None:
    """Found on a graph whose two norms had no name: ONNX Runtime refused the result."""
    text = """<ir_version: 10, opset_import: ["" : 23]> g (float[b, 4] x) => (float[b, 4] z)
      <float[4] w = {1, 2, 3, 4}> {
      y = RMSNormalization (x, w)
      z = RMSNormalization (y, w)
    }"""
    optimized = optimize(onnx.parser.parse_model(text), execution_provider="dml")
    names = [node.name for node in optimized.model.graph]
    assert len(set(names)) == len(names) == 2
    with OrtCpuSession(optimized.model) as session:
        session.run({"x": np.ones((1, 4), np.float32)})


# --- the same llamas, as another tool would have written their masks -------------------------------------
SPELLED_OUT = {
    "window": {"sliding_window": 3},
    "cap and scale": {"attn_logit_softcapping": 2.0, "attention_scale": 0.5},
    "partial RoPE": {"head_dim": 32, "rope": RopeConfig(rope_theta=5000.0, partial_rotary_factor=0.5)},
    "heads of 24": {"head_dim": 24},
}


@pytest.mark.parametrize("case", SPELLED_OUT)
@pytest.mark.parametrize("name", EPS)
@pytest.mark.parametrize("past", [0, 3])
def test_a_mask_in_primitives_is_left_alone_aloud(case: str, name: str, past: int) -> None:
    of = config(**SPELLED_OUT[case])
    model = llama(of)
    fold(model, inline=True)
    optimized = optimize(model, execution_provider=name)
    assert "GroupQueryAttention" not in ops(optimized.model)
    misses = [miss for miss in optimized.report.misses if miss.rule == "fuse/gqa"]
    planned = {step.split(" ")[0] for step, _ in optimized.report.planned}
    assert [miss.scope for miss in misses] == (
        [f"model.layers.{i}.self_attn" for i in range(of.num_hidden_layers)] if "fuse/gqa" in planned else []
    )
    assert {miss.kind for miss in misses} <= {"unmatched"}
    assert distance(model, optimized.model, feeds(of, past=past)) <= 1e-5


@pytest.mark.parametrize("case", SPELLED_OUT)
@pytest.mark.parametrize("name", EPS)
def test_the_same_with_masks_that_say_what_they_mean(case: str, name: str) -> None:
    of = config(**SPELLED_OUT[case])
    model = llama(of)
    optimized = optimize(model, execution_provider=name)
    for node in optimized.model.graph:
        if node.op_type == "GroupQueryAttention":
            assert node.attributes["scale"].value == pytest.approx(of.scale(0))
            windows = [a.value for key, a in node.attributes.items() if key == "local_window_size"]
            assert windows == ([of.sliding_window] if of.sliding_window else [])
    for past in (0, 3):
        assert distance(model, optimized.model, feeds(of, past=past)) <= 1e-5
