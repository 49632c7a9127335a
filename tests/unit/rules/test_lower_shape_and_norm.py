"""lower/eliminate_shape and lower/simplify_rms_norm."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, config, distance, feeds, llama, nodes, only_miss, parsed, run
from workbench.passes.fold import fold
from workbench.types import GraphOptions


def shape_graph(attributes: str = "start = 1, end = 2", x: str = "int64[b, s]", out: int = 1) -> ir.Model:
    return parsed(f"""<ir_version: 10, opset_import: ["" : 23]>
      g ({x} x) => (int64[{out}] y) {{ y = Shape <{attributes}> (x) }}""")


@pytest.mark.parametrize("attributes", ["start = 1, end = 2", "start = 1", "start = -1"])
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_a_length_is_counted(attributes: str, dtype: str) -> None:
    model = shape_graph(attributes, f"{dtype}[b, s]")
    after, report = applied(model, "lower/eliminate_shape")
    assert (report.candidates, report.applied) == (1, 1)
    assert not nodes(after, "Shape")
    for batch, length in ((1, 1), (3, 7)):
        x = np.random.default_rng(1).integers(-9, 9, (batch, length)).astype(dtype)
        assert run(after, {"x": x})["y"].tolist() == [length]
        assert distance(model, after, {"x": x}) == 0


@pytest.mark.parametrize(
    ("attributes", "x", "out", "reason"),
    [
        ("", "int64[b, s]", 2, "only the length of a matrix's second axis is counted, not axes 0 to None of [b,s]"),
        ("end = 1", "int64[b, s]", 1, "only the length of a matrix's second axis is counted, not axes 0 to 1 of [b,s]"),
        (
            "start = 1, end = 2", "int64[b, s, 3]", 1,
            "only the length of a matrix's second axis is counted, not axes 1 to 2 of [b,s,3]",
        ),
        ("start = 1", "float[b, s]", 1, "counting needs an integer input, found FLOAT"),
    ],
)  # fmt: skip
def test_another_shape_is_left_with_the_reason(attributes: str, x: str, out: int, reason: str) -> None:
    after, report = applied(shape_graph(attributes, x, out), "lower/eliminate_shape")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == ("unmatched", reason)
    assert len(nodes(after, "Shape")) == 1


@pytest.mark.parametrize("index_dtype", [ir.DataType.INT64, ir.DataType.INT32])
@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("given", [{"past": 0}, {"past": 0, "right_padded": True}, {"past": 3}, {"past": 3, "new": 1}])
def test_masks_and_lengths_get_bodies_without_shape(
    index_dtype: ir.DataType, window: int | None, given: dict[str, int]
) -> None:
    of = config(sliding_window=window)
    model = llama(of, options=GraphOptions(index_dtype=index_dtype))
    arrays = feeds(of, **given)
    if index_dtype == ir.DataType.INT32:
        arrays = {name: a.astype(np.int32) if a.dtype == np.int64 else a for name, a in arrays.items()}
    fused, _ = applied(model, "fuse/gqa")
    for before in (model, fused):  # the mask of an attention, and the lengths of a fused one
        after, report = applied(before, "lower/eliminate_shape")
        assert report.candidates == report.applied > 0
        assert not {"Shape", "Range"} & _ops_everywhere(after)
        assert distance(before, after, arrays) == 0  # only counting changed


def _ops_everywhere(model: ir.Model) -> set[str]:
    inlined = model.clone()
    fold(inlined, inline=True)
    return {node.op_type for node in inlined.graph}


def test_a_function_that_has_lost_its_shape_is_no_candidate() -> None:
    _, report = applied(llama(), "lower/eliminate_shape", "lower/eliminate_shape")
    assert (report.candidates, report.applied) == (0, 0)


# --- simplify_rms_norm ----------------------------------------------------------------------------------
def norm(attributes: str) -> ir.Model:
    return parsed(f"""<ir_version: 10, opset_import: ["" : 23]>
      g (float[b, s, 8] x) => (float[b, s, 8] y) <float[8] w = {{1, 2, 3, 4, -5, 6, 7, 0.1}}>
      {{ y = RMSNormalization <{attributes}> (x, w) }}""")


@pytest.mark.parametrize("attributes", ["", "epsilon = 0.01", "axis = 2, epsilon = 0.5", "stash_type = 1"])
def test_the_older_name_for_the_same_norm(attributes: str) -> None:
    model = norm(attributes)
    after, report = applied(model, "lower/simplify_rms_norm")
    assert (report.candidates, report.applied) == (1, 1)
    assert [(node.op_type, node.domain) for node in after.graph] == [("SimplifiedLayerNormalization", "")]
    x = np.random.default_rng(2).standard_normal((2, 3, 8), np.float32)
    assert distance(model, after, {"x": x}) <= 1e-5


def test_statistics_in_float16_are_left() -> None:
    _, report = applied(norm("stash_type = 10"), "lower/simplify_rms_norm")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == ("precondition", "stash_type is not float32, in which the kernel computes")
