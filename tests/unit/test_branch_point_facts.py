"""Branch points without a rule of their own: dtype of the cache, captured graphs, attention sinks."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.functions.test_contrib_bodies import PROMPT, STEPS, given_of, gqa_inputs, one_node, real
from tests.unit.rules.graphs import config, llama, parsed, run
from tests.unit.rules.rope_tables import LONG
from tests.unit.rules.rope_tables import of as with_rope
from workbench import CausalLM, LegalityError, build_from_module, optimize
from workbench.ep import execution_providers, get_ep
from workbench.optimize import check, run_plan
from workbench.passes.legality import legality
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.types import FLOAT_DTYPES, Role

CELLS = [(n, w) for n in execution_providers() for w, d in FLOAT_DTYPES.items() if d in get_ep(n).computes]


@pytest.mark.parametrize(("name", "word"), CELLS)
def test_the_cache_has_the_dtype_of_the_model(name: str, word: str) -> None:
    """Past and present of every layer, whatever became of the attention; logits as well."""
    made = build_from_module(CausalLM, config(), execution_provider=name, dtype=word).model
    cache = [v for v in (*made.graph.inputs, *made.graph.outputs) if (v.name or "").startswith(("past", "present"))]
    assert len(cache) == 8
    assert {v.dtype for v in (*cache, made.graph.outputs[0])} == {FLOAT_DTYPES[word]}


# --- captured graphs ------------------------------------------------------------------------------------
FLOW = {
    "If": "y = If (c) < then_branch = t () => (float[2] p) { p = Neg (x) }, else_branch = e () => (float[2] q) "
    "{ q = RandomNormalLike (x) }>",
    "Loop": "n = Constant <value_int = 2> () y = Loop (n, c, x) < body = b (int64 i, bool d, float[2] s) => "
    "(bool d2, float[2] s2) { d2 = Identity (d) s2 = Neg (s) }>",
}


@pytest.mark.parametrize("op_type", FLOW)
def test_no_control_flow_in_a_captured_graph(op_type: str) -> None:
    model = parsed(f"""<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, bool c) => (float[2] y)
      {{ {FLOW[op_type]} }}""")
    ep = get_ep("cuda")  # it runs both, and may not while it captures
    plain, captured = legality(model, ep), legality(model, ep, captured=True)
    assert [finding.code for finding in plain] == []
    assert [(f.code, f.severity) for f in captured] == [
        ("legality.control-flow", "error"), ("legality.decode-only", "info"),
    ]  # fmt: skip
    assert f"so no {op_type} may remain" in captured[0].message
    made = run_plan(model, plan(ep, ir.DataType.FLOAT, Role.DECODER, RULES), ep, captured=True)
    with pytest.raises(LegalityError, match="may remain"):
        check(made.report)


def test_control_flow_in_the_body_of_a_function_counts() -> None:
    model = llama(with_rope(LONG))
    assert {"legality.control-flow"} <= {f.code for f in legality(model, get_ep("default"), captured=True)}


def test_a_captured_graph_says_what_it_is_for() -> None:
    """LongRoPE too: its choice of a table is no If there."""
    from workbench.recipe import Recipe
    from workbench.tasks import get_task

    recipe = Recipe(CausalLM, with_rope(LONG), get_task("text-generation"))
    package = recipe.package(get_ep("webgpu"), ir.DataType.FLOAT, graph_capture=True)
    assert [(d.code, d.severity) for d in package.diagnostics] == [("legality.decode-only", "info")]
    assert [list(v.shape or ()) for v in package.model.graph.inputs if v.name == "input_ids"] == [[1, 1]]
    assert not {"If", "Loop", "Scan"} & {n.op_type for n in ir.traversal.RecursiveGraphIterator(package.model.graph)}


# --- caps of scores -------------------------------------------------------------------------------------
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", execution_providers())
def test_a_cap_that_a_kernel_ignores_is_carried_by_the_body(name: str, step: str) -> None:
    """webgpu: the kernel ignores softcap, and no Shape may remain, so the body counts lengths."""
    inputs = gqa_inputs(np.float32, **STEPS[step], rotary=True, packed=True)
    words = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "softcap": 0.8}
    model = one_node("GroupQueryAttention", inputs, 3, **words)
    made = optimize(model, execution_provider=name, dtype="float32")
    assert [f.code for f in made.report.diagnostics if f.code.startswith("legality.") and f.severity == "error"] == []
    kept = any(n.op_type == "GroupQueryAttention" and n.domain == "com.microsoft" for n in made.model.graph)
    assert kept == (name == "cpu")
    if name == "webgpu":
        assert not {"Shape", "CastLike"} & {n.op_type for n in made.model.graph}
    before, after = (run(graph, given_of(inputs)) for graph in (model, made.model))
    pairs = zip(real(before, STEPS[step]), real(after, STEPS[step]), strict=True)
    assert max(float(np.abs(a - b).max()) for a, b in pairs) <= 1e-5


# --- attention sinks ------------------------------------------------------------------------------------
@pytest.mark.parametrize("sink", ["head_sink", "smooth_softmax"])
@pytest.mark.parametrize("name", execution_providers())
def test_sinks_of_other_graphs_are_kept_or_carried_by_the_body(name: str, sink: str) -> None:
    """No family of ours has them. A provider whose kernel nobody saw doing it gets what the kernel computes."""
    attributes = {"smooth_softmax": 1} if sink == "smooth_softmax" else {}
    inputs = gqa_inputs(np.float32, **PROMPT, sink=sink == "head_sink")
    model = one_node("GroupQueryAttention", inputs, 3, num_heads=4, kv_num_heads=2, **attributes)
    made = optimize(model, execution_provider=name, dtype="float32")
    keeps = name in ("cpu", "webgpu")  # cuda has the kernel in half precision only
    assert any(n.op_type == "GroupQueryAttention" and n.domain == "com.microsoft" for n in made.model.graph) == keeps
    assert [f.code for f in made.report.diagnostics if f.severity == "error"] == []
    before, after = (run(graph, given_of(inputs)) for graph in (model, made.model))
    assert (
        max(float(np.abs(a - b).max()) for a, b in zip(real(before, PROMPT), real(after, PROMPT), strict=True)) <= 1e-5
    )
