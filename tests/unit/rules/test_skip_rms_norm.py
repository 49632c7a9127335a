"""fuse/skip_rms_norm: a residual sum and its norm in one node, the sum as the fourth output."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, config, distance, feeds, llama, nodes, only_miss, parsed
from workbench.types import MS_DOMAIN

SKIP = "SkipSimplifiedLayerNormalization"
NORM = "y = RMSNormalization <axis = -1, epsilon = 0.003> (sum, scale)"


def graph(
    body: str = f"sum = Add (x, skip) {NORM}",
    x: str = "float[b, s, 8]",
    skip: str = "float[b, s, 8]",
    out: str = "float[b, s, 8]",
    scale: str = "float[8] scale = {1.5, 0.5, -1, 2, 0.1, 3, 1, 1}",
    outputs: str = "",
) -> ir.Model:
    text = (
        f'<ir_version: 10, opset_import: ["" : 23]> g ({x} x, {skip} skip) => ({out} y{outputs}) <{scale}> {{ {body} }}'
    )
    return parsed(text)


def arrays(x: tuple[int, ...] = (2, 3, 8), skip: tuple[int, ...] = (2, 3, 8)) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {"x": rng.standard_normal(x, np.float32), "skip": rng.standard_normal(skip, np.float32)}


def test_sum_and_norm_become_one_node() -> None:
    model = graph()
    after, report = applied(model, "fuse/skip_rms_norm")
    assert (report.candidates, report.applied) == (1, 1)
    (node,) = after.graph
    assert (node.op_type, node.domain) == (SKIP, MS_DOMAIN)
    assert node.attributes["epsilon"].value == pytest.approx(0.003)
    assert distance(model, after, arrays()) <= 1e-5


def test_rank_two_is_enough() -> None:
    model = graph(x="float[s, 8]", skip="float[s, 8]", out="float[s, 8]")
    after, report = applied(model, "fuse/skip_rms_norm")
    assert report.applied == 1
    assert distance(model, after, arrays((3, 8), (3, 8))) <= 1e-5


def test_the_sum_has_other_readers() -> None:
    """As in every decoder layer: the next residual reads it, and here it is an output as well."""
    model = graph(
        f"sum = Add (x, skip) {NORM} twice = Add (sum, sum)", outputs=", float[b, s, 8] twice, float[b, s, 8] sum"
    )
    after, report = applied(model, "fuse/skip_rms_norm")
    assert report.applied == 1
    assert [value.name for value in after.graph.outputs] == ["y", "twice", "sum"]
    assert {value.dtype for value in after.graph.outputs} == {ir.DataType.FLOAT}
    assert distance(model, after, arrays()) <= 1e-5


def test_twice_in_each_layer_of_a_llama() -> None:
    model = llama()
    after, report = applied(model, "fuse/skip_rms_norm")
    assert (report.candidates, report.applied) == (4, 4)
    assert len(nodes(after, "RMSNormalization")) == 1  # the first has no sum before it
    assert distance(model, after, feeds(config())) <= 1e-5


def test_a_second_norm_of_one_sum_is_left() -> None:
    second = "z = RMSNormalization <axis = -1> (sum, scale)"
    model = graph(f"sum = Add (x, skip) {NORM} {second}", outputs=", float[b, s, 8] z")
    after, report = applied(model, "fuse/skip_rms_norm")
    assert (report.candidates, report.applied) == (2, 1)
    assert [(miss.kind, miss.reason) for miss in report.misses] == [
        ("precondition", "another norm of the same sum has taken it already")
    ]
    assert distance(model, after, arrays()) <= 1e-5


def test_a_norm_of_something_else_is_no_candidate() -> None:
    _, report = applied(graph(f"sum = Mul (x, skip) {NORM}"), "fuse/skip_rms_norm")
    assert (report.candidates, report.misses) == (0, ())


NEAR_MISSES = {
    "broadcast": (
        {"skip": "float[8]"},
        "the summands are not of one known shape of rank 2 or 3 ([b,s,8] and [8])",
    ),
    "unknown shape": (
        {"body": f"w = Identity (x) sum = Add (w, skip) {NORM}"},
        "the summands are not of one known shape of rank 2 or 3 (None and [b,s,8])",
    ),
    "rank four": (
        {"x": "float[a, b, s, 8]", "skip": "float[a, b, s, 8]", "out": "float[a, b, s, 8]"},
        "the summands are not of one known shape of rank 2 or 3 ([a,b,s,8] and [a,b,s,8])",
    ),
    "two axes": (
        {
            "body": "sum = Add (x, skip) y = RMSNormalization <axis = 1> (sum, scale)",
            "x": "float[b, 2, 4]", "skip": "float[b, 2, 4]", "out": "float[b, 2, 4]",
            "scale": "float[2, 4] scale = {1, 2, 3, 4, 5, 6, 7, 8}",
        },
        "it does not normalise the last axis alone",
    ),
    "float16 statistics": (
        {"body": "sum = Add (x, skip) y = RMSNormalization <axis = -1, stash_type = 10> (sum, scale)"},
        "stash_type is not float32, in which the kernel computes",
    ),
    "scale of another dtype": (
        {
            "body": "scale = CastLike (scale64, one) sum = Add (x, skip) y = RMSNormalization <axis = -1> (sum, scale)",
            "scale": "double[8] scale64 = {1, 2, 3, 4, 5, 6, 7, 8}, double[1] one = {1}",
        },
        "summands, scale and output differ in dtype (FLOAT, FLOAT, None)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    words, reason = NEAR_MISSES[name]
    model = graph(**words)
    before = [node.op_type for node in model.graph]
    after, report = applied(model, "fuse/skip_rms_norm")
    miss = only_miss(report)
    assert (report.candidates, miss.kind) == (1, "precondition")
    assert miss.reason == reason
    assert [node.op_type for node in after.graph] == before
