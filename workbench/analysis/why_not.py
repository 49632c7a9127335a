"""Why a rule did not fire: which fact, which anchors, and at each candidate the conditions that failed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from workbench.analysis.markup import block, escape, plural, table
from workbench.analysis.near_miss import NearMiss
from workbench.rules.report import Miss

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["not planned", "raised", "no candidates", "missed", "partly missed", "fired"]
COLUMNS = ["rule", "execution_provider", "node", "scope", "kind", "pattern", "graph", "sentence", "at"]
MOST_IN_TEXT = 12


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is not as the rule wants it, at one candidate.

    ``pattern`` and ``graph`` are the two sides of a line that differs. Both are empty for the rule's own reason, which
    may speak of what no pattern says (sizes, dtypes, kernels, other readers); ``at`` is where it points.
    """

    node: str
    scope: str
    kind: str
    pattern: str
    graph: str
    sentence: str
    at: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Anchor:
    """An operator that the rule starts from, counted in the main graph when the rule looked.

    ``candidates`` of those ``nodes`` are what the rule looks at; ``inner`` ones stand in branches and bodies, where no
    rule looks. ``namesakes`` are operators of the same name in other domains, with their counts.
    """

    op: str
    nodes: int
    candidates: int
    inner: int = 0
    namesakes: tuple[tuple[str, int], ...] = ()


@dataclasses.dataclass(frozen=True)
class WhyNot:
    """The answer. ``facts`` say what a plan was decided by, ``near`` holds a nearest miss per candidate left alone.

    ``fired`` names the candidates that were rewritten, ``partial`` what those rewrites left outside, ``there`` the
    operators that the rule would make and that the graph had before it.
    """

    rule: str
    execution_provider: str
    dtype: str
    scope: str
    verdict: Verdict
    sentence: str
    needs: str = ""
    facts: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    near: tuple[NearMiss, ...] = ()
    fired: tuple[str, ...] = ()
    partial: tuple[Miss, ...] = ()
    there: tuple[tuple[str, int], ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every condition that failed, candidate by candidate: the rule's own reason, then the lines that differ."""
        found: list[Condition] = []
        for near in self.near:
            found.append(Condition(near.node, near.scope, near.kind, "", "", near.reason, near.at))
            found += [
                Condition(near.node, near.scope, near.kind, pair.pattern, pair.graph, pair.sentence, pair.node)
                for pair in near.alignment.mismatches
            ]
        found += [Condition(m.node, m.scope, "partial", "", "", m.reason, m.at) for m in self.partial]
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """A row per condition that failed: ``COLUMNS``."""
        import pandas as pd

        head = [self.rule, self.execution_provider]
        rows = [[*head, *dataclasses.astuple(condition)] for condition in self.conditions]
        return pd.DataFrame(rows, columns=COLUMNS)

    def __repr__(self) -> str:
        where = f" in {self.scope}" if self.scope else ""
        return f"WhyNot({self.rule} for {self.execution_provider} in {self.dtype}{where}: {self.sentence})"

    def __str__(self) -> str:
        """Everything as text: facts, anchors, and the first of the candidates that were left alone."""
        shown = [f"  {line}" for near in self.near[:MOST_IN_TEXT] for line in str(near).splitlines()]
        left = len(self.near) - MOST_IN_TEXT
        return "\n".join([
            repr(self),
            *(f"  fact: {fact}" for fact in self.facts),
            *(f"  anchor: {_anchor(anchor)}" for anchor in self.anchors),
            *(f"  there already: {op} {count}" for op, count in self.there),
            *(f"  partial at {miss.node}: {miss.reason}" for miss in self.partial),
            *shown,
            *([f"  ... and {left:,} more"] if left > 0 else []),
        ])  # fmt: skip

    def _repr_html_(self) -> str:
        head = f"<p>{escape(self.sentence)}</p>"
        facts = "".join(f"<li>{escape(fact)}</li>" for fact in self.facts)
        anchors = table(["anchor"], [[_anchor(anchor)] for anchor in self.anchors], empty="No anchor was counted.")
        near = "".join(near._repr_html_() for near in self.near[:MOST_IN_TEXT])
        partial = "".join(f"<p>{escape(f'partial at {m.node}: {m.reason}')}</p>" for m in self.partial)
        title = f"{self.rule} for {self.execution_provider} in {self.dtype}"
        return block(title, head, f"<ul>{facts}</ul>" if facts else "", anchors if self.anchors else "", near, partial)


def _anchor(anchor: Anchor) -> str:
    """``Attention: 2 nodes, 1 candidate; com.microsoft.Attention: 3 nodes``."""
    inner = f", {anchor.inner} more inside of branches and bodies, where no rule looks" if anchor.inner else ""
    others = "".join(f"; {op}: {plural(count, 'node')}, of another domain" for op, count in anchor.namesakes)
    return f"{anchor.op}: {plural(anchor.nodes, 'node')}, {plural(anchor.candidates, 'candidate')}{inner}{others}"
