"""fuse/moe, and the body that undoes it: the dense form of experts in one node, and what is another form."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.parity.running import distance
from tests.small import generic, numbers, on
from tests.unit.functions.test_contrib_bodies import DTYPES, INLINE, drawn, given_of, lowered, one_node
from tests.unit.rules.graphs import applied, each, nodes, only_miss, run
from workbench.types import MS_DOMAIN

RULE, BACK = "fuse/moe", "lower/ms_to_standard"
LAYERS = {"mixtral": 2, "qwen3_moe": 2}
"""Layers with experts in the small models: qwen3_moe's middle layer has none."""


@pytest.mark.parametrize("family", LAYERS)
def test_every_layer_with_experts(family: str) -> None:
    """Chosen weights that sum to 1, and the copies of the weights are gone."""
    model, role = generic(family)
    after, report = applied(model, RULE)
    assert (report.candidates, report.applied, report.misses) == (LAYERS[family], LAYERS[family], ())
    for node in nodes(after, "MoE", MS_DOMAIN):
        assert {name: a.value for name, a in node.attributes.items()} == {
            "k": 3, "activation_type": "swiglu", "swiglu_fusion": 1, "normalize_routing_weights": 1,
            "activation_alpha": 1.0, "activation_beta": 0.0,
        }  # fmt: skip
    made = on(model, role, "cpu")
    assert len(nodes(made, "MoE")) == LAYERS[family]
    stored = [name for name in made.graph.initializers if "gate_up_proj" in name]
    assert len(stored) == LAYERS[family] and all(name.endswith(".in_turn") for name in stored)
    assert distance(numbers(made, role), numbers(model, role)) <= 2e-5


@pytest.mark.parametrize("family", LAYERS)
@pytest.mark.parametrize("name", ["onnx-standard", "default", "dml", "webgpu", "trt-rtx"])
def test_and_back(family: str, name: str) -> None:
    model, role = generic(family)
    made = on(on(model, role, "cpu"), role, name)
    assert not nodes(made, "MoE", MS_DOMAIN) and len(nodes(made, "MoE")) == LAYERS[family] * (name == "default")
    assert name != "webgpu" or "Shape" not in {node.op_type for node in made.graph}
    assert distance(numbers(made, role), numbers(model, role)) <= 2e-5


def _without_sum(model: ir.Model) -> ir.Model:
    """The chosen weights as they are: they sum to less than 1."""
    clone = model.clone()
    for node in nodes(clone, "ScatterElements"):
        divided = node.inputs[2].producer()
        assert divided is not None and divided.op_type == "Div"
        node.replace_input_with(2, divided.inputs[0])
    return clone


def test_weights_that_do_not_sum_to_one() -> None:
    model, role = generic("mixtral")
    plain = _without_sum(model)
    after, report = applied(plain, RULE)
    assert report.applied == 2
    assert {n.attributes["normalize_routing_weights"].value for n in nodes(after, "MoE")} == {0}
    found = numbers(on(plain, role, "cpu"), role)
    assert distance(found, numbers(plain, role)) <= 2e-5
    assert distance(found, numbers(model, role)) > 1e-2  # the sum matters


def _set(op_type: str, name: str, value: int) -> Any:
    return lambda model: each(model, op_type, lambda n: n.attributes.__setitem__(name, ir.AttrInt64(name, value)))


def _as(op_type: str, other: str) -> Any:
    def change(node: ir.Node) -> None:
        node.op_type = other

    return lambda model: each(model, op_type, change)


def _of_itself(model: ir.Model) -> ir.Model:
    """The chosen weights are squared instead of divided by their sum."""

    def change(node: ir.Node) -> None:
        node.op_type = "Mul"
        node.replace_input_with(1, node.inputs[0])

    return each(model, "Div", change)


def _not_turned(node: ir.Node) -> None:
    weight = node.inputs[0]
    if weight is not None and weight.is_initializer() and len(weight.shape or ()) == 3:
        node.attributes["perm"] = ir.AttrInt64s("perm", [0, 1, 2])


