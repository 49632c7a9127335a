"""Facts with their sources, and the rules that each switches: held against plans made without them."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from workbench.analysis.capabilities import COLUMNS, Capabilities, Fact, capabilities
from workbench.ep import execution_providers, get_ep
from workbench.errors import UnknownNameError
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.types import FLOAT_DTYPES, OpId, Role


@functools.cache
def everything() -> Capabilities:
    return capabilities()


def test_every_fact_of_every_record_is_there() -> None:
    found = everything()
    assert found.execution_providers == execution_providers()
    for name in execution_providers():
        ep = get_ep(name)
        here = found.where(execution_provider=name, dtype="float32").facts
        assert {f.op for f in here if f.kind == "kernel"} == {str(use) for use in ep.kernels}
        assert {f.op for f in here if f.kind == "forbidden"} == {str(use) for use in ep.forbidden}
        for fact in here:
            if fact.kind == "kernel":
                kernel = next(k for use, k in ep.kernels.items() if str(use) == fact.op)
                assert (fact.source, fact.checked, fact.confidence) == (
                    kernel.source,
                    kernel.checked,
                    kernel.confidence,
                )
                assert fact.holds == (FLOAT_DTYPES["float32"] in kernel.dtypes)
            elif fact.kind == "feature":
                assert fact.feature


def one(name: str, dtype: str, op: str, feature: str = "", kind: str = "") -> Fact:
    (found,) = (
        f for f in everything().where(execution_provider=name, dtype=dtype, op=op).facts
        if f.feature == feature and kind in ("", f.kind)
    )  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("name", "dtype", "op", "feature", "switch"),
    [
        ("cpu", "float32", "com.microsoft.GroupQueryAttention", "", "+fuse/gqa"),
        ("cuda", "float32", "com.microsoft.GroupQueryAttention", "", "−fuse/gqa"),
        ("cpu", "float32", "com.microsoft.GroupQueryAttention", "packed_qkv", "+fuse/pack_qkv"),
        ("webgpu", "float32", "com.microsoft.GroupQueryAttention", "softcap", "~fuse/gqa"),
        ("webgpu", "float32", "Shape", "", "+lower/eliminate_shape"),
        ("trt-rtx", "float16", "RMSNormalization", "", "~lower/rms_norm"),
    ],
)
def test_a_fact_switches_its_rules(name: str, dtype: str, op: str, feature: str, switch: str) -> None:
    assert switch in one(name, dtype, op, feature).switches


def test_switches_are_what_the_plans_say() -> None:
    """Without the kernel of cpu nothing is packed, and the plan made from such a record lacks just what is named."""
    cpu, gqa = get_ep("cpu"), OpId("GroupQueryAttention", "com.microsoft")
    dtype = FLOAT_DTYPES["float32"]
    less = dataclasses.replace(cpu, kernels={u: k for u, k in cpu.kernels.items() if u != gqa})
    names = [{s.rule.name for role in Role for s in plan(ep, dtype, role, RULES).steps} for ep in (cpu, less)]
    switched = {text[1:] for text in one("cpu", "float32", str(gqa)).switches if text[0] in "+−"}
    assert names[0] ^ names[1] == switched


def test_where_nothing_can_be_computed_no_fact_switches_anything() -> None:
    here = everything().where(execution_provider="cpu", dtype="bfloat16").facts
    assert here and not any(fact.switches for fact in here)


def test_filters_and_faces() -> None:
    found = everything().where(rule="fuse/gqa")
    assert found.facts and all(any(s[1:] == "fuse/gqa" for s in f.switches) for f in found.facts)
    assert list(everything().to_frame().columns) == COLUMNS and len(everything().to_frame()) == len(everything().facts)
    assert everything() == capabilities() and "onnxruntime-gpu 1.31.1" in everything()._repr_html_()
    assert repr(everything()).startswith(f"Capabilities({len(execution_providers())} execution providers, ")
    assert "No facts to show" in dataclasses.replace(everything(), facts=())._repr_html_()
    evil = dataclasses.replace(everything().facts[0], source="<script>")
    assert "<script>" not in dataclasses.replace(everything(), facts=(evil,))._repr_html_()


def test_an_unknown_provider() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cpu'"):
        capabilities(["cpuu"])
