"""The summary of execution providers: every number counted again, on saved files, by other means."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.cases import CASES, write_model
from tests.unit.analysis.results import report
from workbench.analysis.ep_columns import ep_summary, weights
from workbench.analysis.ep_summary import ROWS, EpSummary, Port, Weight, _bytes, _ports
from workbench.build import build
from workbench.compare import Comparison, compare
from workbench.errors import UnsupportedError

PROVIDERS = ("cpu", "cuda", "dml", "webgpu", "trt-rtx", "onnx-standard")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = write_model(tmp_path_factory.mktemp("tiny"), CASES["gqa"])
    return compare(folder, execution_providers=PROVIDERS)


@pytest.fixture(scope="module")
def saved(made: Comparison, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("saved")
    for name in made:
        made[name].save(root / name)
    return {name: root / name for name in made}


def nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Nodes of a file: the main graph, bodies of subgraphs, bodies of functions."""
    todo: list[Any] = [model.graph, *model.functions]
    while todo:
        for node in todo.pop().node:
            yield node
            todo += [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


@pytest.mark.parametrize("name", PROVIDERS)
def test_numbers_are_those_of_the_saved_file(made: Comparison, saved: dict[str, Path], name: str) -> None:
    column = made.summary()[name]
    model = onnx.load(saved[name] / "model.onnx", load_external_data=False)
    ops = Counter((node.domain.replace("ai.onnx", ""), node.op_type) for node in nodes(model))
    assert column.nodes == ops.total() > 0
    assert column.ops == len(ops)
    assert column.casts == ops["", "Cast"]
    assert [port.name for port in column.inputs] == [value.name for value in model.graph.input]
    assert [port.name for port in column.outputs] == [value.name for value in model.graph.output]
    words = {1: "float32", 6: "int32", 7: "int64", 10: "float16"}
    assert [p.dtype for p in column.inputs] == [words[v.type.tensor_type.elem_type] for v in model.graph.input]
    manifest = json.loads((saved[name] / "manifest.json").read_text())
    assert column.padding == manifest["padding"]


@pytest.mark.parametrize("name", PROVIDERS)
def test_bytes_are_those_of_the_saved_weights(made: Comparison, saved: dict[str, Path], name: str) -> None:
    model = onnx.load(saved[name] / "model.onnx")  # with its weights
    sizes = [onnx.numpy_helper.to_array(tensor).nbytes for tensor in model.graph.initializer]
    assert made.summary()[name].nbytes == sum(sizes) > 0


def test_fusions_are_those_of_the_report(made: Comparison) -> None:
    for name in made:
        frame = made[name].report.to_frame()
        fuse, lower = frame[frame.stage == "fuse"], frame[frame.stage == "lower"]
        column = made.summary()[name]
        assert (column.applied, column.candidates) == (fuse.applied.sum(), fuse.candidates.sum())
        assert column.lowered == lower.applied.sum()
    assert made.summary()["cuda"].text("fusions") == "12/12"
    assert made.summary()["trt-rtx"].lowered == 7


def test_dropped_inputs_are_named(made: Comparison) -> None:
    generic = {value.name for value in made.generic.graph.inputs}
    for name in made:
        column = made.summary()[name]
        assert set(column.dropped) == generic - {port.name for port in column.inputs}
    assert made.summary()["cuda"].text("inputs") == "8 (2 int64, 6 float16), 1 dropped"
    assert "position_ids" in made.summary()["cuda"].facts("inputs")


def test_no_weight_is_read() -> None:
    """Every tensor of this comparison fails when its data are asked for."""
    comparison = compare(dict(CASES["tied"].hf), execution_providers=["cpu"], load_weights=False)

    def refuse() -> ir.TensorProtocol:
        raise AssertionError("a weight was read")

    for model in (comparison.generic, comparison["cpu"].model):
        for value in model.graph.initializers.values():
            assert value.dtype is not None and value.shape is not None
            value.const_value = ir.LazyTensor(refuse, dtype=value.dtype, shape=value.shape, name=value.name)
    assert comparison.summary()["cpu"].nbytes > 0
    with pytest.raises(AssertionError, match="a weight was read"):
        next(iter(comparison.generic.graph.initializers.values())).const_value.numpy()


def test_a_shared_tensor_counts_once() -> None:
    tensor = ir.tensor(np.zeros((4, 8), np.float16), name="w")
    values = [ir.Value(name=name, const_value=tensor, shape=tensor.shape, type=ir.TensorType(tensor.dtype))
              for name in ("w", "w_again")]  # fmt: skip
    graph = ir.Graph([], [], nodes=[], initializers=values, opset_imports={"": 20}, name="g")
    assert weights(ir.Model(graph, ir_version=10)) == [Weight(("w", "w_again"), "float16", "[4, 8]", 64)]


def test_sizes_that_are_not_known_are_said() -> None:
    unknown = ir.Value(name="w", shape=ir.Shape(["N", 4]), type=ir.TensorType(ir.DataType.FLOAT))
    graph = ir.Graph([], [], nodes=[], initializers=[unknown], opset_imports={"": 20}, name="g")
    summary = ep_summary("tiny", ir.Model(graph, ir_version=10), {})
    assert summary["generic"].text("size") == "0 B + 1 of unknown size"


def test_parity_is_there_when_it_was_run(made: Comparison) -> None:
    assert made.summary()["cpu"].text("parity") == "not run"
    parity = report(bad=True)
    summary = made.summary(parity)
    worst = max(row.max_abs for row in parity.rows if row.execution_provider == "dml")
    assert summary["dml"].max_abs == worst
    assert summary["dml"].text("parity") == "ok: max|d| 1e-2 <= 3e-2"
    assert summary["cuda"].text("parity") == "not run"
    assert "no CUDA kernels" in summary["cuda"].facts("parity")
    assert summary["generic"].text("parity") == "reference"


def test_diagnostics_are_counted_by_severity(made: Comparison) -> None:
    column = dataclasses.replace(made.summary()["cpu"], diagnostics=("warning", "error", "warning", "info"))
    assert column.text("diagnostics") == "1 info, 2 warnings, 1 error"
    assert made.summary()["cpu"].text("diagnostics") == "none"


def test_faces(made: Comparison) -> None:
    summary = made.summary()
    text, page, frame = repr(summary), summary._repr_html_(), summary.to_frame()
    assert repr(made.summary()) == text and made.summary() == summary
    assert "0x" not in text
    for _, title, cells in summary.rows():
        line = next(line for line in text.splitlines() if line.strip().startswith(title))
        assert all(cell in line for cell in cells), title
        assert f'<th scope="row" style="text-align:left">{title}</th>' in page
    assert page.count('<th scope="col"') == len(PROVIDERS) + 2
    assert list(frame.execution_provider) == ["generic", *PROVIDERS]
    assert frame.set_index("execution_provider").node["cuda"] == summary["cuda"].nodes
    assert [row for row, _, _ in summary.rows()] == list(ROWS)


def test_names_are_escaped(made: Comparison) -> None:
    column = dataclasses.replace(made.summary()["cpu"], execution_provider="<script>x</script>")
    assert "<script>" not in EpSummary("<script>", (column,))._repr_html_()


def test_every_cell_has_a_sentence(made: Comparison) -> None:
    summary = made.summary()
    for row, title, _ in summary.rows():
        for name in summary.execution_providers:
            assert summary[name].facts(row).startswith(f"{name}, {title.lower()}: {summary[name].text(row)}")


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (270_078_592, "270 MB"),
                                            (999_800, "1,000 kB"), (13_400_000_000, "13.4 GB")])  # fmt: skip
