"""The table of derived plans, and what it must say whatever the facts become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.make_plans import GOLDEN, PAGE, REFUSED, ROLES, all_plans, in_page, table
from workbench.ep import execution_providers, get_ep
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.types import FLOAT_DTYPES, Role, Stage

REAL = [name for name in execution_providers() if get_ep(name).ort_provider]
CELLS = [
    (name, dtype, role)
    for name in execution_providers()
    for dtype, value in FLOAT_DTYPES.items()
    if value in get_ep(name).computes
    for role in ROLES
]


def of(name: str, dtype: str, role: str = "decoder") -> Any:
    return plan(get_ep(name), FLOAT_DTYPES[dtype], Role(role), RULES)


def names(name: str, dtype: str, role: str = "decoder") -> list[str]:
    return [step.rule.name for step in of(name, dtype, role).steps]


def test_the_golden_table_is_derived() -> None:
    """A difference here is a change to the graphs of a provider: read it, then ``python -m tests.make_plans``."""
    assert json.loads(GOLDEN.read_text(encoding="utf-8")) == all_plans()


def test_the_page_holds_the_same_table() -> None:
    assert in_page(PAGE.read_text(encoding="utf-8")) == table(all_plans())


def test_refused_cells() -> None:
    refused = {
        (ep, dtype) for ep, dtypes in all_plans().items() for dtype, r in dtypes.items() if REFUSED in r.values()
    }
    assert refused == {("cpu", "bfloat16"), ("dml", "bfloat16"), ("webgpu", "bfloat16")}


@pytest.mark.parametrize(("name", "dtype", "role"), CELLS)
def test_no_fusion_is_planned_that_would_have_to_be_lowered(name: str, dtype: str, role: str) -> None:
    ep, made = get_ep(name), of(name, dtype, role)
    for step in made.steps:
        if step.rule.stage is Stage.FUSE:
            assert all(ep.runs(use, FLOAT_DTYPES[dtype]) for use in step.rule.produces), step
        else:
            assert step.must_go and not any(ep.runs(use, FLOAT_DTYPES[dtype]) for use in step.must_go), step


@pytest.mark.parametrize(("name", "dtype", "role"), CELLS)
def test_fusions_come_before_lowerings(name: str, dtype: str, role: str) -> None:
    stages = [step.rule.stage for step in of(name, dtype, role).steps]
    assert stages == sorted(stages)


@pytest.mark.parametrize("name", REAL)
def test_attention_is_fused_for_decoders_only(name: str) -> None:
    for dtype, value in FLOAT_DTYPES.items():
        if value in get_ep(name).computes:
            assert not {"fuse/gqa", "fuse/pack_qkv"} & set(names(name, dtype, "encoder"))


def test_what_the_seed_asks_of_trt_rtx() -> None:
    """No skip norms, RMSNormalization in primitives, LayerNormalization kept, attention spelled out in float32."""
    for dtype in FLOAT_DTYPES:
        planned = set(names("trt-rtx", dtype))
        assert not {"fuse/skip_rms_norm", "fuse/skip_layer_norm", "fuse/bias_gelu", "lower/layer_norm"} & planned
        assert not {"lower/simplify_rms_norm", "lower/separate_rope"} & planned
        assert {"lower/rms_norm", "lower/attention", "lower/if_to_where"} <= planned
        assert ("fuse/gqa" in planned) == (dtype != "float32")


def test_what_the_seed_asks_of_the_others() -> None:
    assert {"lower/separate_rope", "lower/if_to_where"} <= set(names("dml", "float16"))
    assert "fuse/pack_qkv" not in names("dml", "float16")
    assert {"lower/eliminate_shape", "lower/if_to_where"} <= set(names("webgpu", "float16"))
    assert "fuse/gqa" not in names("cuda", "float32")
    assert not [rule for rule in names("onnx-standard", "float32") if rule in ("fuse/gqa", "lower/attention")]


def test_a_skipped_rule_says_why() -> None:
    skipped = dict(of("trt-rtx", "float16").skipped)
    assert skipped["fuse/skip_rms_norm"] == (
        "trt-rtx does not run com.microsoft.SkipSimplifiedLayerNormalization in float16"
    )
    assert skipped["lower/simplify_rms_norm"] == "trt-rtx does not run SimplifiedLayerNormalization in float16"
    assert skipped["lower/layer_norm"] == "nothing it removes has to go"


def test_a_lowering_may_go_through_another() -> None:
    """Foreign skip norms become norms that trt-rtx does not run either, and those become primitives."""
    planned = names("trt-rtx", "float16")
    assert planned.index("lower/skip_norms") < planned.index("lower/rms_norm")
