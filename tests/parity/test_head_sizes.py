"""Heads of any even size: fused where the kernel takes them, lowered where it does not, right either way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import CASES, Case, write_model
from workbench import compare
from workbench.ep import execution_providers
from workbench.types import MS_DOMAIN

LAYERS = 2


def _case(head_dim: int) -> Case:
    return Case(f"heads-of-{head_dim}", {**CASES["mqa"].hf, "head_dim": head_dim, "num_hidden_layers": LAYERS}, 31)


@pytest.mark.parametrize("head_dim", [2, 4, 6, 10, 12, 20])
def test_sizes_that_the_kernel_refuses_are_lowered_and_named(tmp_path: Path, head_dim: int) -> None:
    comparison = compare(write_model(tmp_path / "model", _case(head_dim)), execution_providers=execution_providers())
    for name, package in comparison.items():
        assert comparison.ops().histograms[name].count("GroupQueryAttention", MS_DOMAIN) == 0
        rows = [miss for miss in package.report.misses if miss.rule == "fuse/gqa"]
        planned = any(rule.rule == "fuse/gqa" for rule in package.report.rules)
        assert len(rows) == (LAYERS if planned else 0)
        for miss in rows:
            assert miss.kind == "precondition"
            assert miss.reason == f"heads hold {head_dim} numbers and the kernel needs a multiple of 8"
    report = comparison.parity()
    assert {row.verdict for row in report.rows} == {"ok"}


@pytest.mark.parametrize("head_dim", [8, 24, 40, 80])
def test_multiples_of_eight_are_fused(tmp_path: Path, head_dim: int) -> None:
    comparison = compare(write_model(tmp_path / "model", _case(head_dim)))
    fused = {name: comparison.ops().histograms[name].count("GroupQueryAttention", MS_DOMAIN) for name in comparison}
    assert fused == {name: 0 if name == "onnx-standard" else LAYERS for name in comparison}
    assert {row.verdict for row in comparison.parity().rows} == {"ok"}