NEAR_MISSES = {
    "no softmax": (_as("Softmax", "Sigmoid"), "precondition",
                   "the experts' probabilities are made by Sigmoid, and the kernel computes a softmax"),
    "smallest": (_set("TopK", "largest", 0), "precondition",
                 "the smallest probabilities are chosen, and the kernel takes the largest"),
    "squared": (_of_itself, "precondition",
                "the chosen weights are changed in another way than by dividing by their sum"),
    "other gates": (
        lambda model: each(model, "Sigmoid", lambda n: setattr(n, "op_type", "Tanh")), "precondition",
        "gates are opened by Mul, and the fused kernel does so by SiLU",
    ),
    "layout": (
        lambda model: each(model, "Transpose", _not_turned), "unmatched",
        "the experts' weights are not stored [N, out, in]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    change, kind, reason = NEAR_MISSES[name]
    model = change(generic("mixtral")[0].clone())
    after, report = applied(model, RULE)
    miss = only_miss(report)
    assert (report.candidates, miss.kind, miss.reason) == (2, kind, reason)
    assert not nodes(after, "MoE")


def test_planted() -> None:
    """Two layers, one of which chooses the smallest: 1 of 2 and one reason."""
    model = generic("mixtral")[0].clone()
    nodes(model, "TopK")[1].attributes["largest"] = ir.AttrInt64("largest", 0)
    _, report = applied(model, RULE)
    assert (report.candidates, report.applied, [m.kind for m in report.misses]) == (2, 1, ["precondition"])
    assert report.misses[0].scope == "model.layers.1.mlp.experts"


def test_other_sums_are_no_candidates() -> None:
    assert applied(generic("llama")[0], RULE)[1].candidates == 0


@DTYPES
@INLINE
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("normalised", [0, 1])
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("steep", [(1.0, 0.0), (1.702, 1.0)])
def test_the_body_against_the_kernel(
    axes: int, normalised: int, biases: bool, steep: tuple[float, float], inline: bool, dtype: Any
) -> None:
    rng, (N, F, E, B, S) = np.random.default_rng(4), (5, 24, 16, 2, 4)
    inputs: list[Any] = [
        ("x", drawn(rng, dtype, *((B, S, E) if axes == 3 else (B * S, E)))), ("r", drawn(rng, dtype, B * S, N)),
        ("w1", drawn(rng, dtype, N, 2 * F, E) / 4), ("b1", drawn(rng, dtype, N, 2 * F)) if biases else None,
        ("w2", drawn(rng, dtype, N, E, F) / 4), ("b2", drawn(rng, dtype, N, E)) if biases else None,
    ]  # fmt: skip
    inputs = inputs if biases else inputs[:5]
    model = one_node(
        "MoE", inputs, 1, k=2, activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=normalised,
        activation_alpha=steep[0], activation_beta=steep[1],
    )  # fmt: skip
    kernel, body = (run(g, given_of(inputs))["out0"] for g in (model, lowered(model, BACK, inline)))
    assert kernel.shape == body.shape
    limit = 5e-6 if dtype is np.float32 else 2e-2
    assert float(np.abs(kernel.astype(np.float64) - body).max()) <= limit * max(1.0, float(np.abs(kernel).max()))


MISSES = {
    "relu": (
        {"activation_type": "relu"}, "only experts with SwiGLU whose rows of gate and up stand in turn have a body",
    ),
    "halves": (
        {"swiglu_fusion": 2}, "only experts with SwiGLU whose rows of gate and up stand in turn have a body",
    ),
    "limit": (
        {"swiglu_limit": 7.0}, "it has a third weight, a limit or a sparse mixer, and no body is written for that",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_what_no_body_is_written_for(name: str) -> None:
    changes, reason = MISSES[name]
    rng = np.random.default_rng(4)
    inputs = [("x", drawn(rng, np.float32, 3, 8)), ("r", drawn(rng, np.float32, 3, 4)),
              ("w1", drawn(rng, np.float32, 4, 8, 8)), None, ("w2", drawn(rng, np.float32, 4, 8, 4))]  # fmt: skip
    words: dict[str, Any] = {"k": 1, "activation_type": "swiglu", "swiglu_fusion": 1, **changes}
    miss = only_miss(applied(one_node("MoE", inputs, 1, **words), BACK)[1])
    assert (miss.kind, miss.reason) == ("precondition", reason)
