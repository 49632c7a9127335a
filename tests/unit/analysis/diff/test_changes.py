"""What is told about matched nodes and about the graphs: each kind of change, and what is folded into one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.analysis.diff.graphs import chain, filled, model, node, pair, recipe, value, weight
from workbench.analysis.diff import Change, GraphDiff, diff
from workbench.ep import get_ep

FP16 = ir.DataType.FLOAT16


def changes(found: GraphDiff) -> list[Change]:
    return [change for entry in found.entries for change in entry.changes]


def edited(before: ir.Model, edit: Callable[[ir.Model], object]) -> GraphDiff:
    after = before.clone()
    edit(after)
    return diff(before, after)


def test_attributes_change_come_and_go() -> None:
    x = value("x")
    before = model([x], [], [made := node("Softmax", [x], "s", axis=1)])
    before.graph.outputs.append(made.outputs[0])

    def edit(after: ir.Model) -> None:
        after.graph[0].attributes["axis"] = ir.AttrInt64("axis", 0)
        after.graph[0].attributes["note"] = ir.AttrString("note", "new")

    assert changes(edited(before, edit)) == [
        Change("attribute", "axis", "1", "0"),
        Change("attribute", "note", "", "new"),
    ]


def test_the_default_of_the_standard_is_no_change() -> None:
    x = value("x")
    before = model([x], [], [made := node("Softmax", [x], "s", axis=-1)])
    before.graph.outputs.append(made.outputs[0])
    assert edited(before, lambda after: after.graph[0].attributes.pop("axis")).is_empty


def test_tensor_attributes_are_compared_by_content() -> None:
    def graph(number: float) -> ir.Model:
        made = node("Constant", [], "c", value=ir.Tensor(np.array([1.0, number], np.float32), name="t"))
        return model([], [made.outputs[0]], [made])

    assert diff(graph(2.0), graph(2.0)).is_empty
    (change,) = changes(diff(graph(2.0), graph(3.0)))
    assert (change.what, change.where) == ("attribute", "value")
    assert change.before.endswith("[1.0, 2.0]") and change.after.endswith("[1.0, 3.0]")


def test_another_operator_of_the_same_name_in_the_same_place() -> None:
    generic, _ = pair("llama", "cpu")
    after = generic.clone()
    for one in after.graph:
        if one.op_type == "Sigmoid":
            one.op_type = "Tanh"
            break
    (change,) = changes(diff(generic, after))
    assert change == Change("op_type", "operator", "Sigmoid", "Tanh")


def test_shape_and_dtype_of_one_value() -> None:
    def edit(after: ir.Model) -> None:
        after.graph[1].outputs[0].shape = ir.Shape(["B", 8])
        after.graph[2].outputs[0].type = ir.TensorType(ir.DataType.INT64)

    found = edited(chain("Relu", "Exp", "Neg", "Abs"), edit)
    assert changes(found) == [
        Change("shape", "output", "[B, 4]", "[B, 8]"),
        Change("dtype", "output", "float32", "int64"),
    ]


def test_unknown_types_are_no_difference() -> None:
    def edit(after: ir.Model) -> None:
        for one in list(after.graph)[:-1]:
            one.outputs[0].type = one.outputs[0].shape = None

    assert edited(chain("Relu", "Exp", "Neg", "Abs"), edit).is_empty


def test_inputs_and_outputs_of_the_graph() -> None:
    def edit(after: ir.Model) -> None:
        after.graph.inputs.append(value("more", ["B"]))
        after.graph.outputs[0].name = "z"
        after.graph.inputs[0].shape = ir.Shape(["B", 5])

    assert list(edited(chain("Relu", "Exp"), edit).changes) == [
        Change("input", "x shape", "[B, 4]", "[B, 5]"),
        Change("input", "more", "", "float32[B]"),
        Change("output", "name", "y", "z"),
    ]


def test_the_order_of_inputs() -> None:
    a, b = value("a"), value("b")
    made = node("Add", [a, b], "add")
    before = model([a, b], [made.outputs[0]], [made])

    def swap(after: ir.Model) -> None:
        after.graph.inputs.append(after.graph.inputs.pop(0))

    (change,) = edited(before, swap).changes
    assert change == Change("input", "order from position 0", "a, b", "b, a")


def test_an_output_that_another_node_makes() -> None:
    def edit(after: ir.Model) -> None:
        old = after.graph.outputs[0]
        old.name, after.graph[0].outputs[0].name = "was_y", "y"
        after.graph.outputs[0] = after.graph[0].outputs[0]

    before = chain("Relu", "Exp")
    before.graph.outputs.append(before.graph[0].outputs[0])
    after = before.clone()
    after.graph.outputs[0], after.graph.outputs[1] = after.graph.outputs[1], after.graph.outputs[0]
    names = [v.name for v in before.graph.outputs]
    for one, name in zip(after.graph.outputs, names):
        one.name = f"{name}?"
    for one, name in zip(after.graph.outputs, names):
        one.name = name
    found = diff(before, after, provenance=False)
    assert {c.where for c in found.changes} == {"y is made by", f"{names[1]} is made by"}


def test_opsets() -> None:
    found = edited(chain("Relu"), lambda after: after.graph.opset_imports.update({"": 21, "mine": 2}))
    assert list(found.changes) == [Change("opset", "ai.onnx", "23", "21"), Change("opset", "mine", "", "2")]


def with_weight(array: Any, name: str = "w") -> ir.Model:
    x, w = value("x"), weight(name, array)
    made = node("Mul", [x, w], "mul")
    return model([x], [made.outputs[0]], [made], [w])


@pytest.mark.parametrize(
    ("array", "before", "after"),
    [
        (np.ones(4, np.float64), "float32[4]", "double[4]"),
        (np.ones((1, 4), np.float32), "float32[4]", "float32[1, 4]"),
    ],
)
def test_weights_of_another_dtype_or_shape(array: Any, before: str, after: str) -> None:
    found = diff(with_weight(np.ones(4, np.float32)), with_weight(array))
    assert list(found.changes) == [Change("initializer", "w", before, after)]
    assert not changes(found)


def test_weights_of_other_content_and_name() -> None:
    found = diff(with_weight(np.ones(4, np.float32)), with_weight(np.zeros(4, np.float32), "v"))
    (change,) = found.changes
    assert (change.what, change.where) == ("initializer", "w")
    assert change.before != change.after and change.before.startswith("float32[4] #")
    assert found.counts["same"] == 1


def test_lazy_weights_are_not_computed_unless_asked() -> None:
    def lazy(number: float) -> ir.Model:
        made = with_weight(np.zeros(4, np.float32))
        asked: list[int] = []

        def compute() -> Any:
            asked.append(1)
            return ir.Tensor(np.full(4, number, np.float32))

        tensor = ir.LazyTensor(compute, dtype=ir.DataType.FLOAT, shape=ir.Shape([4]), name="w")
        made.graph.initializers["w"].const_value = tensor
        made.metadata_props["asked"] = ""
        made.meta["asked"] = asked
        return made

    one, other = lazy(1.0), lazy(2.0)
    found = diff(one, other)
    assert found.is_empty and found.unread == ("w",) and not one.meta["asked"] + other.meta["asked"]
    assert "1 weight" in repr(found.summary())
    assert [c.what for c in diff(one, other, read_weights=True).changes] == ["initializer"]
    assert not diff(one, one).unread


def test_large_weights_are_sampled_and_it_is_said() -> None:
    big = np.zeros(1 << 18, np.float32)
    other = big.copy()
    other[0] = 1
    hidden = big.copy()
    hidden[5000] = 1  # between two blocks of the sample
    assert diff(with_weight(big), with_weight(big)).sampled == ("w",)
    assert [c.what for c in diff(with_weight(big), with_weight(other)).changes] == ["initializer"]
    assert diff(with_weight(big), with_weight(hidden)).is_empty
    assert not diff(with_weight(big), with_weight(hidden), read_weights=True).is_empty


def test_a_graph_converted_to_another_dtype_is_one_change() -> None:
    made = recipe("llama").package(get_ep("cpu"), ir.DataType.FLOAT).model
    half = recipe("llama").package(get_ep("cpu"), FP16).model
    found = diff(made, half)
    assert set(found.counts.values()) == {0, found.counts["same"]}
    assert found.changes[0] == Change("dtype", "of all values", "float32", "float16")
    rest = {(c.what, c.before, c.after) for c in found.changes[1:]}
    assert rest == {("input", "float32", "float16"), ("output", "float32", "float16")}
    assert len(found.changes) == 6  # logits, keys and values in and out; the layers stand together


def test_a_value_that_goes_another_way_than_all_others_is_told() -> None:
    before = chain("Relu", "Exp", "Neg", "Abs", "Sqrt")

    def edit(after: ir.Model) -> None:
        for one in after.graph:
            one.outputs[0].type = ir.TensorType(FP16)
        after.graph[2].outputs[0].type = ir.TensorType(ir.DataType.INT32)

    found = edited(before, edit)
    assert changes(found) == [Change("dtype", "output", "float32", "int32")]


def test_renamed_and_fixed_dimensions_are_one_change() -> None:
    def edit(after: ir.Model) -> None:
        for one in after.graph:
            one.outputs[0].shape = ir.Shape([1, 4])
        after.graph.inputs[0].shape = ir.Shape([1, 4])

    found = edited(chain("Relu", "Exp", "Neg", "Abs"), edit)
    assert list(found.changes) == [Change("shape", "dimension", "B", "1")] and not changes(found)


def test_packages_are_compared_by_their_settings_too() -> None:
    one = recipe("llama").package(get_ep("cpu"), ir.DataType.FLOAT)
    other = recipe("llama").package(get_ep("webgpu"), ir.DataType.FLOAT)
    found = diff(one, other)
    assert found.labels == ("cpu", "webgpu") and not found.unexplained
    assert Change("config", "execution_provider", "cpu", "webgpu") in found.changes
    again = diff(one, dataclasses.replace(one, padding="any"))
    assert list(again.changes) == [Change("config", "padding", "right", "any")]
    assert diff(one, one).is_empty


def test_a_weight_that_was_filled_is_read_where_it_is_at_hand() -> None:
    graph = filled(pair("llama", "onnx-standard")[1])
    assert not diff(graph, graph).unread
