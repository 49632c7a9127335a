"""check: planted faults of each kind, the installed ONNX Runtime as the judge of what would happen, live tables."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from tests.unit.rules.graphs import config, llama, parsed
from workbench import check, optimize
from workbench.analysis.check_report import CheckReport
from workbench.ep import execution_providers, get_ep
from workbench.ep.kernel_table import from_json, recorded
from workbench.errors import ModelFileError, SaveError, UnknownNameError, WorkbenchError
from workbench.runtime import kernels
from workbench.types import MS_DOMAIN, OpId

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


# --- what ONNX Runtime really does ----------------------------------------------------------------------------
def one_node(op: str, dtype: int, inputs: int, domain: str = "", **attributes: object) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(inputs)]
    node = helper.make_node(op, names, ["y"], name="it", domain=domain, **attributes)
    values = [helper.make_tensor_value_info(name, dtype, [8, 8] if op != "LayerNormalization" or i == 0 else [8])
              for i, name in enumerate(names)]  # fmt: skip
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("y", dtype, None)])
    imports = [helper.make_opsetid("", 24), helper.make_opsetid(MS_DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


OPS = [
    ("MatMul", 2, "", {}), ("Add", 2, "", {}), ("Mul", 2, "", {}), ("Sigmoid", 1, "", {}), ("Softmax", 1, "", {}),
    ("Gelu", 1, "", {}), ("Tanh", 1, "", {}), ("Erf", 1, "", {}), ("Transpose", 1, "", {}),
    ("Concat", 2, "", {"axis": 0}),
    ("Relu", 1, "", {}), ("Sqrt", 1, "", {}), ("Neg", 1, "", {}), ("Exp", 1, "", {}),
    ("Gelu", 1, MS_DOMAIN, {}), ("FastGelu", 1, MS_DOMAIN, {}), ("QuickGelu", 1, MS_DOMAIN, {}), ("Swish", 1, "", {}),
    ("Cos", 1, "", {}), ("Identity", 1, "", {}), ("LayerNormalization", 2, "", {}), ("Mish", 1, "", {}),
    ("FusedMatMul", 2, MS_DOMAIN, {}),
]  # fmt: skip
DTYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}


def _really(proto: onnx.ModelProto, tmp_path: Path) -> str:
    """``refuses``, or how ONNX Runtime has it after its required transformations: itself, with casts, or its body."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(tmp_path / "o.onnx")
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=[CPU])
    except Exception:
        return "refuses"
    ops = [node.op_type for node in onnx.load(tmp_path / "o.onnx").graph.node]
    if proto.graph.node[0].op_type not in ops:
        return "inlines its body"
    return "inserts casts" if "Cast" in ops else "runs it"


@pytest.mark.parametrize(("op", "inputs", "domain", "attributes"), OPS, ids=lambda v: str(v) or "onnx")
def test_onnxruntime_does_what_the_report_says(
    op: str, inputs: int, domain: str, attributes: dict[str, object], tmp_path: Path
) -> None:
    for word, dtype in DTYPES.items():
        proto = one_node(op, dtype, inputs, domain, **attributes)
        try:
            onnx.checker.check_model(proto)
        except onnx.checker.ValidationError:
            continue
        report = check(proto, "cpu")
        said = report.findings[-1].action if [f for f in report.findings if f.node] else "runs it"
        assert said == _really(proto, tmp_path), (word, report.findings)


# --- planted faults ---------------------------------------------------------------------------------------------
HEAD = """<ir_version: 10, opset_import: ["" : 24, "com.microsoft" : 1, "other" : 1]> g """
PLANTED = {
    "a domain": ("cpu", "(float[8] x) => (float[8] y) { y = other.Thing (x) }", "domain", "refuses"),
    "an operator nobody knows": ("cpu", "(float[8] x) => (float[8] y) { y = com.microsoft.Thing (x) }", "kernel",
                                 "refuses"),
    "a forbidden operator": ("webgpu", "(float[B] x) => (int64[1] y) { y = Shape (x) }", "forbidden",
                             "falls back to cpu"),
    "control flow": ("webgpu", """(bool c, float[8] x) => (float[8] y) { y = If (c)
        <then_branch = a () => (float[8] p) { p = Relu (x) }, else_branch = b () => (float[8] q) { q = Neg (x) }> }""",
                     "control flow", "falls back to cpu"),
    "a type": ("cpu", "(bfloat16[8, 8] x) => (bfloat16[8, 8] y) { y = MatMul (x, x) }", "type", "refuses"),
    "a half type": ("cpu", "(float16[8, 8] x) => (float16[8, 8] y) { y = MatMul (x, x) }", "type", "inserts casts"),
    "an integer type": ("cpu", "(uint32[8] x) => (uint32[1] y) { y = ReduceSum (x) }", "type", "refuses"),
    "no kernel at all": ("cuda", "(float[8] x) => (float[8] y) { y = Mish (x) }", "kernel", "falls back to cpu"),
    "a kernel of the other provider": ("webgpu", "(float[8] x) => (float[8] y) { y = com.microsoft.Thing (x) }",
                                       "kernel", "refuses"),
}  # fmt: skip


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_fault_is_found(case: str) -> None:
    provider, text, kind, action = PLANTED[case]
    report = check(parsed(HEAD + text), provider)
    assert (kind, action) in [(f.kind, f.action) for f in report.findings], report
    assert report.coverage < 1 and report.native < report.nodes


