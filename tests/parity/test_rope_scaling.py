"""Scaled RoPE on both sides of the original length: Hugging Face, the generic graph, every provider's graph.

Decode steps stay on the side of their prompt: Hugging Face drops its cache where a sequence crosses over, and a
graph with a cache cannot.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.families import VOCAB, hf_config
from tests.parity.pairs import Pair, hf_steps, make_pair
from tests.parity.running import RowLogits, alone, batch, distance
from workbench.ep import execution_providers, get_ep
from workbench.optimize import check, run_plan
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.types import Padding, Role

pytestmark = pytest.mark.torch
AGAINST_HF, AGAINST_GENERIC = 5e-5, 2e-5  # scores grow with the attention factor, and their rounding too
EPS = [name for name in execution_providers() if name != "default"]
ORIGINAL = 32
SIDES = {"below": 12, "at": ORIGINAL - 3, "above": 45}
"""Tokens in a prompt; three more follow. ``at`` ends with the last position of the original length."""
SHORT = [1.0 + 0.05 * i for i in range(8)]
LONG = [1.5 + 0.4 * i for i in range(8)]


@dataclasses.dataclass(frozen=True)
class Scaled:
    """A way of scaling; ``words`` go into the config beside the RoPE parameters."""

    model_type: str
    rope: dict[str, Any]
    words: dict[str, Any] = dataclasses.field(default_factory=dict)


_LONG = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG}
_ORIGINAL = {"original_max_position_embeddings": ORIGINAL}
_YARN = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 4.0, **_ORIGINAL}
_LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **_ORIGINAL}
CASES = {
    "linear": Scaled("llama", {"rope_type": "linear", "factor": 4.0}),
    "dynamic": Scaled("llama", {"rope_type": "dynamic", "factor": 2.0}, {"max_position_embeddings": ORIGINAL}),
    "dynamic-partial": Scaled(
        "stablelm", {"rope_type": "dynamic", "factor": 4.0, "partial_rotary_factor": 0.5},
        {"max_position_embeddings": ORIGINAL},
    ),
    "llama3": Scaled("llama", _LLAMA3),
    "yarn": Scaled("llama", _YARN),
    "yarn-not-truncated": Scaled("qwen3", {**_YARN, "truncate": False}),
    "yarn-mscale": Scaled("llama", {**_YARN, "mscale": 0.7, "mscale_all_dim": 1.3}),
    "yarn-attention-factor": Scaled("qwen2", {**_YARN, "attention_factor": 1.25}),
    "longrope": Scaled("phi3", _LONG, _ORIGINAL),
    "longrope-factor-one": Scaled("phi3", {**_LONG, "factor": 1.0}, _ORIGINAL),
    "longrope-factor": Scaled("llama", {**_LONG, "factor": 6.0, **_ORIGINAL}),
    "longrope-attention-factor": Scaled("phi3", {**_LONG, "attention_factor": 1.3}, _ORIGINAL),
    "longrope-partial": Scaled(
        "phi3", {**_LONG, "short_factor": SHORT[:4], "long_factor": LONG[:4], "partial_rotary_factor": 0.5}, _ORIGINAL
    ),
}  # fmt: skip


@functools.cache
def _pair(name: str) -> Pair:
    case = CASES[name]
    rope = {"rope_theta": 10000.0, **case.rope}
    return make_pair(case.model_type, hf_config(case.model_type, rope_parameters=rope, **case.words))


def _rows(side: str) -> tuple[list[list[int]], list[list[int]]]:
    rng = np.random.default_rng(3)
    rows = [rng.integers(3, VOCAB, SIDES[side]).tolist() for _ in range(2)]
    return rows, [rng.integers(3, VOCAB, 3).tolist() for _ in rows]


def _found(session: OrtCpuSession, side: str, padding: Padding = "any") -> dict[str, list[RowLogits]]:
    """Each row alone, and a batch in which every row is padded: no padding may count as a position."""
    rows, more = _rows(side)
    found = {"alone": alone(session, rows, more, padding)}
    for where in ("right", "left") if padding == "any" else ("right",):
        found[where] = batch(session, rows, more, where, padding, extra=5)
    return found


@functools.cache
def _generic(name: str, side: str) -> dict[str, list[RowLogits]]:
    with OrtCpuSession(_pair(name).graph()) as session:
        return _found(session, side)


def _fresh(name: str, row: list[int], more: list[int]) -> RowLogits:
    """Hugging Face's dynamic RoPE remembers the longest sequence; a short one makes it forget."""
    hf = _pair(name).hf
    hf_steps(hf, row[:4], more)
    return hf_steps(hf, row, more)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", CASES)
def test_generic_equals_hugging_face(name: str, side: str) -> None:
    expected = [_fresh(name, row, more) for row, more in zip(*_rows(side), strict=True)]
    assert distance(_generic(name, side)["alone"], expected) <= AGAINST_HF


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", CASES)
def test_padding_is_no_position(name: str, side: str) -> None:
    found = _generic(name, side)
    assert max(distance(found[where], found["alone"]) for where in ("right", "left")) <= AGAINST_GENERIC


@pytest.mark.parametrize("execution_provider", EPS)
@pytest.mark.parametrize("name", CASES)
def test_providers_equal_generic(name: str, execution_provider: str) -> None:
    ep = get_ep(execution_provider)
    generic = _pair(name).graph(ir.DataType.FLOAT, ep.graph_options())
    made = run_plan(generic, plan(ep, ir.DataType.FLOAT, Role.DECODER, RULES), ep, drop_unused_inputs=True)
    check(made.report)
    fused = any(rule.rule == "fuse/gqa" and rule.applied for rule in made.report.rules)
    with OrtCpuSession(made.model) as session:
        for side in SIDES:
            found = _found(session, side, "right" if fused else "any")
            worst = {where: distance(rows, _generic(name, side)["alone"]) for where, rows in found.items()}
            assert max(worst.values()) <= AGAINST_GENERIC, (side, worst)


@pytest.mark.parametrize("name", CASES)
def test_scaling_changes_the_numbers(name: str) -> None:
    """Else the tests above would prove nothing: the same weights without scaling differ beyond the original length."""
    pair = _pair(name)
    assert pair.config.rope is not None
    plain = dataclasses.replace(pair.config.rope, rope_type="default")
    other = dataclasses.replace(pair, config=dataclasses.replace(pair.config, rope=plain, max_position_embeddings=128))
    with OrtCpuSession(other.graph()) as session:
        assert distance(_found(session, "above")["alone"], _generic(name, "above")["alone"]) > 1e-2
