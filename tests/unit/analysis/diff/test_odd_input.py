"""Odd graphs: nothing in them, too much in them, names that are no names, and what cannot be compared."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.unit.analysis.diff.graphs import FLOAT, chain, model, node, pair, value, weight
from tests.unit.analysis.diff.variants import renamed, shuffled
from workbench.analysis.diff import diff
from workbench.errors import ArgumentError, ModelFileError, WeightsError, WorkbenchError


def test_graphs_without_nodes() -> None:
    x = value("x")
    empty, through = model([], [], []), model([x], [x], [])
    assert diff(empty, empty).is_empty and diff(through, through).is_empty
    found = diff(empty, chain("Relu"))
    assert dict(found.counts) == {"same": 0, "changed": 0, "removed": 0, "added": 1}
    assert "1 added" in repr(found) and found.to_frame().shape[0] == 1


def test_one_node() -> None:
    assert diff(chain("Relu"), chain("Relu")).is_empty
    assert dict(diff(chain("Relu"), chain("Exp")).counts)["same"] == 0


@pytest.mark.parametrize("name", ["", "n" * 10_000, "<script>alert(1)</script>", "a/b\n\t'\"&", "日本語"])
def test_names_of_every_kind(name: str) -> None:
    before, after = chain("Relu", "Exp", "Neg"), chain("Relu", "Softplus", "Abs", "Neg")
    for graph in (before, after):
        for one in graph.graph:
            one.name = name
            one.outputs[0].name = name + one.op_type if name else one.outputs[0].name
    found = diff(before, after, labels=(name, "b"))
    assert dict(found.counts) == {"same": 2, "changed": 0, "removed": 1, "added": 2}
    html = found._repr_mimebundle_()[0]["image/svg+xml"] + found.summary()._repr_html_()
    assert "<script" not in html
    assert len(repr(found.summary()).splitlines()) == len(found.summary().lines)


def test_nodes_of_one_name_are_told_apart() -> None:
    before = pair("llama", "cpu")[1].clone()
    for one in before.graph:
        one.name = "twin"
    assert diff(before, before).is_empty
    assert diff(before, shuffled(before, 1)).is_empty


def with_branch(inner: str, *, outer: str = "Relu") -> ir.Model:
    """An If whose branches read a value from outside; ``inner`` is an operator of the first."""
    x, cond = value("x"), value("cond", [], ir.DataType.BOOL)
    first = node(outer, [x], "first")
    one = node(inner, [first.outputs[0]], "inside")
    two = node("Neg", [first.outputs[0]], "inside")
    branches = [ir.Graph([], [n.outputs[0]], nodes=[n], name=f"branch{i}") for i, n in enumerate((one, two))]
    made = ir.node(
        "If", [cond],
        {"then_branch": branches[0], "else_branch": branches[1]}, name="choose",
    )  # fmt: skip
    made.outputs[0].name = "y"
    return model([x, cond], [made.outputs[0]], [first, made])


def test_bodies_of_control_flow_are_compared() -> None:
    same = diff(with_branch("Exp"), renamed(with_branch("Exp")))
    assert same.is_empty and [info.graph for info in same.a] == ["", "", "choose / then_branch", "choose / else_branch"]
    found = diff(with_branch("Exp"), with_branch("Abs"))
    changed = [(e.status, found.info(e).op_type, found.info(e).graph) for e in found.entries if e.status != "same"]
    assert {graph for _, _, graph in changed} == {"choose / then_branch"}
    assert dict(found.counts)["same"] == 3


def test_a_loop_with_its_own_weights() -> None:
    def graph(number: float) -> ir.Model:
        x = value("x")
        i, go, state = value("i", [], ir.DataType.INT64), value("go", [], ir.DataType.BOOL), value("state")
        w = weight("w", np.array([number], np.float32))
        add = node("Add", [state, w], "add")
        body = ir.Graph([i, go, state], [go, add.outputs[0]], nodes=[add], initializers=[w], name="body")
        count = weight("count", np.array(3, np.int64))
        loop = ir.node("Loop", [count, None, x], {"body": body}, name="loop")
        loop.outputs[0].name = "y"
        return model([x], [loop.outputs[0]], [loop], [count])

    assert diff(graph(1), graph(1)).is_empty and diff(graph(1), renamed(graph(1))).is_empty
    (change,) = diff(graph(1), graph(2)).changes
    assert (change.what, change.where) == ("initializer", "w")


def test_sequences_and_optional_values() -> None:
    def graph(kind: Any) -> ir.Model:
        x = value("x")
        made = ir.node("SequenceConstruct", [x], name="seq")
        made.outputs[0].name, made.outputs[0].type = "s", kind
        return model([x], [made.outputs[0]], [made])

    sequence, optional = ir.SequenceType(ir.TensorType(FLOAT)), ir.OptionalType(ir.TensorType(FLOAT))
    found = diff(graph(sequence), graph(sequence))
    assert found.is_empty and found.a[0].types == ("sequence(float32)",)
    (change,) = [c for e in diff(graph(sequence), graph(optional)).entries for c in e.changes]
    assert (change.before, change.after) == ("sequence", "optional")


def test_a_cycle_is_named() -> None:
    broken = chain("Relu", "Exp", "Neg")
    broken.graph[0].replace_input_with(0, broken.graph[1].outputs[0])
    with pytest.raises(ModelFileError, match="cannot be compared: a cycle holds back .*0_Relu.*Export"):
        diff(broken, chain("Relu"))


def test_a_reader_of_nothing_is_named() -> None:
    broken = chain("Relu", "Exp")
    broken.graph[1].replace_input_with(0, ir.Value(name="ghost"))
    with pytest.raises(ModelFileError, match="needs 'ghost'"):
        diff(chain("Relu"), broken)


@pytest.mark.parametrize("bad", [None, 3, ["a"], {"model": 1}, object()])
def test_what_is_no_model_is_refused(bad: Any) -> None:
    with pytest.raises(ArgumentError, match="a must be an ir.Model, .*; found"):
        diff(bad, chain("Relu"))
    with pytest.raises(ArgumentError, match="b must be"):
        diff(chain("Relu"), bad)


@pytest.mark.parametrize("labels", ["ab", ("a",), ("a", 1), 3])
def test_labels_are_two_texts(labels: Any) -> None:
    with pytest.raises(ArgumentError, match="labels must be two texts"):
        diff(chain("Relu"), chain("Relu"), labels=labels)


def test_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="no such file or folder"):
        diff(tmp_path / "nothing", chain("Relu"))
    (tmp_path / "other").mkdir()
    with pytest.raises(ModelFileError, match="manifest"):
        diff(tmp_path / "other", chain("Relu"))
    for place in (tmp_path / "one.onnx", tmp_path / "other" / "model.onnx"):
        ir.save(chain("Relu", "Exp"), place)
    found = diff(tmp_path / "one.onnx", tmp_path / "other")
    assert found.is_empty and found.labels == ("one", "other")
    assert diff(tmp_path / "one.onnx", onnx.load(tmp_path / "one.onnx")).is_empty


def test_two_graphs_that_have_nothing_in_common_are_quickly_told() -> None:
    """27,000 nodes a side; a quadratic step anywhere would take hours."""
    found = diff(chain(*["Relu"] * 27_000), chain(*["Abs"] * 27_000))
    assert found.counts["removed"] == found.counts["added"] == 27_000
    again = diff(chain(*["Relu"] * 27_000), chain(*["Relu"] * 26_990), provenance=False)
    assert dict(again.counts) == {"same": 26_990, "changed": 0, "removed": 10, "added": 0}


def test_results_are_frozen_and_deterministic() -> None:
    generic, made = pair("gemma2", "webgpu")
    one, two = diff(generic, made), diff(generic, made)
    assert one == two and one.to_dict() == two.to_dict()
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.labels = ("x", "y")


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_a_value_that_is_listed_twice(side: str) -> None:
    twice = chain("Relu", "Exp")
    values = getattr(twice.graph, side)
    values.append(values[0])
    assert diff(twice, twice).is_empty
    (change,) = diff(twice, chain("Relu", "Exp")).changes
    assert (change.what, change.where) == (side[:-1], f"{values[0].name} is listed")
    assert (change.before, change.after) == ("2 x", "1 x")
    (change,) = diff(chain("Relu", "Exp"), twice).changes
    assert (change.before, change.after) == ("1 x", "2 x")


@pytest.mark.parametrize("given", [float("nan"), [1.0, float("nan")]])
def test_an_attribute_that_is_not_a_number_is_itself(given: Any) -> None:
    def graph(number: Any) -> ir.Model:
        made = chain("Relu", "Elu", "Exp")
        made.graph[1].attributes["alpha"] = ir.Attr("alpha", kind, number)
        return made

    kind = ir.AttributeType.FLOATS if isinstance(given, list) else ir.AttributeType.FLOAT
    assert diff(graph(given), graph(given)).is_empty
    other = [1.0, 2.0] if isinstance(given, list) else 2.0
    assert diff(graph(given), graph(other)).counts["changed"] == 1


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", ""])
def test_names_that_no_file_has(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFileError, match="no such file or folder|There is no ONNX file in it either"):
        diff(name, chain("Relu"))


def test_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "b\udcffd.onnx"
    try:
        ir.save(chain("Relu"), path)
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system has no such names")
    found = diff(path, chain("Exp"))
    assert found.labels[0] == "b?d"
    assert "b?d against" in found.save_html(tmp_path / "d.html").read_text("utf-8")


def test_weights_whose_data_is_gone_are_named_where_they_have_to_be_read(tmp_path: Path) -> None:
    x, w = value("x"), weight("w", np.ones((4, 4), np.float32))
    whole = model([x], [node("MatMul", [x, w]).outputs[0]], [], [w])
    whole.graph.append(whole.graph.outputs[0].producer())
    ir.save(whole, tmp_path / "m.onnx", external_data="m.data", size_threshold_bytes=0)
    (tmp_path / "m.data").unlink()
    assert diff(tmp_path / "m.onnx", tmp_path / "m.onnx").unread == ("w",)
    with pytest.raises(WeightsError, match="contents of 'w' cannot be read: .*m.data.*leave out read_weights"):
        diff(tmp_path / "m.onnx", tmp_path / "m.onnx", read_weights=True)


def test_a_damaged_proto_says_what_is_wrong_with_it() -> None:
    x, w = value("x"), weight("w", np.ones((4, 4), np.float32))
    last = node("MatMul", [x, w])
    proto = ir.to_proto(model([x], [last.outputs[0]], [last], [w]))
    proto.graph.initializer[0].data_type = 99
    with pytest.raises(ArgumentError, match="a is not a usable ModelProto: .*99"):
        diff(proto, chain("Relu"))
