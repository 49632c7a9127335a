"""Recordings and details of fusions for the tests of their views; also what the notebooks of browser tests import."""

from __future__ import annotations

import functools

import onnx_ir as ir

from tests.unit.rules import test_gqa, test_pack_qkv
from tests.unit.rules.graphs import config, each, llama
from workbench import optimize
from workbench.analysis.fusion_details import FusionDetails, fusion_details
from workbench.rules.recording import RecordedNode, RecordedStep, Recording

EVIL = "<script>alert('x')</script>"


@functools.cache
def recording(layers: int = 3, execution_provider: str = "webgpu") -> Recording:
    """A llama's way to a provider's graph."""
    made = optimize(llama(config(num_hidden_layers=layers)), execution_provider=execution_provider, record=True)
    assert made.recording is not None
    return made.recording


def evil_recording() -> Recording:
    """Names that a page must not run, or choke on."""
    long = "n" * 10_000
    before = RecordedNode(0, EVIL, "Relu", "", EVIL, ("x",), (long,), (("text", EVIL),))
    after = RecordedNode(1, long, "Gelu", EVIL, "s", ("x",), (long,))
    return Recording(EVIL, "float32", (before,), (RecordedStep(1, "fuse", EVIL, EVIL, EVIL, (before,), (after,)),))


def long_recording(steps: int = 3000) -> Recording:
    """One rewrite after the other, each of three nodes into one."""
    first = tuple(
        RecordedNode(i, f"layers.{i // 3}/n{i}", "MatMul", "", f"layers.{i // 3}", (f"v{i}",), (f"v{i + 1}",))
        for i in range(3 * steps)
    )
    made = [
        RecordedStep(
            i + 1, "fuse", f"fuse/{'abc'[3 * i // steps]}", f"layers.{i}/n{3 * i}", f"layers.{i}",
            first[3 * i : 3 * i + 3],
            (RecordedNode(3 * steps + i, f"layers.{i}/made", "FusedMatMul", "com.microsoft", f"layers.{i}",
                          (f"v{3 * i}",), (f"v{3 * i + 3}",)),),
            0.001, "workbench/rules/fuse/gelu.py", 12,
        )
        for i in range(steps)
    ]  # fmt: skip
    return Recording("cpu", "float16", first, tuple(made))


@functools.cache
def details() -> FusionDetails:
    """Providers with a structural miss, with RoPE left outside, with something between, and with no fusion at all."""
    between = llama()
    test_pack_qkv.NEAR_MISSES["something between"][0](between)
    models: dict[str, ir.Model] = {
        "webgpu": each(llama(), "Attention", test_gqa.NEAR_MISSES["negated mask"][0]),
        "cpu": llama(config(head_dim=24)),
        "dml": between,
        "onnx-standard": llama(),
    }
    made = {name: optimize(model, execution_provider=name, record=True) for name, model in models.items()}
    recordings = {name: found.recording for name, found in made.items() if found.recording is not None}
    reports = {name: found.report for name, found in made.items()}
    return fusion_details(reports, {name: found.model for name, found in made.items()}, recordings)
