"""lower/split_if and lower/one_rope_table: LongRoPE's two tables in one, and one of them again, around the boundary."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import Arrays, applied, distance, feeds, llama, nodes, only_miss
from tests.unit.rules.rope_tables import LONG, ORIGINAL, of
from workbench.ep import ExecutionProvider, get_ep, kernel
from workbench.ep.base import GQA
from workbench.optimize import run_plan
from workbench.rules import RULES
from workbench.rules.features import uses
from workbench.rules.plan import plan
from workbench.runtime.stand_ins import stand_ins
from workbench.types import MS_DOMAIN, ROTARY_OFFSET_KEY, Role

SPLIT, ONE, LAYERS = "lower/split_if", "lower/one_rope_table", 2
STEPS = {
    "short prompt": (0, ORIGINAL - 3), "prompt to the boundary": (0, ORIGINAL), "prompt beyond": (0, ORIGINAL + 1),
    "long prompt": (0, 3 * ORIGINAL), "last short token": (ORIGINAL - 1, 1), "first long token": (ORIGINAL, 1),
    "chunk across": (ORIGINAL - 2, 4),
}  # fmt: skip


def given(step: str) -> Arrays:
    return feeds(of(LONG), past=STEPS[step][0], new=STEPS[step][1])


def gqa(model: ir.Model) -> list[ir.Node]:
    return nodes(model, "GroupQueryAttention", MS_DOMAIN)


@pytest.fixture(scope="module")
def fused() -> ir.Model:
    return applied(llama(of(LONG)), "fuse/gqa")[0]


@pytest.mark.parametrize("step", STEPS)
def test_numbers_on_both_sides_of_the_boundary(step: str, fused: ir.Model) -> None:
    two, report = applied(fused, SPLIT)
    assert (report.candidates, report.applied) == (1, 1)  # one table takes the other along
    one, report = applied(two, ONE)
    assert (report.candidates, report.applied) == (LAYERS, LAYERS)
    assert not nodes(two, "LongRopeTable") and len(nodes(one, "Slice")) == 2 * LAYERS
    assert distance(llama(of(LONG)), one, given(step)) <= 1e-5


def test_without_the_choice_the_long_side_would_be_wrong(fused: ir.Model) -> None:
    """What the provider's option is for: read as one table, it is right before the boundary and wrong behind it."""
    two, _ = applied(fused, SPLIT)
    for node in gqa(two):
        del node.metadata_props[ROTARY_OFFSET_KEY]
    assert distance(llama(of(LONG)), two, given("short prompt")) <= 1e-5
    assert distance(llama(of(LONG)), two, given("prompt beyond")) > 1e-2


def test_the_tables_are_the_rows_that_are_used(fused: ir.Model) -> None:
    two, report = applied(fused, SPLIT)
    assert [miss.reason[:38] for miss in report.partial] == ["the kernel counts slots where the mode"]
    (cos, sin) = gqa(two)[0].inputs[7:9]
    assert (cos.name, sin.name) == ("rotary_emb.cos+rotary_emb.long_cos", "rotary_emb.sin+rotary_emb.long_sin")
    old = {v.name: v.const_value.numpy() for v in fused.graph.initializers.values() if "rotary" in (v.name or "")}
    for value, word in ((cos, "cos"), (sin, "sin")):
        rows = value.const_value.numpy()
        assert list(value.shape) == list(rows.shape) and all(node.inputs[7] is cos for node in gqa(two))
        assert np.array_equal(rows[:ORIGINAL], old[f"rotary_emb.{word}"][:ORIGINAL])
        assert np.array_equal(rows[ORIGINAL:], old[f"rotary_emb.long_{word}"])
    assert {node.metadata_props[ROTARY_OFFSET_KEY] for node in gqa(two)} == {str(ORIGINAL)}
    assert "two_tables" in {use.feature for use in uses(gqa(two)[0])} and stand_ins(two)


