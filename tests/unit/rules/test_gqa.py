"""fuse/gqa: what the kernel computes, what it cannot carry, and what only looks like it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, config, distance, each, feeds, llama, nodes, only_miss, run
from workbench.rules.graph import new
from workbench.types import MS_DOMAIN, SCOPE_KEY, OpId

LAYERS = 2


def gqa(model: ir.Model) -> list[ir.Node]:
    return nodes(model, "GroupQueryAttention", MS_DOMAIN)


# --- matches --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("changes", [{}, {"attention_scale": 0.4}, {"num_key_value_heads": 1, "head_dim": 32}])
@pytest.mark.parametrize("given", [{"past": 0}, {"past": 0, "right_padded": True}, {"past": 3}])
def test_rope_is_taken_in(changes: dict[str, float], given: dict[str, int]) -> None:
    of = config(**changes)
    model = llama(of)
    after, report = applied(model, "fuse/gqa")
    assert (report.candidates, report.applied, report.misses, report.partial) == (LAYERS, LAYERS, (), ())
    assert not nodes(after, "Attention") and not nodes(after, "RotaryEmbedding")
    for node in gqa(after):
        found = {name: attribute.value for name, attribute in node.attributes.items()}
        assert found == {
            "num_heads": of.num_attention_heads, "kv_num_heads": of.num_key_value_heads,
            "scale": pytest.approx(of.scale(0)), "do_rotary": 1, "rotary_interleaved": 0,
        }  # fmt: skip
    assert _valid_distance(model, after, feeds(of, **given)) <= 1e-5


def _valid_distance(model: ir.Model, after: ir.Model, given: dict[str, np.ndarray]) -> float:
    """Padded positions hold what they like: only the last row's real part is compared."""
    if given["attention_mask"].all():
        return distance(model, after, given)
    one, two = run(model, given)["logits"], run(after, given)["logits"]
    return float(np.abs(one - two)[given["attention_mask"][:, -one.shape[1] :] == 1].max())


def test_each_layer_keeps_its_scope_and_says_what_it_replaced() -> None:
    model = llama()
    names = {node.name for node in model.graph}
    after, _ = applied(model, "fuse/gqa")
    for layer, node in enumerate(gqa(after)):
        assert node.metadata_props[SCOPE_KEY] == f"model.layers.{layer}.self_attn"
        replaced = node.metadata_props["ep_workbench.replaces"].split()
        assert set(replaced) <= names
        assert [name.split("/")[-1].split("_node")[0] for name in replaced].count("RotaryEmbedding") == 2


def test_shapes_and_types_are_set() -> None:
    after, _ = applied(llama(), "fuse/gqa")
    for node in gqa(after):
        shapes = [[str(d) for d in value.shape] for value in node.outputs]
        assert shapes == [
            ["batch_size", "sequence_length", "64"],
            *[["batch_size", "2", "total_sequence_length", "16"]] * 2,
        ]
        assert all(value.dtype == ir.DataType.FLOAT for value in node.outputs)


def test_window_and_cap_are_carried() -> None:
    of = config(sliding_window=3, attn_logit_softcapping=1.5)
    model = llama(of)
    after, report = applied(model, "fuse/gqa")
    assert report.applied == LAYERS
    for node in gqa(after):
        assert (node.attributes["local_window_size"].value, node.attributes["softcap"].value) == (3, 1.5)
    assert distance(model, after, feeds(of)) <= 1e-5
    assert distance(llama(config(attn_logit_softcapping=1.5)), after, feeds(of)) > 1e-3  # the window bites


