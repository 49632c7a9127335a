"""RoPE tables that depend on a run's length: an If that becomes a Where, and tables too short for the fused kernel."""

from __future__ import annotations

import dataclasses

import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, distance, feeds, llama, nodes, only_miss, parsed
from tests.unit.rules.rope_tables import DYNAMIC, FACTORS, LONG, ORIGINAL, of
from workbench import optimize
from workbench.ep import execution_providers


def count(model: ir.Model, op_type: str) -> int:
    """Nodes of an operator, also inside branches and functions."""
    bodies = list(model.functions.values())
    return sum(
        node.op_type == op_type
        for graph in (model.graph, *bodies)
        for node in ir.traversal.RecursiveGraphIterator(graph)
    )


@pytest.mark.parametrize("new", [ORIGINAL - 3, ORIGINAL, ORIGINAL + 1, 3 * ORIGINAL])
def test_if_becomes_where_on_both_sides_of_the_original_length(new: int) -> None:
    model = llama(of(LONG))
    after, report = applied(model, "lower/if_to_where")
    assert (report.candidates, report.applied) == (2, 2)  # cosines and sines
    assert {node.overload for node in nodes(after, "LongRopeTable")} == {"without_if"}
    assert distance(model, after, feeds(of(LONG), past=0, new=new)) == 0.0


def test_the_two_tables_differ() -> None:
    """Otherwise the test above would prove nothing."""
    swapped = dataclasses.replace(LONG, short_factor=FACTORS[1], long_factor=FACTORS[0])
    given = feeds(of(LONG), past=0, new=ORIGINAL - 3)
    assert distance(llama(of(LONG)), llama(of(swapped)), given) > 1e-2


@pytest.mark.parametrize("ep", execution_providers())
def test_no_if_where_it_is_forbidden(ep: str) -> None:
    made = optimize(llama(of(LONG)), execution_provider=ep, dtype="float32")
    forbidden = ep in ("dml", "webgpu", "trt-rtx")
    assert (count(made.model, "If") == 0) == forbidden
    assert distance(llama(of(LONG)), made.model, feeds(of(LONG), past=0, new=20)) <= 1e-5


def test_an_if_whose_branch_may_fail_is_left_with_the_reason() -> None:
    model = parsed("""<ir_version: 10, opset_import: ["" : 20]> g (bool c, float[2] a, float[2] b) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] p) { p = Neg (a) },
                  else_branch = e () => (float[2] q) { q = RandomNormalLike (b) }>
    }""")
    after, report = applied(model, "lower/if_to_where")
    miss = only_miss(report)
    assert (miss.kind, miss.reason[:40]) == ("precondition", "its else branch holds RandomNormalLike, ")
    assert [node.op_type for node in after.graph] == ["If"]
    made = optimize(model, execution_provider="dml", dtype="float32")
    assert "legality.forbidden" in {finding.code for finding in made.report.diagnostics}


def test_tables_made_for_the_positions_of_a_run_stay_outside() -> None:
    """They have a row for each real position: fewer than slots where every row of a batch is padded."""
    model = llama(of(DYNAMIC))
    after, report = applied(model, "fuse/gqa")
    assert (report.applied, len(report.partial)) == (2, 2)
    assert {miss.reason for miss in report.partial} == {
        "RoPE stays outside: its tables are made for the positions of each run, "
        "and the kernel wants a row for every slot"
    }
    assert len(nodes(after, "RotaryEmbedding")) == 4
    assert {node.attributes.get("do_rotary") for node in nodes(after, "GroupQueryAttention")} == {None}
    assert distance(model, after, feeds(of(DYNAMIC), past=0, new=3 * ORIGINAL)) <= 1e-5


def test_also_behind_a_cast() -> None:
    model = llama(of(DYNAMIC), dtype=ir.DataType.FLOAT16)
    _, report = applied(model, "fuse/gqa", dtype=ir.DataType.FLOAT16)
    assert (report.applied, len(report.partial)) == (2, 2)


def test_tables_of_longrope_go_in() -> None:
    """They are whole tables, whichever is chosen."""
    model = llama(of(LONG))
    after, report = applied(model, "fuse/gqa")
    assert (report.applied, report.partial) == (2, ())
    given = feeds(of(LONG), past=0, new=20)
    assert distance(model, after, given) <= 1e-5
