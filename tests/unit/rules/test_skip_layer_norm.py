"""fuse/skip_layer_norm: a residual sum and its norm in one node; what only looks like one is left with the reason."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.families import hf_config
from tests.unit.rules.graphs import applied, distance, nodes, only_miss, parsed
from workbench.models import lookup
from workbench.tasks import get_task
from workbench.types import MS_DOMAIN, GraphOptions

RULE, SKIP = "fuse/skip_layer_norm", "SkipLayerNormalization"
SCALE, BIAS = "float[8] scale = {1.5, 0.5, -1, 2, 0.1, 3, 1, 1}", "float[8] bias = {1, -2, 3, 0.5, 0.1, 0, 4, 5}"
NORM = "y = LayerNormalization <axis = -1, epsilon = 0.003> (sum, scale, bias)"


def graph(
    body: str = f"sum = Add (x, skip) {NORM}",
    skip: str = "float[b, s, 8]",
    weights: str = f"{SCALE}, {BIAS}",
    outputs: str = "float[b, s, 8] y",
) -> ir.Model:
    return parsed(
        f'<ir_version: 10, opset_import: ["" : 20]> g (float[b, s, 8] x, {skip} skip) => ({outputs}) <{weights}> '
        f"{{ {body} }}"
    )


def arrays(skip: tuple[int, ...] = (2, 3, 8)) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {"x": rng.standard_normal((2, 3, 8), np.float32), "skip": rng.standard_normal(skip, np.float32)}


@pytest.mark.parametrize("bias", [True, False])
def test_sum_and_norm_become_one_node(bias: bool) -> None:
    """The kernel's beta is optional: a norm without a bias has none."""
    model = graph() if bias else graph(f"sum = Add (x, skip) {NORM.replace(', bias', '')}", weights=SCALE)
    after, report = applied(model, RULE)
    assert (report.candidates, report.applied) == (1, 1)
    (node,) = after.graph
    assert (node.op_type, node.domain, len(node.inputs)) == (SKIP, MS_DOMAIN, 4 if bias else 3)
    assert node.attributes["epsilon"].value == pytest.approx(0.003)
    assert distance(model, after, arrays()) <= 1e-5


def test_the_sum_has_other_readers() -> None:
    model = graph(
        f"sum = Add (x, skip) {NORM} twice = Add (sum, sum)",
        outputs="float[b, s, 8] y, float[b, s, 8] twice, float[b, s, 8] sum",
    )
    after, report = applied(model, RULE)
    assert report.applied == 1
    assert [value.name for value in after.graph.outputs] == ["y", "twice", "sum"]
    assert distance(model, after, arrays()) <= 1e-5


def test_a_biased_summand_keeps_its_other_reader() -> None:
    """MatMul, bias, residual, norm: the bias stays where it is, and so does whoever else reads the biased value."""
    model = parsed(f"""<ir_version: 10, opset_import: ["" : 20]>
      g (float[b, s, 8] x, float[b, s, 8] skip) => (float[b, s, 8] y, float[b, s, 8] gate)
      <{SCALE}, {BIAS}, float[b, s, 8] biased> {{
        biased = Add (x, bias) gate = Sigmoid (biased) sum = Add (skip, biased) {NORM} }}""")
    after, report = applied(model, RULE)
    assert report.applied == 1
    (node,) = nodes(after, SKIP)
    assert [value.name for value in node.inputs[:2]] == ["skip", "biased"]
    assert distance(model, after, arrays()) <= 1e-5


@pytest.mark.parametrize("order", ["x, bias", "bias, x"])
def test_a_norm_of_a_biased_value_is_no_candidate(order: str) -> None:
    _, report = applied(graph(f"sum = Add ({order}) {NORM}"), RULE)
    assert (report.candidates, report.misses) == (0, ())


def test_a_norm_of_a_constant_sum_is_no_candidate() -> None:
    body = f"c = Constant <value_floats = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> () sum = Add (x, c) {NORM}"
    assert applied(graph(body), RULE)[1].candidates == 0


@pytest.mark.parametrize("family", ["gpt2", "phi", "gpt_neox", "stablelm", "bloom", "bert"])
def test_families_with_layer_norm(family: str) -> None:
    """Each norm but those without a residual sum before them; two norms of one sum share it, and one is left."""
    spec, dtype = lookup(family), ir.DataType.FLOAT
    config = spec.config(hf_config(family).to_dict())
    model = get_task(spec.task).build(spec.module(config, dtype), config, dtype, GraphOptions())["model"]
    sums = [norm.inputs[0].producer() for norm in nodes(model, "LayerNormalization")]
    added = [node for node in sums if node is not None and node.op_type == "Add"]
    residuals = [node for node in added if not any(v is not None and v.is_initializer() for v in node.inputs)]
    after, report = applied(model, RULE)
    assert report.candidates == len(residuals) > 0
    assert report.applied == len({id(p) for p in residuals}) == len(nodes(after, SKIP))


NEAR_MISSES = {
    "broadcast": ({"skip": "float[8]"}, "the summands are not of one known shape of rank 2 or 3 ([b,s,8] and [8])"),
    "scale of rank 3": (
        {"weights": f"float[1, 1, 8] scale = {{1, 2, 3, 4, 5, 6, 7, 8}}, {BIAS}"},
        "scale is not of rank 1 ([1,1,8]), and the kernel takes no other",
    ),
    "bias of rank 3": (
        {"weights": f"{SCALE}, float[1, 1, 8] bias = {{1, 2, 3, 4, 5, 6, 7, 8}}"},
        "bias is not of rank 1 ([1,1,8]), and the kernel takes no other",
    ),
    "two axes": (
        {"body": "sum = Add (x, skip) y = LayerNormalization <axis = 1> (sum, scale, bias)"},
        "it does not normalise the last axis alone",
    ),
    "float16 statistics": (
        {"body": "sum = Add (x, skip) y = LayerNormalization <axis = -1, stash_type = 10> (sum, scale, bias)"},
        "stash_type is not float32, in which the kernel computes",
    ),
    "mean is read": (
        {
            "body": "sum = Add (x, skip) y, mean = LayerNormalization <axis = -1> (sum, scale, bias)",
            "outputs": "float[b, s, 8] y, float[b, s, 1] mean",
        },
        "somebody reads the mean or the deviation, which the kernels do not give",
    ),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    words, reason = NEAR_MISSES[name]
    model = graph(**words)
    before = [node.op_type for node in model.graph]
    after, report = applied(model, RULE)
    miss = only_miss(report)
    assert (report.candidates, miss.kind, miss.reason) == (1, "precondition", reason)
    assert [node.op_type for node in after.graph] == before
