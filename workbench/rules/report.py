"""What the pipeline did: reports, not logs. ``matched`` never means "nodes that disappeared"."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.errors import Diagnostic
from workbench.types import MissKind, Stage

if TYPE_CHECKING:
    import pandas as pd

RULE_COLUMNS = [
    "stage",
    "rule",
    "candidates",
    "applied",
    "fact",
    "precondition",
    "unmatched",
    "partial",
    "seconds",
]
MISS_COLUMNS = ["rule", "node", "scope", "kind", "reason"]


@dataclasses.dataclass(frozen=True)
class Miss:
    """A candidate that a rule left alone, and why, in a sentence for people.

    ``node`` is the anchor's name, ``scope`` the module that made it (``model.layers.3.self_attn``), ``at`` the node or
    value that the reason speaks of, where the rule says which.
    """

    rule: str
    node: str
    scope: str
    kind: MissKind
    reason: str
    at: str = ""


@dataclasses.dataclass(frozen=True)
class RuleReport:
    """What one planned rule found. ``candidates`` counts the anchors looked at, ``applied`` the rewrites done.

    ``partial`` names rewrites that could have taken more with them (RoPE left outside an attention, say). ``pattern``
    is the rule's own, for reading a miss.
    """

    rule: str
    stage: Stage
    candidates: int
    applied: int
    misses: tuple[Miss, ...] = ()
    partial: tuple[Miss, ...] = ()
    ops_before: Mapping[str, int] = dataclasses.field(default_factory=dict)
    ops_after: Mapping[str, int] = dataclasses.field(default_factory=dict)
    seconds: float = dataclasses.field(default=0.0, compare=False)
    pattern: str = ""

    def missed(self, kind: MissKind) -> int:
        """How many candidates were missed for this kind of reason."""
        return sum(miss.kind == kind for miss in self.misses)

    def __repr__(self) -> str:
        tail = f", {len(self.misses)} missed" if self.misses else ""
        tail += f", {len(self.partial)} partial" if self.partial else ""
        return f"RuleReport({self.rule}: {self.applied} of {self.candidates}{tail})"


@dataclasses.dataclass(frozen=True)
class OptimizationReport:
    """One run of the pipeline for one graph: the plan with its reasons, and a report per planned rule."""

    execution_provider: str
    dtype: str
    role: str
    planned: tuple[tuple[str, str], ...]
    """``(rule, because)`` in the order in which the rules ran."""
    skipped: tuple[tuple[str, str], ...]
    """``(rule, why not planned)``."""
    rules: tuple[RuleReport, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    dropped_inputs: tuple[str, ...] = ()
    nodes_before: int = 0
    nodes_after: int = 0
    stopped_after: str = ""
    """The stage after which the pipeline was told to stop; empty for a whole run."""
    seconds: Mapping[str, float] = dataclasses.field(default_factory=lambda: MappingProxyType({}), compare=False)

    @property
    def misses(self) -> tuple[Miss, ...]:
        """All misses of all rules, in pipeline order."""
        return tuple(miss for rule in self.rules for miss in rule.misses)

    def to_frame(self) -> pd.DataFrame:
        """A row per planned rule: stage, rule, candidates, applied, fact, precondition, unmatched, partial, seconds."""
        import pandas as pd

        rows = [
            [r.stage.name.lower(), r.rule, r.candidates, r.applied, r.missed("fact"), r.missed("precondition"),
             r.missed("unmatched"), len(r.partial), r.seconds]
            for r in self.rules
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=RULE_COLUMNS)

    def misses_frame(self) -> pd.DataFrame:
        """A row per miss: rule, node, scope, kind, reason."""
        import pandas as pd

        rows = [[m.rule, m.node, m.scope, m.kind, m.reason] for m in self.misses]
        return pd.DataFrame(rows, columns=MISS_COLUMNS)

    @property
    def _stop(self) -> str:
        return f"; stopped after {self.stopped_after}" if self.stopped_after else ""

    def __repr__(self) -> str:
        found = [f"{r.rule} {r.applied}/{r.candidates}" for r in self.rules if r.candidates]
        done = ", ".join(found) or ("no rule has candidates" if self.rules else "no rules planned")
        return (
            f"OptimizationReport({self.execution_provider} {self.dtype} {self.role}: "
            f"{self.nodes_before} -> {self.nodes_after} nodes; {done}{self._stop})"
        )

    def _repr_html_(self) -> str:
        import html

        table = self.to_frame().drop(columns="seconds").to_html(index=False, border=0)
        return f"<div><p>{html.escape(repr(self))}</p>{table}</div>"