@pytest.mark.parametrize("more", [("fuse/pack_qkv",), ("fuse/pack_qkv", "lower/unpack_qkv")], ids=str)
def test_the_number_goes_along_when_other_rules_make_the_node_anew(more: tuple[str, ...], fused: ir.Model) -> None:
    after, _ = applied(fused, SPLIT, *more)
    assert {node.metadata_props[ROTARY_OFFSET_KEY] for node in gqa(after)} == {str(ORIGINAL)}
    assert distance(llama(of(LONG)), applied(after, ONE)[0], given("prompt beyond")) <= 1e-5


def test_it_is_never_lost_in_silence(fused: ir.Model) -> None:
    two, _ = applied(fused, SPLIT)
    for name in ("lower/separate_rope", "lower/gqa_to_standard"):
        assert "two in one" in only_miss(applied(two, name)[1]).reason
    for node in gqa(two):
        node.metadata_props[ROTARY_OFFSET_KEY] = "-3"
    assert (
        only_miss(applied(two, ONE)[1]).reason == "its metadata ep_workbench.rotary_offset is '-3', no number of rows"
    )


# --- misses ---------------------------------------------------------------------------------------------
def _outside(model: ir.Model) -> None:
    for node in gqa(model):
        del node.attributes["do_rotary"]


def _other_choice(model: ir.Model) -> None:
    nodes(model, "LongRopeTable")[1].attributes["original"] = ir.AttrInt64("original", 5)


def _beyond(model: ir.Model) -> None:
    for node in nodes(model, "LongRopeTable"):
        node.attributes["original"] = ir.AttrInt64("original", 100_000)


def _overridden(model: ir.Model) -> None:
    for node in nodes(model, "LongRopeTable"):
        model.graph.inputs.append(node.inputs[2])


MISSES: dict[str, tuple[Callable[[ir.Model], None], str]] = {
    "read by others": (
        _outside, "the table is read by com.microsoft.GroupQueryAttention, which is not told where it begins",
    ),
    "two choices": (_other_choice, "cosines and sines of an attention are chosen differently"),
    "too few rows": (_beyond, "the short table has 128 rows and the long one is to begin at 100000"),
    "an input": (_overridden, "the tables are not weights of known shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_keeps_its_tables_and_says_why(name: str, fused: ir.Model) -> None:
    change, reason = MISSES[name]
    before = fused.clone()
    change(before)
    after, report = applied(before, SPLIT)
    assert only_miss(report).reason == reason
    assert len(nodes(after, "LongRopeTable")) == 2


def test_planted() -> None:
    """RoPE of the second layer stands outside: neither table is joined, and the If goes the other way."""
    before, _ = applied(llama(of(LONG)), "fuse/gqa")
    del gqa(before)[1].attributes["do_rotary"]
    _, report = applied(before, SPLIT)
    assert (report.candidates, report.applied, len(report.misses)) == (2, 0, 2)
    assert {miss.kind for miss in report.misses} == {"precondition"}


def _in_float32() -> ExecutionProvider:
    """TensorRT-RTX as if its attention were known in float32 as well, so that numbers can be held to little."""
    ep, has = get_ep("trt-rtx"), " ".join(sorted(get_ep("trt-rtx").kernels[GQA].has))
    fact = kernel(ir.DataType.FLOAT, has=has, source="test", confidence="documented")
    return dataclasses.replace(ep, kernels={**ep.kernels, GQA: fact})


@pytest.fixture(scope="module")
def made() -> ir.Model:
    return _for(llama(of(LONG)), _in_float32())


def _for(model: ir.Model, ep: ExecutionProvider) -> ir.Model:
    return run_plan(model, plan(ep, ir.DataType.FLOAT, Role.DECODER, RULES), ep).model


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("back", ["cpu", "dml", "default", "webgpu"])
def test_from_one_provider_to_another(back: str, step: str, made: ir.Model) -> None:
    assert len([n for n in gqa(made) if ROTARY_OFFSET_KEY in n.metadata_props]) == LAYERS
    after = _for(made, get_ep(back))
    assert not [n for n in after.graph if ROTARY_OFFSET_KEY in n.metadata_props]
    assert distance(llama(of(LONG)), after, given(step)) <= 1e-5
