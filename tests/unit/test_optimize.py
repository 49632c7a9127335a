"""``optimize``: a clone in, a clone out, the same each time, and every node accounted for."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.modules import AlibiLlama
from tests.unit.rules.graphs import config, distance, feeds, llama, nodes, parsed
from workbench import (
    FusionError,
    LegalityError,
    ModelFileError,
    Package,
    UnknownNameError,
    UnsupportedError,
    WorkbenchError,
    build,
    build_from_module,
    execution_providers,
    get_ep,
    optimize,
)
from workbench.optimize import Optimized, check, run_plan
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.types import REPLACES_KEY, RULES_KEY, SCOPE_KEY, Role

EPS = execution_providers()


def content(model: ir.Model) -> bytes:
    """A graph as bytes, whatever its tensors are made of."""
    return ir.to_proto(model).SerializeToString(deterministic=True)


# --- purity ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EPS)
def test_the_model_given_is_left_as_it_is(name: str) -> None:
    model = llama(config(sliding_window=4))
    before = content(model)
    made = optimize(model, execution_provider=name).model
    assert made is not model
    assert content(model) == before


@pytest.mark.parametrize("name", EPS)
def test_three_runs_give_one_result(name: str) -> None:
    model = llama(config(attention_bias=True))
    made = [optimize(model, execution_provider=name) for _ in range(3)]
    assert len({content(one.model) for one in made}) == 1
    assert made[0].report == made[1].report == made[2].report


def test_weights_are_shared_not_copied() -> None:
    model = llama()
    made = optimize(model, execution_provider="cpu").model
    name = "model.embed_tokens.weight"
    assert made.graph.initializers[name].const_value is model.graph.initializers[name].const_value


def test_a_skeleton_is_as_good_as_any() -> None:
    model, bare = llama(), llama()
    for value in bare.graph.initializers.values():
        if value.name and "rotary" not in value.name:
            value.const_value = None
    full, empty = (optimize(m, execution_provider="cpu") for m in (model, bare))
    assert [n.name for n in full.model.graph] == [n.name for n in empty.model.graph]
    assert full.report == empty.report


# --- interface ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EPS)
def test_inputs_and_outputs_stay(name: str) -> None:
    """Also position_ids, which nothing reads where RoPE is inside the kernel: a caller of a foreign graph feeds it."""
    model = llama()
    made = optimize(model, execution_provider=name).model
    for old, new in zip(
        (*model.graph.inputs, *model.graph.outputs), (*made.graph.inputs, *made.graph.outputs), strict=True
    ):
        assert (old.name, old.type, old.shape) == (new.name, new.type, new.shape)
    assert distance(model, made, feeds(config())) <= 1e-5


@pytest.mark.parametrize("name", EPS)
def test_the_result_is_valid_onnx(name: str) -> None:
    """But for the one operator that ONNX Runtime keeps in the standard's domain although the standard lacks it."""
    made = ir.to_proto(optimize(llama(), execution_provider=name).model)
    for node in made.graph.node:
        if node.op_type == "SimplifiedLayerNormalization":
            node.op_type = "RMSNormalization"  # the same inputs and attributes
    onnx.checker.check_model(made)


def test_what_can_be_given(tmp_path: Path) -> None:
    model = llama()
    proto = ir.to_proto(model)
    path = tmp_path / "model.onnx"
    onnx.save(proto, str(path))
    package = build_from_module(AlibiLlama, config(), execution_provider="default")
    kinds = (model, proto, path, str(path), package)
    assert {type(optimize(kind, execution_provider="cpu")) for kind in kinds} == {Optimized}
    found = {repr(optimize(kind, execution_provider="cpu")) for kind in kinds[:4]}
    assert len(found) == 1


def test_what_cannot_be_given(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="Expected an onnx_ir.Model, an onnx.ModelProto, a path or a one-model"):
        optimize(3, execution_provider="cpu")
    with pytest.raises(ModelFileError, match="no such file"):
        optimize(tmp_path / "none.onnx", execution_provider="cpu")
    with pytest.raises(UnknownNameError, match="Did you mean 'webgpu'"):
        optimize(llama(), execution_provider="web-gpu")
    with pytest.raises(UnknownNameError, match="Unknown dtype 'half'"):
        optimize(llama(), execution_provider="cpu", dtype="half")
    with pytest.raises(UnknownNameError, match="Unknown role 'decode'. Did you mean 'decoder'"):
        optimize(llama(), execution_provider="cpu", role="decode")
    with pytest.raises(UnsupportedError, match="cannot compute in bfloat16"):
        optimize(llama(dtype=ir.DataType.BFLOAT16), execution_provider="cpu")


@pytest.mark.parametrize(("dtype", "word"), [(ir.DataType.FLOAT, "float32"), (ir.DataType.FLOAT16, "float16")])
def test_the_dtype_is_found_in_the_graph(dtype: ir.DataType, word: str) -> None:
    assert optimize(llama(dtype=dtype), execution_provider="dml").report.dtype == word


