"""lower/rotary_to_ms, lower/separate_rope and lower/unpack_qkv: attention taken apart for kernels that want it so."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, config, distance, feeds, llama, nodes, only_miss, parsed
from workbench.types import MS_DOMAIN

HEADS, SIZE = 3, 16


def rotary(
    attributes: str = f"num_heads = {HEADS}",
    x: str = f"float[b, s, {HEADS * SIZE}]",
    width: int = SIZE // 2,
    call: str = "(x, cos, sin, positions)",
    tables: str = "",
) -> ir.Model:
    table = tables or f"float[32, {width}]"
    return parsed(f"""<ir_version: 10, opset_import: ["" : 23]>
      g ({x} x, {table} cos, {table} sin, int64[b, s] positions) => ({x} y)
      {{ y = RotaryEmbedding <{attributes}> {call} }}""")


def rotary_arrays(shape: tuple[int, ...] = (2, 4, HEADS * SIZE), width: int = SIZE // 2) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(6)
    angles = rng.standard_normal((32, width), np.float32)
    positions = rng.integers(0, 32, (2, 4))
    return {
        "x": rng.standard_normal(shape, np.float32),
        "cos": np.cos(angles),
        "sin": np.sin(angles),
        "positions": positions,
    }


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("dim", [0, 8])
def test_rotary_of_the_standard_becomes_that_of_ms(interleaved: int, dim: int) -> None:
    width = (dim or SIZE) // 2
    attributes = f"num_heads = {HEADS}, interleaved = {interleaved}, rotary_embedding_dim = {dim}"
    model = rotary(attributes, width=width)
    after, report = applied(model, "lower/rotary_to_ms")
    assert (report.candidates, report.applied) == (1, 1)
    assert [node.domain for node in after.graph] == [MS_DOMAIN]
    assert distance(model, after, rotary_arrays(width=width)) <= 1e-5


def test_rotary_of_four_axes() -> None:
    shape = (2, HEADS, 4, SIZE)
    model = rotary("interleaved = 0", x=f"float[b, {HEADS}, s, {SIZE}]")
    after, report = applied(model, "lower/rotary_to_ms")
    assert report.applied == 1
    assert distance(model, after, rotary_arrays(shape)) <= 1e-5


def test_gathered_tables_are_left() -> None:
    after, report = applied(rotary(call="(x, cos, sin)", tables=f"float[b, s, {SIZE // 2}]"), "lower/rotary_to_ms")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == (
        "unmatched", "its tables are gathered already, there are no positions to pass on",
    )  # fmt: skip
    assert [node.domain for node in after.graph] == [""]


def test_three_axes_need_the_number_of_heads() -> None:
    _, report = applied(rotary("interleaved = 0"), "lower/rotary_to_ms")
    assert only_miss(report).reason == "num_heads is not set for an input of three axes"


# --- separate_rope --------------------------------------------------------------------------------------
@pytest.mark.parametrize("given", [{"past": 0}, {"past": 3}])
@pytest.mark.parametrize(
    "changes", [{}, {"sliding_window": 3, "attn_logit_softcapping": 1.5, "num_key_value_heads": 1}]
)
def test_rope_leaves_the_attention(given: dict[str, int], changes: dict[str, int]) -> None:
    of = config(**changes)
    model = llama(of)
    fused, _ = applied(model, "fuse/gqa")
    after, report = applied(fused, "lower/separate_rope")
    assert (report.candidates, report.applied) == (2, 2)
    assert len(nodes(after, "RotaryEmbedding", MS_DOMAIN)) == 4
    kept = {"num_heads", "kv_num_heads", "scale", "local_window_size", "softcap"}
    assert all(set(node.attributes) <= kept for node in nodes(after, "GroupQueryAttention"))
    assert distance(model, after, feeds(of, **given)) <= 1e-5


def test_rope_is_no_candidate_where_nothing_rotates() -> None:
    _, report = applied(llama(), "fuse/gqa", "lower/separate_rope", allows="softcap")
    assert (report.candidates, report.applied) == (0, 0)


def test_rope_of_a_packed_attention_is_left() -> None:
    _, report = applied(llama(), "fuse/gqa", "fuse/pack_qkv", "lower/separate_rope")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == ("unmatched", "query, key and value are packed; unpack them first")


def test_rope_needs_the_graphs_positions() -> None:
    fused, _ = applied(llama(), "fuse/gqa")
    fused.graph.inputs.remove(next(value for value in fused.graph.inputs if value.name == "position_ids"))
    _, report = applied(fused, "lower/separate_rope")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == (
        "unmatched", "the graph has no int64 input position_ids from which to rotate outside",
    )  # fmt: skip


# --- unpack_qkv -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("changes", [{}, {"attention_bias": True}, {"num_key_value_heads": 1, "head_dim": 32}])
def test_packed_inputs_are_cut_apart(changes: dict[str, bool | int]) -> None:
    of = config(**changes)
    model = llama(of)
    packed, _ = applied(model, "fuse/gqa", "fuse/pack_qkv")
    after, report = applied(packed, "lower/unpack_qkv")
    assert (report.candidates, report.applied) == (2, 2)
    for node in nodes(after, "GroupQueryAttention"):
        sizes = [value.shape[-1] for value in node.inputs[:3]]
        kv = of.num_key_value_heads * of.head_dim
        assert sizes == [of.num_attention_heads * of.head_dim, kv, kv]
    assert distance(model, after, feeds(of)) <= 1e-5


def test_an_unknown_width_is_that_of_the_cache() -> None:
    """Foreign graphs often say nothing about the shapes between their inputs and outputs."""
    packed, _ = applied(llama(), "fuse/gqa", "fuse/pack_qkv")
    for node in nodes(packed, "GroupQueryAttention"):
        node.inputs[0].shape = None
    after, report = applied(packed, "lower/unpack_qkv")
    assert report.applied == 2
    assert distance(llama(), after, feeds(config())) <= 1e-5


def test_unpacked_and_then_separated() -> None:
    model = llama()
    after, report = applied(model, "fuse/gqa", "fuse/pack_qkv", "lower/unpack_qkv", "lower/separate_rope")
    assert (report.candidates, report.applied) == (2, 2)
    assert distance(model, after, feeds(config())) <= 1e-5


def test_unpacked_inputs_are_no_candidate() -> None:
    _, report = applied(llama(), "fuse/gqa", "lower/unpack_qkv")
    assert (report.candidates, report.misses) == (0, ())


def test_heads_that_do_not_divide_the_width_are_left() -> None:
    packed, _ = applied(llama(), "fuse/gqa", "fuse/pack_qkv")
    for node in nodes(packed, "GroupQueryAttention"):
        node.attributes["num_heads"] = ir.AttrInt64("num_heads", 5)
    _, report = applied(packed, "lower/unpack_qkv")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == ("unmatched", "9 query, key and value heads do not divide a packed width of 128")