def test_any_padding_becomes_a_bias() -> None:
    of = config(sliding_window=3)
    model = llama(of)
    after, report = applied(model, "fuse/gqa", padding="any")
    assert report.applied == LAYERS
    assert [miss.reason for miss in report.partial] == [
        "RoPE stays outside: padding='any' needs the positions as an input"
    ] * LAYERS
    assert all(node.inputs[10] is not None and "local_window_size" not in node.attributes for node in gqa(after))
    given = feeds(of, past=0)
    given["attention_mask"][-1, :2] = 0  # padded on the left
    given["position_ids"] = np.maximum(np.cumsum(given["attention_mask"], axis=1) - 1, 0)
    assert _valid_distance(model, after, given) <= 1e-5


# --- RoPE that stays outside ----------------------------------------------------------------------------
def _other_positions(node: ir.Node) -> None:
    node.replace_input_with(3, _input(node, "other_positions", ir.DataType.INT64, ["batch_size", "sequence_length"]))


def _input(node: ir.Node, name: str, dtype: ir.DataType, shape: list[int | str]) -> ir.Value:
    graph = node.graph
    assert isinstance(graph, ir.Graph)
    found = [value for value in graph.inputs if value.name == name]
    if not found:
        found = [ir.Value(name=name, type=ir.TensorType(dtype), shape=ir.Shape(shape))]
        graph.inputs.append(found[0])
    return found[0]


def test_rope_stays_outside_with_the_reason() -> None:
    model = each(llama(), "RotaryEmbedding", _other_positions)
    after, report = applied(model, "fuse/gqa")
    assert report.applied == LAYERS
    assert {(miss.kind, miss.reason) for miss in report.partial} == {
        ("fact", "RoPE stays outside: its positions are not those that the mask is made from")
    }
    assert len(nodes(after, "RotaryEmbedding")) == 2 * LAYERS
    assert all("do_rotary" not in node.attributes for node in gqa(after))
    given = feeds(config())
    assert distance(model, after, given | {"other_positions": given["position_ids"] + 7}) <= 1e-5


def test_tables_that_the_kernel_cannot_read_stay_outside() -> None:
    of = config(head_dim=24)
    model = llama(of)
    after, report = applied(model, "fuse/gqa")
    assert {miss.reason for miss in report.partial} == {
        "RoPE stays outside: its tables are 12 wide and the kernel needs a multiple of 8"
    }
    assert distance(model, after, feeds(of)) <= 1e-5


def test_a_kernel_that_does_not_rotate_leaves_rope_outside() -> None:
    model = llama()
    after, report = applied(model, "fuse/gqa", allows="softcap local_window")
    assert {miss.reason for miss in report.partial} == {"RoPE stays outside: the kernel does not rotate"}
    assert distance(model, after, feeds(config())) <= 1e-5


def test_without_rope_there_is_nothing_to_leave() -> None:
    of = config(rope=None)
    model = llama(of)
    after, report = applied(model, "fuse/gqa")
    assert (report.applied, report.partial) == (LAYERS, ())
    assert distance(model, after, feeds(of)) <= 1e-5


def test_only_one_of_them_rotated_stays_outside() -> None:
    model = llama()
    for node in nodes(model, "RotaryEmbedding")[::2]:  # the queries
        node.outputs[0].replace_all_uses_with(node.inputs[0])
    after, report = applied(model, "fuse/gqa")
    assert {miss.reason for miss in report.partial} == {"RoPE stays outside: only one of query and key is rotated"}
    assert distance(model, after, feeds(config())) <= 1e-5


@pytest.mark.parametrize("head_dim", [10, 20])
def test_heads_that_the_kernel_refuses_keep_their_attention(head_dim: int) -> None:
    of = config(head_dim=head_dim)
    after, report = applied(llama(of), "fuse/gqa")
    assert (report.applied, gqa(after)) == (0, [])
    assert {(miss.kind, miss.reason) for miss in report.misses} == {
        ("precondition", f"heads hold {head_dim} numbers and the kernel needs a multiple of 8")
    }


# --- misses ---------------------------------------------------------------------------------------------
def _set(name: str, value: int | float) -> Callable[[ir.Node], None]:
    def change(node: ir.Node) -> None:
        node.attributes[name] = ir.AttrInt64(name, value) if isinstance(value, int) else ir.AttrFloat32(name, value)

    return change


