"""A plan, derived from facts: fuse where the provider runs what a rule makes, lower where it cannot run what is there.

Never fuse what would have to be lowered: a rule is planned only if everything it produces runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import onnx_ir as ir

from workbench.errors import UnsupportedError
from workbench.rules.base import Rule
from workbench.types import WB_DOMAIN, OpId, Padding, Role, Stage, dtype_word


class Facts(Protocol):
    """What a plan asks of an execution provider."""

    @property
    def name(self) -> str: ...
    @property
    def computes(self) -> frozenset[ir.DataType]: ...
    @property
    def domains(self) -> frozenset[str]: ...
    def runs(self, use: OpId, dtype: ir.DataType) -> bool: ...


@dataclasses.dataclass(frozen=True)
class Step:
    """One planned rule, the optional features it may use, and why it was planned.

    ``must_go`` is what a lowering has to remove: nodes that use nothing of it are no candidates. None: all it removes.
    """

    rule: Rule
    allows: frozenset[str]
    because: str
    must_go: frozenset[OpId] | None = None

    @property
    def without(self) -> tuple[str, ...]:
        """Optional features that the kernel lacks."""
        return tuple(sorted(use.feature for use in self.rule.optional if use.feature not in self.allows))

    def __str__(self) -> str:
        return self.rule.name + (f" (without {', '.join(self.without)})" if self.without else "")


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the pipeline will do to one graph. ``inline``: no semantic function may stay."""

    execution_provider: str
    dtype: ir.DataType
    role: Role
    padding: Padding
    steps: tuple[Step, ...]
    skipped: tuple[tuple[str, str], ...]
    inline: bool

    def without(self, rule: Rule, why: str) -> Plan:
        """The same plan without a rule, and without what follows it only."""
        gone = [step.rule.name for step in self.steps if step.rule.name == rule.name or rule.name in step.rule.after]
        kept = tuple(step for step in self.steps if step.rule.name not in gone)
        reasons = [(name, why if name == rule.name else f"it follows {rule.name}, and {why}") for name in gone]
        return dataclasses.replace(self, steps=kept, skipped=(*self.skipped, *reasons))

    def __repr__(self) -> str:
        steps = " -> ".join(str(step) for step in self.steps) or "nothing to do"
        return f"Plan({self.execution_provider} {dtype_word(self.dtype)} {self.role}: {steps})"


def plan(facts: Facts, dtype: ir.DataType, role: Role, rules: Sequence[Rule], padding: Padding = "right") -> Plan:
    """Derive the plan of a role's graph at a dtype.

    Raises:
        UnsupportedError: the provider has no MatMul at this dtype, so that no plan can help.
    """
    if dtype not in facts.computes:
        known = ", ".join(sorted(dtype_word(d) for d in facts.computes))
        raise UnsupportedError(
            f"Execution provider {facts.name!r} cannot compute in {dtype_word(dtype)}: it has no MatMul for it. "
            f"It computes in {known}; choose one of these with dtype=, or another execution provider."
        )
    steps: list[Step] = []
    skipped: list[tuple[str, str]] = []
    handled: set[OpId] = set()
    ordered = sorted(rules, key=lambda r: r.stage)
    for index, rule in enumerate(ordered):
        why_not = _why_not(rule, facts, dtype, role, steps, handled, ordered[index + 1 :])
        if why_not:
            skipped.append((rule.name, why_not))
            continue
        allows = frozenset(use.feature for use in rule.optional if facts.runs(use, dtype))
        lowers = rule.stage is Stage.LOWER
        must_go = frozenset(_forbidden(rule, facts, dtype, handled)) if lowers else None
        steps.append(Step(rule, allows, _because(rule, facts, dtype, handled), must_go))
        handled |= rule.removes if lowers else frozenset()
    inline = WB_DOMAIN not in facts.domains
    return Plan(facts.name, dtype, role, padding, tuple(steps), tuple(skipped), inline)


def _why_not(
    rule: Rule,
    facts: Facts,
    dtype: ir.DataType,
    role: Role,
    steps: Sequence[Step],
    handled: set[OpId],
    later: Sequence[Rule],
) -> str:
    """Why a rule has no place in the plan; empty if it has one."""
    if role not in rule.roles:
        return f"not for graphs of the role {role}"
    forbidden = _forbidden(rule, facts, dtype, handled)
    if rule.stage is Stage.LOWER and not forbidden:
        return "nothing it removes has to go"
    cannot = sorted(use for use in rule.produces if not facts.runs(use, dtype))
    if cannot and not (rule.stage is Stage.LOWER and _on_the_way(rule, forbidden, facts, dtype, later)):
        return f"{facts.name} does not run {', '.join(map(str, cannot))} in {dtype_word(dtype)}"
    planned = {step.rule.name for step in steps}
    missing = [name for name in rule.after if name not in planned]
    return f"it follows {', '.join(missing)}, which is not planned" if missing else ""


def _on_the_way(rule: Rule, forbidden: Sequence[OpId], facts: Facts, dtype: ir.DataType, later: Sequence[Rule]) -> bool:
    """Whether later lowerings finish what this one starts, and none of them does it alone."""
    alone = any(
        set(forbidden) <= other.removes and all(facts.runs(p, dtype) for p in other.produces) for other in later
    )
    return not alone and all(_runs_at_last(use, facts, dtype, later) for use in rule.produces)


def _runs_at_last(use: OpId, facts: Facts, dtype: ir.DataType, later: Sequence[Rule]) -> bool:
    """Whether the provider runs this, or a later lowering turns it into what it runs."""
    if facts.runs(use, dtype):
        return True
    return any(
        use in rule.removes and all(_runs_at_last(p, facts, dtype, later[i + 1 :]) for p in rule.produces)
        for i, rule in enumerate(later)
    )


def _forbidden(rule: Rule, facts: Facts, dtype: ir.DataType, handled: set[OpId]) -> list[OpId]:
    return sorted(use for use in rule.removes - handled if not facts.runs(use, dtype))


def _because(rule: Rule, facts: Facts, dtype: ir.DataType, handled: set[OpId]) -> str:
    fuses = rule.stage is Stage.FUSE
    uses = sorted(rule.produces) if fuses else _forbidden(rule, facts, dtype, handled)
    uses = [use for use in uses if not use.feature or use.op not in uses]  # without the operator, features go unsaid
    verb = "runs" if fuses else "does not run"
    return f"{facts.name} {verb} {', '.join(map(str, uses))} in {dtype_word(dtype)}"
