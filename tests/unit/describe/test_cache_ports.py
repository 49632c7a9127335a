"""A cache that is told where to write: rows of different lengths side by side, as each would be alone."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.cases import CASES
from tests.parity.running import PAD, RowLogits, alone, distance
from tests.unit.export.folders import package, source
from workbench.build import build
from workbench.describe.cache_ports import KV_LENGTHS, WRITE_INDICES, can_be_told, with_cache_ports
from workbench.errors import UnsupportedError
from workbench.package import Package
from workbench.runtime.ort_cpu import OrtCpuSession

CAPACITY, BOUND = 40, 1e-5
CASE = CASES["gqa"]


def fixed(*, windowed: bool = False, ep: str = "default") -> Package:
    return build(source(windowed), execution_provider=ep, dtype="float32", cache_length=CAPACITY)


def told(model: ir.Model, rows: list[list[int]], decode: list[list[int]]) -> list[RowLogits]:
    """All rows at once: the prompts, then a token a step, each row at a place of its own."""
    caches = {v.name: v for v in model.graph.inputs if "past" in (v.name or "")}
    width, count = max(map(len, rows)), len(rows)
    cache = {name: np.zeros([count, *v.shape.numpy()[1:]], np.float32) for name, v in _sized(caches, count).items()}
    ids = np.array([[*row, *[PAD] * (width - len(row))] for row in rows])
    write, lengths, steps = np.zeros(count, np.int64), np.array([len(row) for row in rows]), []
    with OrtCpuSession(model) as session:
        for tokens in (ids, *(np.array(one)[:, None] for one in zip(*decode, strict=True))):
            found = session.run({"input_ids": tokens, WRITE_INDICES: write, KV_LENGTHS: lengths, **cache})
            cache = {name: found[name.replace("past_key_values", "present")] for name in cache}
            steps.append(found["logits"])
            write, lengths = lengths, lengths + 1
    prefill, *more = steps
    return [(prefill[b, : len(row)], np.stack([step[b, 0] for step in more])) for b, row in enumerate(rows)]


def _sized(caches: dict[str, ir.Value], count: int) -> dict[str, ir.Value]:
    for value in caches.values():
        assert value.shape is not None
        value.shape = ir.Shape([count, *list(value.shape)[1:]])
    return caches


@pytest.mark.parametrize("ep", ["default", "onnx-standard"])  # a function's node, and its operators
@pytest.mark.parametrize("windowed", [False, True])
def test_rows_of_different_lengths_side_by_side(windowed: bool, ep: str) -> None:
    rows, decode = [list(row) for row in CASE.rows], [list(row) for row in CASE.decode]
    assert len({len(row) for row in rows}) > 1 and len(rows) > 1
    with OrtCpuSession(package("default", windowed=windowed).model) as session:
        expected = alone(session, rows, decode)
    model = with_cache_ports(fixed(windowed=windowed, ep=ep).model)
    assert distance(told(model, rows, decode), expected) <= BOUND


def test_ports_take_the_place_of_mask_and_positions() -> None:
    before = fixed().model
    kept = [value.name for value in before.graph.inputs]
    model = with_cache_ports(before)
    names = [value.name for value in model.graph.inputs]
    assert names[:3] == ["input_ids", WRITE_INDICES, KV_LENGTHS]
    assert {"attention_mask", "position_ids"}.isdisjoint(names)
    assert [value.name for value in before.graph.inputs] == kept  # a clone: the package keeps its graph


def test_attention_that_finds_its_place_alone_is_refused() -> None:
    for one in (package("default").model, fixed(ep="cpu").model):
        assert not can_be_told(one)
        with pytest.raises(UnsupportedError, match="cannot be told.*'default' with cache_length"):
            with_cache_ports(one)
