"""merge_repeated does what onnx-ir's pass does, and a rewrite's order is told without sorting."""

from __future__ import annotations

import random

import onnx_ir as ir
import pytest
from onnx_ir.passes import common

from tests.property.drawing import sketch
from tests.property.mutations import mutate
from tests.unit.rules.graphs import applied, parsed
from workbench.passes.cleanup import sort_nodes
from workbench.passes.repeated import merge_repeated
from workbench.rules import RULES, Rule

X = "g (float[2] x) => (float[2] y)"
DIFFERENT = {
    "zero and minus zero": f"""{X} {{ a = Constant <value_float = 0.0> () b = Constant <value_float = -0.0> ()
      c = Div (x, a) d = Div (x, b) y = Sub (c, d) }}""",
    "two draws": f"{X} {{ a = Bernoulli (x) b = Bernoulli (x) y = Sub (a, b) }}",
    "two functions that draw": f"{X} {{ a = own.F (x) b = own.F (x) y = Sub (a, b) }}",
}
DRAWS = """<domain: "own", opset_import: ["" : 24, "own" : 1]> F (x) => (y) { y = own.G (x) }
<domain: "own", opset_import: ["" : 24]> G (x) => (y) { y = RandomNormalLike (x) }"""
HEADER = '<ir_version: 10, opset_import: ["" : 24]>'
PLAIN = "g (float[2] x) => (float[2] y) { a = Relu (x) b = Relu (x) y = Add (a, b) }"
BOTH_OUT = "g (float[2] x) => (float[2] y, float[2] z) { y = Relu (x) z = Relu (x) }"
SECOND_OUT = "g (float[2] x) => (float[2] y, float[2] z) { a = Relu (x) z = Relu (x) y = Neg (a) }"
CHAIN = "g (float[2] x) => (float[2] y) { a = Relu (x) b = Relu (x) c = Neg (a) d = Neg (b) y = Add (c, d) }"
RANDOM = """g () => (float[2] y) {
  a = RandomNormal <shape = [2]> () b = RandomNormal <shape = [2]> () y = Add (a, b) }"""
NUMBERS = """g (float[2] x) => (float[2] y) {
  a = Constant <value_ints = [1, 2]> () b = Constant <value_ints = [1, 2]> ()
  c = Constant <value = float[2] {1, 2}> () d = Constant <value = float[2] {1, 2}> ()
  e = Reshape (x, a) f = Reshape (x, b) g = Add (e, c) h = Add (f, d) y = Add (g, h) }"""
OTHER = 'g (float[2] x) => (float[2] y) { a = Gelu (x) b = Gelu <approximate = "tanh"> (x) y = Add (a, b) }'


def merged(model: ir.Model) -> tuple[str, str]:
    """The graph after onnx-ir's pass, and after ours."""
    theirs, ours = model.clone(), model.clone()
    common.CommonSubexpressionEliminationPass()(theirs)
    merge_repeated(ours)
    return tuple(str(ir.to_proto(one).graph) for one in (theirs, ours))


@pytest.mark.parametrize("text", [PLAIN, BOTH_OUT, SECOND_OUT, CHAIN, RANDOM, NUMBERS, OTHER])
def test_as_the_pass_of_onnx_ir(text: str) -> None:
    theirs, ours = merged(parsed(f"{HEADER} {text}"))
    assert ours == theirs


@pytest.mark.parametrize("text", DIFFERENT.values(), ids=list(DIFFERENT))
def test_what_is_not_the_same(text: str) -> None:
    model = parsed(f'<ir_version: 10, opset_import: ["" : 24, "own" : 1]> {text} {DRAWS}')
    before = [node.op_type for node in model.graph]
    merge_repeated(model)
    assert [node.op_type for node in model.graph] == before


def test_strings_are_told_apart_and_types_left_alone() -> None:
    """A type has no place in the parser's text."""
    kind = ir.AttrTypeProto("type", ir.TypeAndShape(ir.TensorType(ir.DataType.FLOAT), None))
    words = [ir.node("Constant", [], {"value": ir.tensor(["a" * 40, word])}) for word in ("b", "b", "c")]
    kinds = [ir.node("Optional", [], {"type": kind}) for _ in "xy"]
    nodes = [*words, *kinds]
    graph = ir.Graph([], [node.outputs[0] for node in nodes], nodes=nodes, opset_imports={"": 24})
    merge_repeated(ir.Model(graph, ir_version=10))
    assert [node.op_type for node in graph] == ["Constant", "Identity", "Constant", "Optional", "Optional"]


def test_an_output_that_is_left_out_stands_for_none() -> None:
    model = parsed(f"""{HEADER} g (float[4] x, int64[1] k) => (float[2] y, int64[2] i)
      {{ a, j = TopK (x, k) b, i = TopK (x, k) y = Add (a, b) }}""")
    model.graph[0].outputs[1].name = ""
    merge_repeated(model)
    assert [value.name for value in model.graph.outputs] == ["y", "i"]
    assert model.graph.outputs[1].producer() is not None and len(list(model.graph)) == 3


def test_as_the_pass_of_onnx_ir_on_random_graphs() -> None:
    """Mutations compute things twice."""
    changed = 0
    for seed in range(90):
        rng = random.Random(seed)
        model, _ = sketch(rng)
        for _ in range(4):
            mutate(model, rng)
        theirs, ours = merged(model)
        assert ours == theirs
        changed += ours != str(ir.to_proto(model).graph)
    assert changed >= 20


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_nodes_are_in_order_after_every_rule(rule: Rule) -> None:
    """Whether it sorted or told from the rewrites that it need not."""
    fired = 0
    for seed in range(40):
        model, _ = sketch(random.Random(seed), [rule.name], rule.name)
        after, report = applied(model, *rule.after, rule.name)
        fired += report.applied
        assert sort_nodes(after) == ()
    assert fired


def test_a_reader_between_a_sum_and_its_norm() -> None:
    """The sum is made by the fused norm, which stands behind the reader: here it has to be sorted."""
    model = parsed("""<ir_version: 10, opset_import: ["" : 24]>
      g (float[b, s, 8] x, float[b, s, 8] skip) => (float[b, s, 8] y, float[b, s, 8] z)
      <float[8] scale = {1, 1, 1, 1, 1, 1, 1, 1}>
      { sum = Add (x, skip) z = Neg (sum) y = RMSNormalization (sum, scale) }""")
    after, report = applied(model, "fuse/skip_rms_norm")
    assert report.applied == 1 and [node.op_type for node in after.graph][-1] == "Neg"
    assert sort_nodes(after) == ()