def test_the_role_is_passed_on() -> None:
    report = optimize(llama(), execution_provider="cpu", role="encoder").report
    assert (report.role, [step for step, _ in report.planned]) == (
        "encoder",
        [
            "fuse/mha", "fuse/packed_attention", "fuse/moe", "fuse/skip_rms_norm", "fuse/skip_layer_norm", "fuse/gelu",
            "fuse/bias_gelu", "lower/one_rope_table", "lower/separate_qk_norm",
        ],
    )  # fmt: skip


# --- strict ---------------------------------------------------------------------------------------------
SHAPE = """<ir_version: 10, opset_import: ["" : 23]> g (float[b, s] x) => (int64[2] y) { y = Shape (x) }"""
FOREIGN = (
    """<ir_version: 10, opset_import: ["" : 23, "other" : 1]> g (float[2] x) => (float[2] y) { y = other.Thing (x) }"""
)


def test_strict_raises_for_what_must_not_remain() -> None:
    report = optimize(parsed(FOREIGN), execution_provider="cpu").report
    assert [(d.code, d.severity) for d in report.diagnostics] == [("legality.domain", "error")]
    with pytest.raises(LegalityError) as refused:
        optimize(parsed(FOREIGN), execution_provider="cpu", strict=True)
    assert str(refused.value).startswith(
        "cpu float32: error: cpu: operators of domain 'other' must not remain (other.Thing)"
    )


def test_strict_raises_for_what_was_not_recognised() -> None:
    text = "lower/eliminate_shape recognised none of its 1 candidates: only the length of a matrix's second axis"
    report = optimize(parsed(SHAPE), execution_provider="webgpu").report
    assert [d.code for d in report.diagnostics] == ["legality.forbidden", "fusion.unmatched"]
    with pytest.raises((FusionError, LegalityError)):
        optimize(parsed(SHAPE), execution_provider="webgpu", strict=True)
    only = dataclasses.replace(report, diagnostics=report.diagnostics[1:])
    with pytest.raises(FusionError, match=text):
        check(only)


def test_strict_lets_facts_and_preconditions_pass() -> None:
    """They are results: the kernel cannot carry it, the graph computes something else."""
    capped = llama(config(attn_logit_softcapping=2.0))
    report = optimize(capped, execution_provider="webgpu", strict=True).report
    assert {miss.kind for miss in report.misses} == {"fact"}
    package = build_from_module(AlibiLlama, config(), execution_provider="default")
    report = optimize(package, execution_provider="cpu", strict=True).report
    assert {miss.kind for miss in report.misses} == {"precondition"}


