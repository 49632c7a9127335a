"""fuse/pack_qkv: three projections of one input become one MatMul, and everything else is left alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, config, distance, feeds, llama, nodes, only_miss
from workbench.passes.fold import fold
from workbench.rules.graph import new
from workbench.types import OpId

LAYERS = 2
Change = Callable[[ir.Model], None]


@pytest.mark.parametrize("changes", [{}, {"attention_bias": True}, {"num_key_value_heads": 1}, {"head_dim": 32}])
def test_one_matmul_for_three(changes: dict[str, bool | int]) -> None:
    of = config(**changes)
    model = llama(of)
    before, _ = applied(model, "fuse/gqa")
    after, report = applied(model, "fuse/gqa", "fuse/pack_qkv")
    assert (report.candidates, report.applied, report.misses) == (LAYERS, LAYERS, ())
    assert len(nodes(after, "MatMul")) == len(nodes(before, "MatMul")) - 2 * LAYERS
    for node in nodes(after, "GroupQueryAttention"):
        assert node.inputs[1] is node.inputs[2] is None
        packed = node.inputs[0]
        assert packed is not None and packed.shape is not None
        assert packed.shape[-1] == (of.num_attention_heads + 2 * of.num_key_value_heads) * of.head_dim
    assert distance(model, after, feeds(of)) <= 1e-5


def test_the_packed_weight_is_one_initializer_after_folding() -> None:
    model = llama(config(attention_bias=True))
    after, _ = applied(model, "fuse/gqa", "fuse/pack_qkv")
    fold(after, inline=False)
    names = [name for name in after.graph.initializers if "q_proj" in name]
    assert names == [
        f"model.layers.{i}.self_attn.q_proj+k_proj+v_proj.{part}"
        for i in range(LAYERS) for part in ("weight.T", "bias")
    ]  # fmt: skip
    weight = after.graph.initializers[names[0]].const_value
    parts = [model.graph.initializers[f"model.layers.0.self_attn.{n}_proj.weight"].const_value for n in ("q", "k", "v")]
    expected = np.concatenate([part.numpy() for part in parts if part is not None]).T
    assert weight is not None and np.array_equal(weight.numpy(), expected)
    assert distance(model, after, feeds(config())) <= 1e-5


def _q(model: ir.Model, layer: int) -> ir.Node:
    """The MatMul of a layer's query."""
    weight = model.graph.initializers[f"model.layers.{layer}.self_attn.q_proj.weight"]
    transpose = next(iter(weight.uses())).node
    return next(iter(transpose.outputs[0].uses())).node


def _other_input(model: ir.Model) -> None:
    for layer in range(LAYERS):
        node = _q(model, layer)
        negated = new(OpId("Neg"), [node.inputs[0]], like=[node.inputs[0]])
        model.graph.insert_before(node, negated)
        node.replace_input_with(0, negated.outputs[0])


def _scaled_query(model: ir.Model) -> None:
    for layer in range(LAYERS):
        node = _q(model, layer)
        scaled = new(OpId("Neg"), node.outputs, like=node.outputs)
        node.outputs[0].replace_all_uses_with(scaled.outputs[0])
        scaled.replace_input_with(0, node.outputs[0])
        model.graph.insert_after(node, scaled)


def _another_reader(model: ir.Model) -> None:
    model.graph.outputs.extend(_q(model, layer).outputs[0] for layer in range(LAYERS))


def _computed_weight(model: ir.Model) -> None:
    for layer in range(LAYERS):
        node = _q(model, layer)
        transpose = node.inputs[1].producer()
        assert transpose is not None
        negated = new(OpId("Neg"), transpose.inputs, like=transpose.inputs)
        model.graph.insert_before(transpose, negated)
        transpose.replace_input_with(0, negated.outputs[0])


