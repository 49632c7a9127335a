"""Facts against the tables that they were read from, and plans against what the graphs of all families hold."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import onnx_ir as ir
import pytest

from tests.families import FAMILIES, KINDS, hf_config
from workbench.check import check as judge
from workbench.ep import ExecutionProvider, execution_providers, get_ep
from workbench.models import lookup
from workbench.optimize import check, run_plan
from workbench.rules import RULES
from workbench.rules.features import uses
from workbench.rules.plan import plan
from workbench.tasks import get_task
from workbench.types import FLOAT_DTYPES, WB_DOMAIN, GraphOptions, OpId, Role, dtype_word

CUDA_TABLE = json.loads((Path(__file__).parents[2] / "golden/kernels-cuda-1.31.1.json").read_text(encoding="utf-8"))
"""Float dtypes of onnxruntime-gpu 1.31.1's CUDA kernels that an opset 24 graph gets, for the operators that we emit
(and for PackedMultiHeadAttention, which we do not)."""

FAMILY_CASES = [(family, kind) for family in FAMILIES for kind in KINDS]
LONG = {
    "rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 8, "long_factor": [2.0] * 8,
    "original_max_position_embeddings": 16,
}  # fmt: skip
ROPES = {"longrope": LONG, "dynamic": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}

# Operators so elementary that every provider's list has them in each dtype that it computes in. All others have to
# be stated for each provider: "the standard has it" hid that WebGPU and DirectML have no Attention.
BASIC = {
    "Add", "And", "Cast", "Concat", "Constant", "Cos", "CumSum", "Div", "Gather", "GatherND", "Greater",
    "GreaterOrEqual",
    "Identity", "LessOrEqual", "MatMul", "Max", "Mul", "Neg", "Not", "Or", "Pow", "Range", "Reciprocal", "ReduceMax",
    "ReduceSum", "Reshape", "ScatterElements", "Sigmoid", "Sin", "Slice", "Softmax", "Split", "Squeeze", "Sub", "Tanh",
    "TopK", "Transpose", "Unsqueeze", "Where",
}  # fmt: skip
PROVIDERS = [name for name in execution_providers() if get_ep(name).ort_provider]


OPTIONS = {
    "plain": GraphOptions(),
    "decode only, int32": GraphOptions(ir.DataType.INT32, (("batch_size", 1), ("sequence_length", 1))),
    "last logits": GraphOptions(last_token_logits=True),
}  # fmt: skip


@functools.cache
def generic(
    family: str, kind: str, dtype: ir.DataType, rope: str = "", options: str = "plain"
) -> tuple[ir.Model, Role]:
    words = {"rope_parameters": ROPES[rope], "original_max_position_embeddings": 16} if rope else {}
    spec = lookup(family)
    config = spec.config(hf_config(family, kind, **words).to_dict())
    task = get_task(spec.task)
    return task.build(spec.module(config, dtype), config, dtype, OPTIONS[options])["model"], task.roles["model"]


def all_generic(dtype: ir.DataType) -> list[tuple[ir.Model, Role]]:
    more = [generic("phi3", "default", dtype, "longrope"), generic("llama", "default", dtype, "dynamic")]
    more += [generic("gemma2", "exercise", dtype, "", options) for options in OPTIONS if options != "plain"]
    return [*(generic(family, kind, dtype) for family, kind in FAMILY_CASES), *more]


def nodes_of(model: ir.Model) -> list[ir.Node]:
    graphs = (model.graph, *model.functions.values())
    return [node for graph in graphs for node in ir.traversal.RecursiveGraphIterator(graph)]


@functools.cache
def emitted(dtype: ir.DataType) -> frozenset[OpId]:
    """What components put into generic graphs, with features; in the bodies of functions as well."""
    return frozenset(use for model, _ in all_generic(dtype) for node in nodes_of(model) for use in uses(node))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", execution_providers())
def test_every_emitted_operator_runs_or_is_lowered(name: str, dtype: str) -> None:
    ep, compute = get_ep(name), FLOAT_DTYPES[dtype]
    if compute not in ep.computes:
        pytest.skip(f"{name} does not compute in {dtype}")
    steps = plan(ep, compute, Role.DECODER, RULES).steps
    lowered = {use for step in steps for use in step.must_go or ()}
    inlined = {use for use in emitted(compute) if use.domain == WB_DOMAIN}
    left = {use for use in emitted(compute) - inlined if not ep.runs(use, compute)}
    assert {str(use) for use in left - lowered} == set()


@pytest.mark.parametrize("name", PROVIDERS)
def test_whatever_is_not_elementary_is_stated(name: str) -> None:
    ep, seen = get_ep(name), emitted(ir.DataType.FLOAT)
    unstated = {str(use.op) for use in seen if use.domain != WB_DOMAIN and use.op not in {*ep.kernels, *ep.forbidden}}
    known_everywhere = {"Shape"} if OpId("Shape") not in ep.forbidden else set()
    assert unstated - BASIC - known_everywhere - ({"If"} if ep.name in ("cpu", "cuda") else set()) == set()


@pytest.mark.parametrize("name", PROVIDERS)
def test_whatever_a_rule_may_produce_is_stated(name: str) -> None:
    ep = get_ep(name)
    produced = {use.op for rule in RULES for use in rule.produces | rule.optional if use.domain}
    planned = {use.op for step in plan(ep, ep.default_dtype, Role.DECODER, RULES).steps for use in step.rule.produces}
    assert {str(use) for use in planned & produced} <= {str(use) for use in ep.kernels}


@pytest.mark.parametrize("name", execution_providers())
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_all_families_are_legal(name: str, dtype: str) -> None:
    """Each planned rule recognises all of what we build, and nothing remains that the provider must not be given."""
    ep, compute = get_ep(name), FLOAT_DTYPES[dtype]
    if compute not in ep.computes:
        pytest.skip(f"{name} does not compute in {dtype}")
    for model, role in all_generic(compute):
        made = run_plan(model, plan(ep, compute, role, RULES), ep)
        check(made.report)
        assert [miss for miss in made.report.misses if miss.kind == "unmatched"] == []
        found = [f for f in made.report.diagnostics if f.severity != "info" and f.code != "legality.index-dtype"]
        assert [str(finding) for finding in found] == []


# --- the tables -----------------------------------------------------------------------------------------
def test_cpu_facts_are_those_of_the_installed_package() -> None:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    ep, table = get_ep("cpu"), {}
    for kernel in state.get_all_opkernel_def():
        types = kernel.type_constraints
        words = types.get("T") or types.get("T1") or types.get("V") or []
        table.setdefault(OpId(kernel.op_name, kernel.domain), set()).update(words)
    for use, fact in ep.kernels.items():
        if not fact.dtypes:
            assert use not in table, f"{use} is in the registry of the CPU provider, and the fact says no kernel"
            continue
        assert use in table, f"{use} is not in the registry of the CPU provider"
        assert "tensor(float)" in table[use]
        native = {"float32": "tensor(float)", "float16": "tensor(float16)", "bfloat16": "tensor(bfloat16)"}
        lacking = {dtype_word(d) for d in fact.dtypes if native[dtype_word(d)] not in table[use]}
        assert lacking <= ({"float16"} if "Casts" in fact.source else set()), f"{use}: {lacking} {fact.source}"


def test_cuda_facts_are_those_of_the_recorded_table() -> None:
    for use, fact in get_ep("cuda").kernels.items():
        recorded = CUDA_TABLE.get(str(use), {"dtypes": []})  # what nobody recorded has no kernel
        assert {dtype_word(d) for d in fact.dtypes} == set(recorded["dtypes"]), str(use)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_cuda_graphs_hold_only_kernels_of_the_recorded_table(dtype: str) -> None:
    """Node by node with the dtypes that the nodes have, so also what is counted in float32 inside a bfloat16 graph."""
    ep, compute = get_ep("cuda"), FLOAT_DTYPES[dtype]
    for model, role in all_generic(compute):
        made = run_plan(model, plan(ep, compute, role, RULES), ep).model
        for node in made.graph:
            use = OpId(node.op_type, node.domain)
            found = {v.dtype for v in node.inputs if v is not None and v.dtype in FLOAT_DTYPES.values()}
            words = {dtype_word(d) for d in found if d is not None}
            assert node.op_type == "Constant" or words <= set(CUDA_TABLE[str(use)]["dtypes"]), node


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_every_node_has_a_kernel_of_its_own_types(name: str) -> None:
    """Where the whole registry is known: whole numbers too, which facts say nothing about (ArgMax of int32 on CUDA)."""
    ep = get_ep(name)
    for model, role in all_generic(ep.default_dtype):
        made = run_plan(model, plan(ep, ep.default_dtype, role, RULES), ep).model
        assert [str(found) for found in judge(made, name).findings if found.kind != "index dtype"] == []


@pytest.mark.parametrize("name", execution_providers())
def test_every_fact_has_source_confidence_and_date(name: str) -> None:
    for use, fact in get_ep(name).kernels.items():
        assert fact.source and fact.confidence in ("measured", "recorded", "documented"), str(use)
        assert fact.checked == "2026-11-29"


def test_grouped_query_attention_by_dtype() -> None:
    """cuda and trt-rtx have it in half precision only, cpu and webgpu also in float32, dml in float16."""
    gqa = OpId("GroupQueryAttention", "com.microsoft")
    found = {name: {word for word, d in FLOAT_DTYPES.items() if get_ep(name).runs(gqa, d)} for name in PROVIDERS}
    assert found == {
        "cpu": {"float32", "float16"}, "cuda": {"float16", "bfloat16"}, "dml": {"float16"},
        "webgpu": {"float32", "float16"}, "trt-rtx": {"float16", "bfloat16"},
    }  # fmt: skip


def test_trt_rtx_has_no_skip_norms_and_keeps_layer_norms() -> None:
    for family in ("llama", "gpt2"):
        for dtype in FLOAT_DTYPES.values():
            ep: ExecutionProvider = get_ep("trt-rtx")
            model, role = generic(family, "default", dtype)
            ops = {node.op_type for node in run_plan(model, plan(ep, dtype, role, RULES), ep).model.graph}
            assert not {op for op in ops if op.startswith("Skip") or "Simplified" in op or op == "RMSNormalization"}
            assert ("LayerNormalization" in ops) == (family == "gpt2")