def _float_mask(node: ir.Node) -> None:
    shape: list[int | str] = ["batch_size", 1, "sequence_length", "total_sequence_length"]
    node.replace_input_with(3, _input(node, "bias", ir.DataType.FLOAT, shape))


def _given_mask(node: ir.Node) -> None:
    shape: list[int | str] = ["batch_size", 1, "sequence_length", "total_sequence_length"]
    node.replace_input_with(3, _input(node, "given", ir.DataType.BOOL, shape))


def _negated_mask(node: ir.Node) -> None:
    flipped = new(OpId("Not"), [node.inputs[3]], like=[node.inputs[3]])
    assert node.graph is not None
    node.graph.insert_before(node, flipped)
    node.replace_input_with(3, flipped.outputs[0])


def _no_mask(node: ir.Node) -> None:
    node.replace_input_with(3, None)


def _no_cache(node: ir.Node) -> None:
    node.replace_input_with(4, None)
    node.replace_input_with(5, None)


def _used_scores(node: ir.Node) -> None:
    node.resize_outputs(4)
    node.outputs[3].name = f"{node.name}:scores"
    assert isinstance(node.graph, ir.Graph)
    node.graph.outputs.append(node.outputs[3])


NEAR_MISSES = {
    "float bias": (
        _float_mask, "precondition",
        "attn_mask is a float bias added to the scores (made by a graph input), as in ALiBi or relative positions; "
        "GroupQueryAttention's causal mask would drop it",
    ),
    "given mask": (
        _given_mask, "unmatched",
        "attn_mask is made by a graph input, not by CausalMask or SlidingWindowMask",
    ),
    "negated mask": (
        _negated_mask, "unmatched", "attn_mask is made by Not, not by CausalMask or SlidingWindowMask",
    ),
    "no mask": (
        _no_mask, "unmatched", "attention has no mask from which the rows' lengths could be taken",
    ),
    "no cache": (_no_cache, "precondition", "attention has no key/value cache"),
    "scores are read": (
        _used_scores, "precondition", "somebody reads the attention scores (output 3), which the kernel does not give",
    ),
    "causal twice": (_set("is_causal", 1), "unmatched", "is_causal is set beside a mask"),
    "softmax in float16": (
        _set("softmax_precision", int(ir.DataType.FLOAT16)), "precondition",
        "softmax_precision is not float32, in which the kernel computes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    change, kind, reason = NEAR_MISSES[name]
    model = each(llama(), "Attention", change)
    before = [node.op_type for node in model.graph]
    after, report = applied(model, "fuse/gqa")
    assert report.candidates == LAYERS
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == (kind, reason)
    assert [miss.scope for miss in report.misses] == [f"model.layers.{i}.self_attn" for i in range(LAYERS)]
    assert [node.op_type for node in after.graph] == before


@pytest.mark.parametrize(
    ("changes", "allows", "padding", "reason"),
    [
        ({"attn_logit_softcapping": 2.5}, "do_rotary", "right", "the kernel does not apply softcap (2.5)"),
        ({"sliding_window": 5}, "do_rotary", "right", "the kernel has no sliding window (5 tokens)"),
        (
            {}, "do_rotary", "any",
            "padding='any' needs the mask as a bias, which the kernel does not take",
        ),
    ],
)  # fmt: skip
def test_what_the_kernel_cannot_carry_is_a_fact(
    changes: dict[str, float], allows: str, padding: str, reason: str
) -> None:
    _, report = applied(llama(config(**changes)), "fuse/gqa", allows=allows, padding=padding)
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == ("fact", reason)


def test_features_that_are_not_needed_are_not_asked_for() -> None:
    _, report = applied(llama(), "fuse/gqa", allows="")
    assert report.applied == LAYERS