def _bias_for_the_query_only(model: ir.Model) -> None:
    for layer in range(LAYERS):
        node = _q(model, layer)
        name = f"bias.{layer}"
        bias = ir.Value(name=name, const_value=ir.tensor(np.full(64, 0.5, np.float32), name=name))
        bias.dtype, bias.shape = ir.DataType.FLOAT, ir.Shape([64])
        model.graph.initializers.add(bias)
        add = new(OpId("Add"), [node.outputs[0], bias], like=node.outputs)
        node.outputs[0].replace_all_uses_with(add.outputs[0])
        add.replace_input_with(0, node.outputs[0])
        model.graph.insert_after(node, add)


def _each_add(change: Callable[[ir.Model, ir.Node], None]) -> Change:
    """A change to the Add of each bias."""

    def changed(model: ir.Model) -> None:
        for node in nodes(model, "Add"):
            bias = node.inputs[1]
            if bias is not None and (bias.name or "").endswith("_proj.bias"):
                change(model, node)

    return changed


def _of_three_axes(model: ir.Model, node: ir.Node) -> None:
    bias = node.inputs[1]
    assert bias is not None and bias.const_value is not None
    bias.const_value = ir.tensor(bias.const_value.numpy()[None, None], name=bias.name)
    bias.shape = bias.const_value.shape


def _the_same_again(model: ir.Model) -> None:
    """A weight that is transposed to itself; it is square, so nothing else shows it."""
    for layer in range(LAYERS):
        transpose = _q(model, layer).inputs[1].producer()
        assert transpose is not None
        transpose.attributes["perm"] = ir.AttrInt64s("perm", [0, 1])


NEAR_MISSES: dict[str, tuple[Change, str, str]] = {
    "other input": (_other_input, "precondition", "query, key and value project different inputs"),
    "something between": (
        _scaled_query, "precondition", "query: it is made by Neg, not by a projection's MatMul",
    ),
    "another reader": (_another_reader, "precondition", "query: the projection has another reader"),
    "computed weight": (_computed_weight, "unmatched", "query: the weight is not an initializer"),
    "turned to itself": (_the_same_again, "unmatched", "query: the weight is transposed to what it was"),
    "one bias": (_bias_for_the_query_only, "precondition", "only some of query, key and value have a bias"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    change, kind, reason = NEAR_MISSES[name]
    model = llama()
    change(model)
    after, report = applied(model, "fuse/gqa", "fuse/pack_qkv")
    miss = only_miss(report)
    assert (report.candidates, miss.kind, miss.reason) == (LAYERS, kind, reason)
    assert [miss.scope for miss in report.misses] == [f"model.layers.{i}.self_attn" for i in range(LAYERS)]
    assert distance(model, after, feeds(config())) <= 1e-5


def test_a_bias_in_front_of_the_product() -> None:
    """Exporters write it in either order."""
    model = llama(config(attention_bias=True))

    def swapped(_: ir.Model, node: ir.Node) -> None:
        product, bias = node.inputs
        node.replace_input_with(0, bias)
        node.replace_input_with(1, product)

    _each_add(swapped)(model)
    after, report = applied(model, "fuse/gqa", "fuse/pack_qkv")
    assert (report.applied, report.misses) == (LAYERS, ())
    assert distance(model, after, feeds(config())) <= 1e-5


def test_a_bias_that_is_no_row() -> None:
    """Joined along their first axis, three of them would be something else."""
    model = llama(config(attention_bias=True))
    _each_add(_of_three_axes)(model)
    after, report = applied(model, "fuse/gqa", "fuse/pack_qkv")
    miss = only_miss(report)
    reason = "query: what is added is not one number for each column of the projection"
    assert (report.candidates, miss.kind, miss.reason) == (LAYERS, "precondition", reason)
    assert distance(model, after, feeds(config())) <= 1e-5


def test_rope_outside_keeps_the_projections_apart() -> None:
    _, report = applied(llama(), "fuse/gqa", "fuse/pack_qkv", allows="packed_qkv")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == (
        "precondition", "query: it is made by RotaryEmbedding, not by a projection's MatMul",
    )  # fmt: skip


def test_a_packed_one_is_no_candidate() -> None:
    _, report = applied(llama(), "fuse/gqa", "fuse/pack_qkv", "fuse/pack_qkv")
    assert (report.candidates, report.misses) == (0, ())
