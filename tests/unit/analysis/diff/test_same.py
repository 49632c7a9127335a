"""What is the same graph gives an empty diff: itself, another order, other names, a written and read copy."""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
import pytest

from tests.unit.analysis.diff.graphs import filled, pair
from tests.unit.analysis.diff.variants import renamed, shuffled
from workbench.analysis.diff import diff

CASES = [
    ("llama", "dml"), ("gemma2", "webgpu"), ("mixtral", "trt-rtx"), ("bert", "cpu"), ("gpt2", "cuda"), ("bloom", "cpu"),
    ("qwen3_moe", "onnx-standard"),
]  # fmt: skip


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def graphs(request: pytest.FixtureRequest) -> tuple[ir.Model, ir.Model]:
    """A generic graph (with functions) and an execution provider's."""
    return pair(*request.param)


@pytest.mark.parametrize("provenance", [True, False])
def test_a_graph_and_itself(graphs: tuple[ir.Model, ir.Model], provenance: bool) -> None:
    for graph in graphs:
        found = diff(graph, graph, provenance=provenance)
        assert found.is_empty and not found.groups
        assert found.counts["same"] == len(found.a) == len(found.b) >= len(graph.graph)


@pytest.mark.parametrize("metadata", [True, False])
def test_everything_renamed(graphs: tuple[ir.Model, ir.Model], metadata: bool) -> None:
    for graph in graphs:
        found = diff(graph, renamed(graph, 3, metadata=metadata))
        assert found.is_empty, found.summary()


@pytest.mark.parametrize("seed", range(3))
def test_another_legal_order(graphs: tuple[ir.Model, ir.Model], seed: int) -> None:
    for graph in graphs:
        other = shuffled(graph, seed)
        assert [n.name for n in other.graph] != [n.name for n in graph.graph]
        assert diff(graph, other, provenance=False).is_empty
        assert diff(renamed(graph, seed), other, provenance=False).is_empty


def test_weights_that_are_renamed_and_permuted_are_known_by_content() -> None:
    graph = filled(pair("llama", "cpu")[1])
    other = filled(graph)
    names = [v.name for v in other.graph.initializers.values()]
    values = list(other.graph.initializers.values())
    for number, one in enumerate(values):
        one.name = f"free{number}"
    for one, name in zip(values, names[1:] + names[:1]):
        one.name = name
    assert diff(graph, other, provenance=False).is_empty


def test_a_copy_that_was_written_and_read(tmp_path: Path) -> None:
    graph = filled(pair("llama", "cpu")[1])
    ir.save(graph, tmp_path / "model.onnx")
    found = diff(graph, tmp_path / "model.onnx")
    assert found.is_empty, found.summary()
    assert not found.unread


def test_both_directions_mirror_each_other(graphs: tuple[ir.Model, ir.Model]) -> None:
    there, back = diff(*graphs), diff(*reversed(graphs))
    assert there.counts["removed"] == back.counts["added"] and there.counts["added"] == back.counts["removed"]
    assert {(e.a, e.b) for e in there.entries} == {(e.b, e.a) for e in back.entries}
    assert len(there.groups) == len(back.groups)