def test_verbose_prints_to_stderr_alone(capsys: pytest.CaptureFixture[str]) -> None:
    optimize(parsed(SHAPE), execution_provider="webgpu", verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "lower/eliminate_shape" in err and "recognised none" in err


# --- the report -----------------------------------------------------------------------------------------
def test_counts_are_those_of_the_graph() -> None:
    model, layers = llama(), 2
    optimized = optimize(model, execution_provider="cpu")
    report = optimized.report
    assert (report.nodes_before, report.nodes_after) == (len(model.graph), len(optimized.model.graph))
    done = {rule.rule: (rule.candidates, rule.applied) for rule in report.rules if rule.candidates}
    assert done == {
        "fuse/gqa": (layers, layers), "fuse/pack_qkv": (layers, layers), "fuse/skip_rms_norm": (2 * layers, 2 * layers)
    }  # fmt: skip
    first = report.rules[0]
    assert first.ops_before["Attention"] == first.ops_after["com.microsoft.GroupQueryAttention"] == layers
    assert "Attention" not in first.ops_after
    assert [rule.rule for rule in report.rules] == [step.split(" ")[0] for step, _ in report.planned]


def test_results_have_three_faces() -> None:
    optimized = optimize(llama(), execution_provider="cpu")
    assert repr(optimized).startswith("Optimized(OptimizationReport(cpu float32 decoder: ")
    frame = optimized.to_frame()
    assert list(frame["rule"][frame.candidates > 0]) == ["fuse/gqa", "fuse/pack_qkv", "fuse/skip_rms_norm"]
    assert "<table" in optimized._repr_html_()


def test_an_unused_input_is_dropped_from_our_own_graphs_only() -> None:
    model, ep = llama(), get_ep("cpu")
    made = run_plan(model, plan(ep, ir.DataType.FLOAT, Role.DECODER, RULES), ep, drop_unused_inputs=True)
    assert made.report.dropped_inputs == ("position_ids",)
    assert [v.name for v in made.model.graph.inputs] == [v.name for v in model.graph.inputs if v.name != "position_ids"]


# --- provenance -----------------------------------------------------------------------------------------
@pytest.fixture(scope="module", params=["cpu", "dml", "webgpu", "onnx-standard", "default"])
def package(request: pytest.FixtureRequest) -> Package:
    """Ours, with a window and biases, in the provider's own dtype."""
    from tests.modules import filled
    from workbench import CausalLM

    of = config(sliding_window=4, attention_bias=True)
    return build_from_module(filled(CausalLM, 3), of, execution_provider=request.param)


def _words(node: ir.Node, key: str) -> list[str]:
    return node.metadata_props.get(key, "").split()


def test_each_node_knows_its_module(package: Package) -> None:
    generic = {node.name: node.metadata_props[SCOPE_KEY] for node in package.generic["model"].graph}
    for node in package.model.graph:
        if node.name in generic:
            assert node.metadata_props[SCOPE_KEY] == generic[node.name]
    fused = [node for node in package.model.graph if _words(node, RULES_KEY)]
    assert all(node.metadata_props[SCOPE_KEY].startswith("model") for node in fused)


def test_rewritten_nodes_say_by_what_and_what_for(package: Package) -> None:
    generic = {node.name for node in package.generic["model"].graph}
    names = {rule.name for rule in RULES}
    for node in package.model.graph:
        replaces = _words(node, REPLACES_KEY)
        assert set(_words(node, RULES_KEY)) <= names
        assert set(replaces) <= generic, node.name
        assert len(set(replaces)) == len(replaces)
        if node.name not in generic and _words(node, RULES_KEY):
            assert replaces, node.name


def test_rules_are_told_oldest_first() -> None:
    made = optimize(llama(), execution_provider="cpu").model
    for node in nodes(made, "GroupQueryAttention"):
        assert _words(node, RULES_KEY) == ["fuse/gqa", "fuse/pack_qkv"]
        kinds = [name.split("/")[-1].split("_node_")[0] for name in _words(node, REPLACES_KEY)]
        own = [kind for kind in kinds if kind != "CausalMask"]  # goes with the last layer that read it
        assert sorted(own) == sorted(["Attention", *["RotaryEmbedding"] * 2, *["MatMul", "Transpose"] * 3])
    assert len(kinds) == len(own) + 1


def test_every_generic_node_is_accounted_for(package: Package) -> None:
    """It is still there, or a rewrite names it, or folding made an initializer of it, or its function was inlined."""
    generic = package.generic["model"]
    left = {node.name for node in package.model.graph}
    replaced = {name for node in package.model.graph for name in _words(node, REPLACES_KEY)}
    inlined = {node.name for node in generic.graph if node.domain == "ep_workbench"}
    lost = [node for node in generic.graph if node.name not in left | replaced | inlined]
    folded = {name for name in package.model.graph.initializers if name and name not in generic.graph.initializers}
    for node in lost:
        assert node.op_type == "Transpose", node
        weight = node.inputs[0]
        assert weight is not None and f"{weight.name}.T" in folded, node


@pytest.mark.parametrize("name", ["cpu", "dml", "webgpu"])
def test_names_of_tensors_survive(name: str) -> None:
    """The same tensor has the same name in both graphs, so runs of both can be compared value by value."""
    model = llama()
    made = optimize(model, execution_provider=name).model
    generic = {value.name for node in model.graph for value in node.outputs}
    attention = [node.outputs[0].name for node in nodes(model, "Attention")]
    found = {value.name for node in made.graph for value in node.outputs}
    assert set(attention) <= found
    assert len(found & generic) > len(generic) / 3
    both = sorted(set(attention) & found)
    one, two = _with_outputs(model, both), _with_outputs(made, both)
    assert distance(one, two, feeds(config())) <= 1e-5


def _with_outputs(model: ir.Model, names: list[str | None]) -> ir.Model:
    clone = model.clone()
    made = {value.name: value for node in clone.graph for value in node.outputs}
    clone.graph.outputs.extend(made[name] for name in names)
    return clone


# --- building -------------------------------------------------------------------------------------------
def test_graph_capture_fixes_the_dimensions_where_it_exists(tmp_path: Path) -> None:
    from tests.cases import CASES, write_model

    folder = write_model(tmp_path, CASES["mqa"])
    package = build(folder, execution_provider="webgpu", graph_capture=True)
    shape = next(value for value in package.model.graph.inputs if value.name == "input_ids").shape
    assert shape is not None and list(shape) == [1, 1]
    with pytest.raises(UnsupportedError, match="needs no graph built for capture"):
        build(folder, execution_provider="cpu", graph_capture=True)


def test_a_module_that_was_built_is_refused() -> None:
    from workbench import CausalLM

    module = CausalLM(config())
    build_from_module(module, config())
    with pytest.raises(WorkbenchError, match="This CausalLM has been built already"):
        build_from_module(module, config())
    with pytest.raises(UnsupportedError, match="parameters are float32, dtype asks for float16"):
        build_from_module(CausalLM(config()), config(), dtype="float16")


def test_weights_of_a_module_are_its_own(tmp_path: Path) -> None:
    from workbench import CausalLM

    module = CausalLM(config())
    arrays = {name: np.ones(tuple(map(int, p.shape)), np.float32) for name, p in module.named_parameters()}
    module.load_state_dict({name: ir.tensor(array) for name, array in arrays.items()})
    package = build_from_module(module, config())
    weight = package.model.graph.initializers["model.norm.weight"].const_value
    assert weight is not None and weight.numpy().tolist() == arrays["model.norm.weight"].tolist()
