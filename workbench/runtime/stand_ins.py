"""Features that other providers' kernels have and CPU kernels refuse, written out so that a graph can be run here.

ONNX Runtime's CPU kernel of GroupQueryAttention, say, takes no norm of query and key: the same lowering that makes a
graph for the CPU takes the norm out before such a graph is run. The model itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from workbench.ep import ExecutionProvider, execution_providers, get_ep
from workbench.rules import RULES
from workbench.rules.apply import apply
from workbench.rules.features import uses
from workbench.rules.plan import Plan, Step, plan
from workbench.types import MS_DOMAIN, OpId, Role, Stage


def _local() -> ExecutionProvider:
    """The provider whose kernels are on every machine."""
    return next(ep for ep in map(get_ep, execution_providers()) if ep.local_kernels)


def _lacking(model: ir.Model) -> Iterator[OpId]:
    """Features that nodes use of an operator which the CPU provider has a kernel for, and that this kernel lacks."""
    facts = _local().kernels
    for node in model.graph:
        if node.domain == MS_DOMAIN:
            fact = facts.get(OpId(node.op_type, node.domain))
            yield from (use for use in uses(node) if fact and use.feature and use.feature not in fact.has)


def stand_ins(model: ir.Model) -> tuple[str, ...]:
    """What :func:`for_cpu_kernels` writes out (``GroupQueryAttention qk_norm``); empty where a graph runs as it is."""
    steps = _steps(model)
    return tuple(
        sorted({f"{u.op_type} {u.feature}" for u in _lacking(model) if any(u in (s.must_go or ()) for s in steps)})
    )


def for_cpu_kernels(model: ir.Model) -> ir.Model:
    """The same computation without the features that CPU kernels lack; the model itself where there are none."""
    steps = _steps(model)
    if not steps:
        return model
    ep, clone = _local(), model.clone()
    whole = Plan(ep.name, ep.default_dtype, Role.DECODER, "right", (), (), inline=True)
    for step in steps:
        apply(clone, step, whole)
    return clone


def _steps(model: ir.Model) -> list[Step]:
    found = set(_lacking(model))
    if not found:
        return []
    ep = _local()
    lowering = [s for s in plan(ep, ep.default_dtype, Role.DECODER, RULES).steps if s.rule.stage is Stage.LOWER]
    return [step for step in lowering if found & (step.must_go or frozenset())]


__all__ = ["for_cpu_kernels", "stand_ins"]