def test_sizes(size: int, text: str) -> None:
    assert _bytes(size) == text


def test_no_ports() -> None:
    assert _ports(()) == "0"
    assert _ports((Port("x", "int64", "[1]"),)) == "1 (int64)"


def test_another_dtype(made: Comparison) -> None:
    halves = made.in_dtype("float16")
    assert {column.dtype for column in halves.summary().columns[1:]} == {"float16"}
    assert list(halves) == list(made)
    assert made.summary()["cpu"].dtype == "float32", "the comparison itself stays as it is"
    with pytest.raises(UnsupportedError, match="put together from packages"):
        Comparison(made.packages, made.generic, made.name).in_dtype("float16")


def test_building_again_can_be_stopped(made: Comparison) -> None:
    asked = []

    def stop() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.in_dtype("float16", check=stop)
    assert len(asked) == 3


def test_several_graphs_count_together(made: Comparison) -> None:
    one = build(dict(CASES["gqa"].hf), load_weights=False)
    two = dataclasses.replace(one, models={"a": one.model, "b": one.model})
    alone, both = (ep_summary("m", made.generic, {"cpu": p})["cpu"] for p in (one, two))
    assert (both.nodes, both.nbytes, len(both.inputs)) == (2 * alone.nodes, 2 * alone.nbytes, 2 * len(alone.inputs))
    assert {weight.graph for weight in both.weights} == {"a", "b"}
