"""fuse/mha and fuse/packed_attention: encoders' attention in one node; near misses are left with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.cases import seeded_weights
from tests.golden_ops import SIZES
from tests.unit.rules.graphs import applied, each, nodes, only_miss, parsed, run
from workbench.models import lookup
from workbench.tasks import get_task
from workbench.types import MS_DOMAIN, GraphOptions

RULE, PACKED_RULE, LAYERS = "fuse/mha", "fuse/packed_attention", 2
FORMS = {"key_padding_mask": "key_padding_mask", "bias": "attention_bias", "both": "key_padding_mask attention_bias"}


def bert() -> ir.Model:
    spec = lookup("bert")
    config = spec.read({"model_type": "bert", **SIZES, "max_position_embeddings": 64})
    module = spec.module(config, ir.DataType.FLOAT)
    shapes = {name: tuple(map(int, parameter.shape)) for name, parameter in module.named_parameters()}
    module.load_state_dict({name: ir.tensor(array) for name, array in seeded_weights(shapes, 5).items()})
    return get_task(spec.task).build(module, config, ir.DataType.FLOAT, GraphOptions())["model"]


def tokens() -> dict[str, np.ndarray]:
    rng, mask = np.random.default_rng(1), np.ones((2, 9), np.int64)
    mask[1, 6:] = 0
    return {
        "input_ids": rng.integers(0, SIZES["vocab_size"], (2, 9)), "attention_mask": mask,
        "token_type_ids": rng.integers(0, 2, (2, 9)),
    }  # fmt: skip


def real_distance(before: ir.Model, after: ir.Model) -> float:
    """Tokens of padding hold what they like."""
    given = tokens()
    one, two = (run(model, given)["last_hidden_state"] for model in (before, after))
    assert np.isfinite(two).all()
    return float(np.abs(one - two)[given["attention_mask"] == 1].max())


@pytest.mark.parametrize("form", FORMS)
def test_every_layer_of_a_bert(form: str) -> None:
    model = bert()
    after, report = applied(model, RULE, allows=FORMS[form])
    assert (report.candidates, report.applied, report.misses) == (LAYERS, LAYERS, ())
    assert not nodes(after, "Attention")
    for node in nodes(after, "MultiHeadAttention", MS_DOMAIN):
        assert {name: a.value for name, a in node.attributes.items()} == {"num_heads": 4, "scale": 0.25}
        assert (node.inputs[4] is not None) == ("key_padding_mask" in FORMS[form])
    assert real_distance(model, after) <= 1e-5


def test_padding_is_seen() -> None:
    """The same graph without the mask differs: the test above could fail."""
    model = bert()
    after, _ = applied(model, RULE)
    each(after, "MultiHeadAttention", lambda node: node.replace_input_with(4, None))
    assert real_distance(model, after) > 1e-3


@pytest.mark.parametrize("form", ["key_padding_mask", "bias"])
def test_packed(form: str) -> None:
    model = bert()
    before, _ = applied(model, RULE, allows=FORMS[form])
    after, report = applied(before, PACKED_RULE)
    assert (report.candidates, report.applied, report.misses) == (LAYERS, LAYERS, ())
    assert not nodes(after, "MultiHeadAttention") and len(nodes(after, "Attention", MS_DOMAIN)) == LAYERS
    assert len(nodes(before, "MatMul")) - len(nodes(after, "MatMul")) == 3 * LAYERS
    assert real_distance(model, after) <= 1e-5


HEADER = '<ir_version: 10, opset_import: ["" : 24, "ep_workbench" : 1, "com.microsoft" : 1]>'


def attention(
    call: str = "(q, k, v)", attributes: str = "", kv: int = 64, more: str = "", outputs: str = "y"
) -> ir.Model:
    return parsed(f"""{HEADER}
      g (float[b, s, 64] q, float[b, s, {kv}] k, float[b, s, {kv}] v{more}) => (float[b, s, 64] y)
      {{ {outputs} = Attention <q_num_heads = 4, kv_num_heads = {kv // 16} {attributes}> {call} }}""")


MASK = ", bool[b, 1, s, s] mask"
NEAR_MISSES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "grouped": ({"kv": 32}, "", "precondition", "4 query heads share 2 key heads, and the kernel has one for each"),
    "capped": (
        {"attributes": ", softcap = 2.0"}, "", "precondition", "scores are capped, which the kernel does not do",
    ),
    "causal": (
        {"attributes": ", is_causal = 1"}, "", "precondition",
        "it is causal, and no encoder of ours is: only what every token may see is fused",
    ),
    "scores are read": (
        {"outputs": "y, keys, values, scores", "call": "(q, k, v)"}, "scores", "precondition",
        "somebody reads keys, values or scores, or the lengths of keys are given",
    ),
    "another mask": (
        {"call": "(q, k, v, mask)", "more": MASK}, "key_padding_mask attention_bias", "unmatched",
        "attn_mask is made by a graph input, not by PaddingMask",
    ),
    "a bias that the kernel does not take": (
        {"call": "(q, k, v, mask)", "more": MASK.replace("bool", "float")}, "key_padding_mask", "fact",
        "a bias is added to the scores, which the kernel does not take",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    words, allows, kind, reason = NEAR_MISSES[name]
    model = attention(**words)
    if allows == "scores":
        model.graph.outputs.append(model.graph.node(0).outputs[3])
    after, report = applied(model, RULE, allows=allows)
    miss = only_miss(report)
    assert (report.candidates, miss.kind, miss.reason) == (1, kind, reason)
    assert [node.op_type for node in after.graph] == ["Attention"]


def test_a_kernel_that_takes_no_mask_at_all() -> None:
    miss = only_miss(applied(bert(), RULE, allows="")[1])
    assert (miss.kind, miss.reason) == ("fact", "the kernel takes neither the keys' padding nor a bias")


def test_a_cache_is_no_candidate() -> None:
    more = ", float[b, 4, p, 16] past"
    model = attention("(q, k, v, , past, past)", more=more, outputs="y, pk, pv")
    assert applied(model, RULE)[1].candidates == 0


@pytest.mark.parametrize("call", ["(q, k, v)", "(q, k, v, mask)"])
@pytest.mark.parametrize("scale", ["", ", scale = 0.4"])
def test_without_a_mask_or_with_a_float_one(call: str, scale: str) -> None:
    model = attention(call, scale, more=MASK.replace("bool", "float"))
    after, report = applied(model, RULE)
    assert report.applied == 1
    rng = np.random.default_rng(3)
    given = {name: rng.standard_normal((2, 5, 64), np.float32) for name in "qkv"}
    given["mask"] = rng.standard_normal((2, 1, 5, 5), np.float32)
    assert np.abs(run(model, given)["y"] - run(after, given)["y"]).max() <= 1e-5


def test_planted() -> None:
    """Two layers, one capped: 1 of 2 and one reason."""
    model = bert()
    nodes(model, "Attention")[0].attributes["softcap"] = ir.AttrFloat32("softcap", 3.0)
    _, report = applied(model, RULE)
    assert (report.candidates, report.applied, [m.kind for m in report.misses]) == (2, 1, ["precondition"])
    assert report.misses[0].scope == "layers.0.self_attn"


def _drop_bias(node: ir.Node, which: int) -> None:
    add = node.inputs[which].producer()
    assert add is not None and add.op_type == "Add"
    node.replace_input_with(which, add.inputs[0])
    assert add.graph is not None
    add.graph.remove(add, safe=True)


PACKED_MISSES = {
    "no bias at all": ((0, 1, 2), "query, key and value have no bias, and the kernel wants one"),
    "one without": ((1,), "only some of query, key and value have a bias"),
}


@pytest.mark.parametrize("name", PACKED_MISSES)
def test_projections_that_do_not_pack(name: str) -> None:
    which, reason = PACKED_MISSES[name]
    before, _ = applied(bert(), RULE)
    for index in which:
        _drop_bias(nodes(before, "MultiHeadAttention")[0], index)
    _, report = applied(before, PACKED_RULE)
    assert (report.candidates, report.applied) == (LAYERS, LAYERS - 1)
    assert [(m.kind, m.reason) for m in report.misses] == [("precondition", reason)]


def test_a_mask_that_the_packed_kernel_does_not_take() -> None:
    before, _ = applied(bert(), RULE, allows="attention_bias")
    miss = only_miss(applied(before, PACKED_RULE, allows="mask")[1])
    assert (miss.kind, miss.reason) == ("fact", "the kernel does not take the attention_bias of this attention")
