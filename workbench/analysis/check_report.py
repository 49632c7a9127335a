"""What a provider would make of a graph: every node that it does not simply run, what happens then, and the share."""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import TYPE_CHECKING, Any, Literal

from workbench.analysis.markup import block, escape, plural, table
from workbench.analysis.misses import fold_names

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal[
    "dtype", "domain", "forbidden", "control flow", "kernel", "type", "rank", "feature", "unknown operator",
    "index dtype", "graph", "opset",
]  # fmt: skip
Action = Literal[
    "runs it", "inserts casts", "inlines its body", "falls back to cpu", "falls back to cpu with casts", "refuses",
    "not known",
]  # fmt: skip
"""What ONNX Runtime would do with such a node."""
Severity = Literal["info", "warning", "error"]
FORMAT, VERSION = "ep-workbench.check", 1
COLUMNS = ["severity", "kind", "op", "node", "scope", "action", "reason"]
GROUP_COLUMNS = ["severity", "kind", "op", "nodes", "where", "action", "reason"]
SCOPE_COLUMNS = ["scope", "node", "native", "share"]
MOST = 3
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One node (or, with an empty ``node``, the graph itself) that is not simply run by the provider's own kernel."""

    severity: Severity
    kind: Kind
    op: str
    node: str
    scope: str
    action: Action
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings that differ in nothing but node and layer."""

    severity: Severity
    kind: Kind
    op: str
    nodes: int
    where: str
    action: Action
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class ScopeCount:
    """Nodes of one module, and how many of them the provider's own kernels run as they stand."""

    scope: str
    nodes: int
    native: int


@dataclasses.dataclass(frozen=True)
class CheckReport:
    """A graph against a provider. ``native`` of ``nodes`` are run by its own kernels as they stand.

    ``unjudged`` nodes have inputs of unknown type: they are counted as native where nothing else speaks against them.
    ``sources`` names the facts' record and the kernel tables that were asked.
    """

    model: str
    execution_provider: str
    dtype: str
    nodes: int
    native: int
    findings: tuple[Finding, ...]
    scopes: tuple[ScopeCount, ...]
    sources: tuple[str, ...]
    unjudged: int = 0

    @property
    def coverage(self) -> float:
        """Share of the nodes that the provider's own kernels run as they stand; 1.0 for a graph without nodes."""
        return self.native / self.nodes if self.nodes else 1.0

    @property
    def verdict(self) -> Literal["runs", "runs with notes", "refused"]:
        """``refused`` where something must not remain or cannot be run at all."""
        found = {finding.severity for finding in self.findings}
        return "refused" if "error" in found else "runs with notes" if "warning" in found else "runs"

    def __bool__(self) -> bool:
        return self.verdict != "refused"

    def groups(self) -> tuple[FindingGroup, ...]:
        """Findings with layers folded, errors first."""
        found: dict[tuple[str, ...], list[Finding]] = {}
        for one in self.findings:
            key = (one.severity, one.kind, one.op, one.action, one.reason, "" if one.scope else "bare")
            found.setdefault(key, []).append(one)
        order = {"error": 0, "warning": 1, "info": 2}
        return tuple(sorted((_group(members) for members in found.values()), key=lambda group: order[group.severity]))

    def counts(self) -> dict[str, int]:
        """Nodes by what ONNX Runtime would do with them."""
        other = collections.Counter(finding.action for finding in self.findings if finding.node)
        runs = self.nodes - sum(count for action, count in other.items() if action != "runs it")
        return {"runs it": runs, **{a: n for a, n in sorted(other.items()) if a != "runs it"}}

    def to_frame(self) -> pd.DataFrame:
        """A row per finding: severity, kind, op, node, scope, action, reason."""
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(one) for one in self.findings], columns=COLUMNS)

    def scopes_frame(self) -> pd.DataFrame:
        """A row per module: scope, node, native, share."""
        import pandas as pd

        rows = [[s.scope, s.nodes, s.native, s.native / s.nodes] for s in self.scopes]
        return pd.DataFrame(rows, columns=SCOPE_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "format": FORMAT, "format_version": VERSION, "model": self.model,
            "execution_provider": self.execution_provider, "dtype": self.dtype, "verdict": self.verdict,
            "nodes": self.nodes, "native": self.native, "coverage": self.coverage, "unjudged": self.unjudged,
            "actions": self.counts(), "sources": list(self.sources),
            "findings": [dataclasses.asdict(one) for one in self.findings],
            "scopes": [dataclasses.asdict(one) for one in self.scopes],
        }  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"CheckReport({self.model} on {self.execution_provider} in {self.dtype}: {self.verdict}, "
            f"{self.native} of {plural(self.nodes, 'node')} native ({self.coverage:.1%}), {_counted(self.findings)})"
        )

    def __str__(self) -> str:
        lines = [
            f"  {g.severity}: {g.nodes} x {g.op or 'graph'}: {g.reason}{g.where and f' [{g.where}]'} -> {g.action}"
            for g in self.groups()
        ]  # fmt: skip
        return "\n".join([repr(self), *lines, *(f"  asked: {source}" for source in self.sources)])

    def _repr_html_(self) -> str:
        rows = [dataclasses.astuple(group) for group in self.groups()]
        found = table(GROUP_COLUMNS, rows, empty="Every node is run by the provider's own kernels.")
        asked = "".join(f"<li>{escape(source)}</li>" for source in self.sources)
        return block(repr(self), found, f"<p>Asked:</p><ul>{asked}</ul>")


def _group(members: list[Finding]) -> FindingGroup:
    first = members[0]
    names = [member.scope or member.node for member in members]
    return FindingGroup(
        first.severity, first.kind, first.op, len(members), _where(names), first.action, first.reason
    )  # fmt: skip


def _where(names: list[str]) -> str:
    """Modules with their layers folded, at most three of them."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_INDEX.sub("*", name), []).append(name)
    shown = [fold_names(found) for found in list(alike.values())[:MOST]]
    more = f" and {len(alike) - MOST} more" if len(alike) > MOST else ""
    return ", ".join(shown) + more


def _counted(findings: tuple[Finding, ...]) -> str:
    counts = collections.Counter(finding.severity for finding in findings)
    return ", ".join(plural(counts[word], word) for word in ("error", "warning") if counts[word]) or "no findings"
