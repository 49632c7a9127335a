"""Small graphs for one rule at a time: a llama's generic graph, graphs from text, and running both sides."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import parser

from tests.cases import CASES
from tests.modules import filled
from workbench import CausalLM, ModelConfig
from workbench.models import lookup
from workbench.rules import RULES, Rule
from workbench.rules.apply import apply
from workbench.rules.plan import Plan, Step
from workbench.rules.report import Miss, RuleReport
from workbench.runtime.ort_cpu import OrtCpuSession, SessionSettings
from workbench.tasks import get_task
from workbench.types import GraphOptions, Padding, Role

CASE = CASES["gqa"]
SEED, BATCH, PAST, NEW = 23, 2, 3, 4
LOWEST = np.float32(-1e9)
Arrays = Mapping[str, np.ndarray]


def config(**changes: Any) -> ModelConfig:
    """The config of a tiny llama of two layers."""
    return dataclasses.replace(lookup("llama").config(CASE.hf), **{"num_hidden_layers": 2, **changes})


def llama(
    of: ModelConfig | None = None,
    module: type[CausalLM] = CausalLM,
    dtype: ir.DataType = ir.DataType.FLOAT,
    options: GraphOptions | None = None,
) -> ir.Model:
    """A generic graph with seeded weights."""
    of = of or config()
    task = get_task("text-generation")
    return task.build(filled(module, SEED)(of, dtype), of, dtype, options or GraphOptions())["model"]


def feeds(of: ModelConfig, *, past: int = PAST, new: int = NEW, right_padded: bool = False) -> dict[str, np.ndarray]:
    """Inputs of a llama's graph: a cache of ``past`` tokens and ``new`` ones; or a prefill with padding."""
    rng = np.random.default_rng(SEED)
    batch = BATCH if past == 0 else 1  # the CPU kernel takes several new tokens over a cache for one row only
    mask = np.ones((batch, past + new), np.int64)
    if right_padded:
        mask[-1, -2:] = 0
    cache = {
        f"past_key_values.{i}.{word}": rng.standard_normal(
            (batch, of.num_key_value_heads, past, of.head_dim), dtype=np.float32
        )
        for i in range(of.num_hidden_layers)
        for word in ("key", "value")
    }
    positions = np.maximum(np.cumsum(mask, axis=1) - 1, 0)[:, past:]
    return {
        "input_ids": rng.integers(0, of.vocab_size, (batch, new)), "attention_mask": mask, "position_ids": positions,
        **cache,
    }  # fmt: skip


def parsed(text: str) -> ir.Model:
    """A graph from ONNX's text form."""
    return ir.from_proto(parser.parse_model(text.replace("<>", "")))


def rule(name: str) -> Rule:
    """The rule of that name."""
    return next(rule for rule in RULES if rule.name == name)


def applied(
    model: ir.Model,
    *names: str,
    allows: str | None = None,
    dtype: ir.DataType = ir.DataType.FLOAT,
    padding: Padding = "right",
) -> tuple[ir.Model, RuleReport]:
    """A clone after some rules, and the report of the last. ``allows`` names its features (None: all)."""
    clone = model.clone()
    for name in names:
        found = rule(name)
        features = {use.feature for use in found.optional} if allows is None else set(allows.split())
        plan = Plan("test", dtype, Role.DECODER, padding, (), (), inline=True)
        report = apply(clone, Step(found, frozenset(features), "test"), plan)
    return clone, report


def only_miss(report: RuleReport) -> Miss:
    """The one miss of a rule that applied to nothing."""
    assert (report.applied, len(report.misses)) == (0, report.candidates), report
    assert len({(miss.kind, miss.reason) for miss in report.misses}) == 1, report.misses
    return report.misses[0]


def run(model: ir.Model, given: Arrays) -> dict[str, np.ndarray]:
    """Outputs by name, without ONNX Runtime's own rewrites; inputs that the graph does not have are left out."""
    with OrtCpuSession(model, SessionSettings(graph_optimization="none")) as session:
        return session.run({name: array for name, array in given.items() if name in session.inputs})


def distance(before: ir.Model, after: ir.Model, given: Arrays) -> float:
    """The largest difference of any output; the names of the outputs are equal."""
    one, two = run(before, given), run(after, given)
    assert list(one) == list(two)
    assert all(one[name].shape == two[name].shape and np.isfinite(two[name]).all() for name in one)
    return max(float(np.abs(one[name].astype(np.float64) - two[name]).max()) for name in one)


def nodes(model: ir.Model, op_type: str, domain: str | None = None) -> list[ir.Node]:
    """Nodes of the main graph by operator."""
    return [node for node in model.graph if node.op_type == op_type and domain in (None, node.domain)]


def each(model: ir.Model, op_type: str, change: Callable[[ir.Node], None]) -> ir.Model:
    """The same model after a change to every node of an operator."""
    for node in nodes(model, op_type):
        change(node)
    return model
