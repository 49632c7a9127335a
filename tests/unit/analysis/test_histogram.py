"""Counting nodes: control flow, functions, overloads, paths and packages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest
from onnx import helper, parser

from workbench.analysis.histogram import OpHistogram, histogram
from workbench.errors import ModelFileError, UnsupportedError
from workbench.types import OpId

CONTROL_FLOW = """<ir_version: 10, opset_import: ["": 17]>
g (bool c, float[2] x, float[3,2] rows) => (float[2] y, float[3,2] ys)
   <float k = {2}, int64 n3 = {3}> {
   i = If (c) <
      then_branch = then () => (float[2] t) {
         lt = Loop (n3, "", x) <body = body (int64 it, bool cond_in, float[2] acc_in) => (bool cond_out, float[2] acc_out) {
            t1 = Mul (acc_in, k)
            acc_out = Add (t1, x)
            cond_out = Identity (cond_in)
         }>
         t = Relu (lt)
      },
      else_branch = else () => (float[2] e) { e0 = Neg (x) e = Add (e0, k) }
   >
   fin, ys = Scan (i, rows) <num_scan_inputs = 1, body = scan (float[2] st, float[2] row) => (float[2] st2, float[2] o) {
      st2 = Add (st, row)
      o = Identity (st2)
   }>
   y = Add (fin, k)
}"""  # noqa: E501

FUNCTIONS = """<ir_version: 10, opset_import: ["": 18, "local": 1]>
g (int64[N] x) => (int64[N] y) { z = local.shift_by <step = 7> (x) y = local.shift_by <step = 1> (z) }
<domain: "local", opset_import: ["": 18]>
plus <amount> (a) => (b) { k = Constant <value_int: int = @amount> () b = Add (a, k) }
<domain: "local", opset_import: ["": 18, "local": 1]>
shift_by <step> (a) => (b) { b = local.plus <amount: int = @step> (a) }
<domain: "local", opset_import: ["": 18]>
never_called (a) => (b) { b = Sin (a) }"""


def names(counts: OpHistogram) -> dict[str, int]:
    return {str(op): n for op, n in counts.counts.items()}


def test_subgraphs_of_if_loop_and_scan_are_counted_at_every_depth() -> None:
    found = histogram(parser.parse_model(CONTROL_FLOW))
    assert names(found) == {
        "Add": 4,
        "Identity": 2,
        "If": 1,
        "Loop": 1,
        "Mul": 1,
        "Neg": 1,
        "Relu": 1,
        "Scan": 1,
    }
    assert found.total == 12


def test_without_recursion_only_the_main_graph_counts() -> None:
    model = parser.parse_model(CONTROL_FLOW)
    assert names(histogram(model, recursive=False)) == {"Add": 1, "If": 1, "Scan": 1}


def test_a_function_body_counts_once_however_often_it_is_called() -> None:
    model = parser.parse_model(FUNCTIONS)
    assert names(histogram(model)) == {
        "local.shift_by": 2,
        "Add": 1,
        "Constant": 1,
        "local.plus": 1,
    }
    assert names(histogram(model, recursive=False)) == {"local.shift_by": 2}


def test_overloads_are_two_bodies_of_one_operator() -> None:
    bodies = [
        helper.make_function(
            "local",
            "f",
            ["a"],
            ["b"],
            [helper.make_node(op, ["a"], ["b"])],
            [helper.make_opsetid("", 18)],
            overload=overload,
        )
        for op, overload in (("Sin", "one"), ("Cos", "two"))
    ]
    calls = [helper.make_node("f", ["x"], [f"y{o}"], domain="local", overload=o) for o in ("one", "two")]
    x = helper.make_tensor_value_info("x", 1, [2])
    outputs = [helper.make_tensor_value_info(f"y{o}", 1, [2]) for o in ("one", "two")]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    graph = helper.make_graph(calls, "g", [x], outputs)
    model = helper.make_model(graph, functions=bodies, opset_imports=opsets, ir_version=10)
    assert names(histogram(model)) == {"local.f": 2, "Cos": 1, "Sin": 1}


def test_the_long_name_of_the_standard_domain_is_the_short_one() -> None:
    x, y = (helper.make_tensor_value_info(name, 1, [2]) for name in "xy")
    nodes = [helper.make_node("Relu", ["x"], ["t"]), helper.make_node("Relu", ["t"], ["y"], domain="ai.onnx")]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]))
    assert names(histogram(model)) == {"Relu": 2}


def test_order_is_by_count_then_by_name() -> None:
    counts = OpHistogram({OpId("B"): 2, OpId("C"): 5, OpId("A", "z"): 2, OpId("A"): 2})
    assert list(names(counts)) == ["C", "A", "z.A", "B"]
    assert counts.to_frame().to_numpy().tolist() == [["", "C", 5], ["", "A", 2], ["z", "A", 2], ["", "B", 2]]
    assert list(counts.to_frame().columns) == ["domain", "op_type", "count"]
    assert (counts.count("A"), counts.count("A", "z"), counts.count("A", ""), counts.count("Q")) == (
        4,
        2,
        2,
        0,
    )


def test_difference_keeps_only_what_changes() -> None:
    before = OpHistogram({OpId("Add"): 3, OpId("Mul"): 2})
    after = OpHistogram({OpId("Add"): 3, OpId("Gelu", "com.microsoft"): 1})
    change = after - before
    assert repr(change) == "OpDifference(Mul -2, com.microsoft.Gelu +1)"
    assert change.to_frame().to_numpy().tolist() == [["", "Mul", -2], ["com.microsoft", "Gelu", 1]]
    assert change.total == -1
    assert not (before - before)
    assert repr(before - before) == "OpDifference(no operator changes)"


def test_repr_is_short_and_html_is_escaped() -> None:
    counts = OpHistogram({OpId("<b>&"): 1, **{OpId(f"Op{i}"): 10 + i for i in range(5)}})
    assert repr(counts) == "OpHistogram(61 nodes, 6 operators: Op4 14, Op3 13, Op2 12, Op1 11, ...)"
    assert "&lt;b&gt;&amp;" in counts._repr_html_()
    assert "<b>&" not in counts._repr_html_()


def test_equal_counts_are_equal_and_hash_the_same() -> None:
    one, two = (OpHistogram(dict(pairs)) for pairs in ([(OpId("A"), 1), (OpId("B"), 1)],) * 2)
    assert one == two
    assert hash(one) == hash(two)


class TestSources:
    def test_proto_ir_path_and_package_give_the_same(self, tmp_path: Path) -> None:
        proto = parser.parse_model(CONTROL_FLOW)
        onnx.save(proto, tmp_path / "model.onnx")
        model = ir.from_proto(proto)

        class Wrapped:
            def __init__(self) -> None:
                self.model = model

        expected = histogram(proto)
        for source in (model, tmp_path / "model.onnx", str(tmp_path / "model.onnx"), tmp_path, Wrapped()):
            assert histogram(source) == expected, source
        assert histogram({"model": model}) == expected

    def test_weights_that_are_absent_do_not_matter(self, tmp_path: Path) -> None:
        weight = helper.make_tensor("w", 1, [4], bytes(16), raw=True)
        x, y = (helper.make_tensor_value_info(name, 1, [4]) for name in "xy")
        graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weight])
        options = {"save_as_external_data": True, "location": "w.bin", "size_threshold": 0}
        onnx.save(helper.make_model(graph), tmp_path / "m.onnx", **options)
        (tmp_path / "w.bin").unlink()
        assert names(histogram(tmp_path / "m.onnx")) == {"Add": 1}

    def test_a_package_of_two_models_is_refused_with_their_names(self) -> None:
        model = ir.from_proto(parser.parse_model(CONTROL_FLOW))
        with pytest.raises(UnsupportedError, match=r"holds 2 models \(vision, decoder\).*package\[NAME\]"):
            histogram({"vision": model, "decoder": model})

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"There is no ONNX file '.*nothing\.onnx'"):
            histogram(tmp_path / "nothing.onnx")

    def test_unreadable_file(self, tmp_path: Path) -> None:
        (tmp_path / "bad.onnx").write_bytes(b"\xff\xfenot onnx")
        with pytest.raises(ModelFileError, match=r"bad\.onnx' is not a readable ONNX model: .*complete"):
            histogram(tmp_path / "bad.onnx")

    def test_something_else(self) -> None:
        with pytest.raises(UnsupportedError, match=r"from a int\. Give an ir\.Model"):
            histogram(3)


def test_random_nested_models_agree_with_a_count_over_the_file() -> None:
    """The same sum taken another way: every op_type field of a NodeProto in the serialized model."""
    model = parser.parse_model(CONTROL_FLOW)

    def walk(nodes: object) -> Counter[str]:
        found: Counter[str] = Counter()
        for node in nodes:
            found[node.op_type] += 1
            for attribute in node.attribute:
                for graph in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]:
                    found += walk(graph.node)
        return found

    assert names(histogram(model)) == dict(walk(model.graph.node))