def test_a_rank_and_a_feature() -> None:
    """Facts of a kernel's features are those that the plan and the legality check use."""
    report = check(llama(), "trt-rtx", "float16")
    found = {f.kind: f.reason for f in report.findings if f.op == "Attention"}
    assert set(found) == {"feature"} and "cache, three_axes" in found["feature"]
    text = """(float[2, 4, 32] q, float[2, 4, 32] k, float[2, 4, 32] v) => (float[2, 4, 32] y) {
        y = Attention <q_num_heads = 4, kv_num_heads = 4> (q, k, v) }"""
    (rank,) = check(parsed(HEAD + text), "trt-rtx").findings
    assert (rank.kind, rank.action) == ("rank", "not known") and "three_axes" in rank.reason


def test_branches_are_looked_into() -> None:
    report = check(parsed(HEAD + PLANTED["control flow"][1]), "cpu")
    assert (report.nodes, report.verdict) == (3, "runs")
    bad = PLANTED["control flow"][1].replace("Relu (x)", "other.Thing (x)")
    assert [f.op for f in check(parsed(HEAD + bad), "cpu").findings] == ["other.Thing"]


def test_bodies_are_judged_in_the_place_of_functions() -> None:
    report = check(llama(), "webgpu", "float32")
    shapes = [f for f in report.findings if f.op == "Shape"]
    assert len(shapes) == 2 and {f.scope for f in shapes} == {"model"}
    assert report.unjudged == 0


@pytest.mark.parametrize("name", execution_providers())
def test_it_finds_what_legality_finds(name: str) -> None:
    """The same facts as the plan's: each finding of the pipeline's own check is one here."""
    ep = get_ep(name)
    for model in (llama(), llama(config(attn_logit_softcapping=2.0))):
        made = optimize(model, execution_provider=name, dtype="float32")
        report = check(made.model, name)
        said = [d for d in made.report.diagnostics if d.code.startswith("legality.") and "index" not in d.code]
        for finding in said:
            text = finding.message.removeprefix(f"{ep.name}: ")
            assert any(f.reason.startswith(text) for f in report.findings), finding
        if not said and name not in ("cuda", "cpu"):  # those two have tables that know more
            assert [f for f in report.findings if f.node] == []


@pytest.mark.parametrize("name", execution_providers())
def test_what_the_pipeline_makes_is_not_refused(name: str) -> None:
    made = optimize(llama(), execution_provider=name, dtype="float32").model
    report = check(made, name)
    assert report.verdict != "refused", str(report)
    assert report.coverage >= check(llama(), name).coverage


def test_another_dtype() -> None:
    as_is, half, brain = (check(llama(), "cpu", word) for word in (None, "float16", "bfloat16"))
    assert (as_is.verdict, as_is.coverage) == ("runs", 1.0)
    assert half.verdict == "runs" and half.counts()["inserts casts"] > 10 and half.coverage < 1
    assert brain.verdict == "refused" and brain.findings[0].kind == "dtype"
    really = check(llama(dtype=ir.DataType.FLOAT16), "cpu")
    assert (really.counts(), really.coverage) == (half.counts(), half.coverage)


def test_scopes_add_up() -> None:
    report = check(llama(), "dml")
    assert sum(s.nodes for s in report.scopes) == report.nodes
    assert sum(s.native for s in report.scopes) == report.native
    frame = report.scopes_frame().set_index("scope")
    assert frame.loc["model.layers.0.self_attn", "share"] < 1 == frame.loc["lm_head", "share"]
    where = {group.where for group in report.groups() if group.op == "Attention"}
    assert where == {"model.layers.0-1.self_attn"}


def test_sources_say_where_and_when() -> None:
    cpu, cuda, dml = (check(llama(), name).sources for name in ("cpu", "cuda", "dml"))
    assert [s.split(":")[0] for s in cuda] == ["facts of cuda", CUDA, CPU]
    assert "onnxruntime-gpu 1.31.1: kernel registry (2026-11-29)" in cuda[1] and "read here" in cpu[1]
    assert [s.split(":")[0] for s in dml] == ["facts of dml", CPU]


def test_it_changes_nothing_and_says_the_same_again() -> None:
    model = llama()
    before = ir.to_proto(model).SerializeToString(deterministic=True)
    one, two = check(model, "webgpu"), check(model, "webgpu")
    assert ir.to_proto(model).SerializeToString(deterministic=True) == before
    assert one == two and str(one) == str(two)
    json.dumps(one.to_dict())
    assert isinstance(one, CheckReport) and not one and len(one.to_frame()) == len(one.findings)


def test_hostile_names_and_an_empty_graph() -> None:
    model = llama()
    for node in model.graph:
        node.name = f"<script>{node.name}"
    assert "<script>" not in check(model, "dml")._repr_html_()
    empty = parsed(HEAD + "(float[8] x) => (float[8] x) { }")
    assert (check(empty, "cpu").coverage, check(empty, "cpu").verdict) == (1.0, "runs")


def test_bad_questions(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cpu'"):
        check(llama(), "cpuu")
    with pytest.raises(UnknownNameError, match="Unknown dtype"):
        check(llama(), "cpu", "fp4")
    with pytest.raises(ModelFileError, match="no such file"):
        check(tmp_path / "no.onnx", "cpu")


# --- tables -----------------------------------------------------------------------------------------------------
def test_the_live_table_is_the_installed_registry() -> None:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    table = kernels.live(CPU)
    assert table is not None and table.live and table.size == len(state.get_all_opkernel_def())
    assert table.find(OpId("MatMul"), 13, {"T": "float"}) and not table.find(OpId("MatMul"), 13, {"T": "bfloat16"})
    assert kernels.live("NobodyExecutionProvider") is None


def test_a_recorded_table_reads_as_it_was_written() -> None:
    cuda = recorded(CUDA)
    assert cuda is not None and (cuda.live, cuda.checked, cuda.size) == (False, "2026-11-29", 1565)
    again = from_json(cuda.to_json())
    assert again.to_json() == cuda.to_json() and again.kernels.keys() == cuda.kernels.keys()
    gqa = OpId("GroupQueryAttention", MS_DOMAIN)
    assert cuda.types_of(gqa, 1, "T") == {"float16", "bfloat16"}
    live = kernels.live(CPU)
    assert live is not None and from_json(live.to_json()).to_json() == live.to_json()


def test_facts_about_cuda_agree_with_its_table() -> None:
    """Every dtype that a fact claims is registered, for some version of the operator."""
    cuda = recorded(CUDA)
    assert cuda is not None
    for use, fact in get_ep("cuda").kernels.items():
        for dtype in fact.dtypes:
            word = {"FLOAT": "float"}.get(dtype.name, dtype.name.lower())
            found = [k for k in cuda.kernels[use] if any(word in types for _, types in k.types)]
            assert found, (use, dtype)


@pytest.mark.parametrize("text", ["", "{}", '{"format": "x"}', "[1]", '{"format": "ep-workbench.kernels"}'])
def test_what_is_no_table(text: str) -> None:
    with pytest.raises(WorkbenchError, match="Not a recorded kernel table"):
        from_json(text)


@pytest.mark.parametrize("found", [b"", b"{}", b"\xff\xfe", b"[1]"])
def test_a_kept_table_that_is_damaged(found: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path))
    path = kernels.place(CUDA)
    path.parent.mkdir(parents=True)
    path.write_bytes(found)
    with pytest.raises(
        WorkbenchError, match=r"CUDAExecutionProvider.json: it is not a kernel table. Delete it: the tab"
    ):
        check(llama(), "cuda")
    path.unlink()
    assert check(llama(), "cuda").verdict


def test_a_kept_table_is_found_and_the_newer_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path))
    cuda = recorded(CUDA)
    assert cuda is not None
    for checked, wins in (("2026-01-01", False), ("2027-01-01", True)):
        kernels.keep(dataclasses.replace(cuda, checked=checked))
        found = kernels.best(CUDA)
        assert found is not None and (found.checked == checked) == wins
    (tmp_path / "kernels").rename(tmp_path / "gone")
    (tmp_path / "kernels").write_text("a file")
    with pytest.raises(SaveError, match="EP_WORKBENCH_CACHE"):
        kernels.keep(cuda)


def test_numbers_agree_with_a_run() -> None:
    """A graph of which the report says that all is native has no Cast of ONNX Runtime's own."""
    made = optimize(llama(), execution_provider="cpu").model
    assert check(made, "cpu").counts() == {"runs it": check(made, "cpu").nodes}


def test_a_plugin_provider_is_read_live_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Def:
        op_name, domain, version_range, provider = "MatMul", "", (13, 100), "WebGpuExecutionProvider"
        type_constraints = {"T": ["tensor(float)", "tensor(float16)"]}

    class State:
        registered = False

        def get_all_opkernel_def(self) -> list[Def]:
            return []

        def get_registered_ep_kernel_defs(self, name: str) -> list[Def]:
            if not self.registered:
                raise RuntimeError("No devices found")
            return [Def()]

    state = State()
    monkeypatch.setattr(kernels, "_state", lambda: (state, "1.32.0"))
    assert kernels.live("WebGpuExecutionProvider") is None
    state.registered = True
    table = kernels.live("WebGpuExecutionProvider")
    assert table is not None and "plugin provider" in table.source and table.size == 1
    assert table.find(OpId("MatMul"), 13, {"T": "float16"}) and not table.find(OpId("MatMul"), 13, {"T": "bfloat16"})
