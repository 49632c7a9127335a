"""The nearest miss: a rule's pattern beside the node that it left alone, and the few nodes around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

import onnx_ir as ir

from workbench.analysis.markup import block, escape, table
from workbench.analysis.rebuilt import rebuilt
from workbench.rules import RULES
from workbench.rules.alignment import Alignment, Pair, nearest
from workbench.rules.graph import scope, use_of
from workbench.rules.pattern import parse
from workbench.types import REPLACES_KEY

if TYPE_CHECKING:
    import pandas as pd

    from workbench.rules.recording import Recording
    from workbench.rules.report import Miss

Mark = Literal["anchor", "agrees", "differs", "around"]
Moment = Literal["when the rule looked", "the final graph", ""]
COLUMNS = ["rule", "pattern", "graph", "state", "sentence", "node"]
MOST_NODES = 25
SIGNS = {"ok": "=", "optional": "·", "mismatch": "≠", "unreached": "?"}


@dataclasses.dataclass(frozen=True, slots=True)
class EgoNode:
    """A node near the anchor, or a graph input or initializer that the pattern's walk ended at (``op`` says which)."""

    name: str
    op: str
    scope: str
    mark: Mark


@dataclasses.dataclass(frozen=True, slots=True)
class EgoEdge:
    """A value from one of these nodes to another, by their places in the list."""

    source: int
    target: int
    value: str


@dataclasses.dataclass(frozen=True)
class NearMiss:
    """A miss with the rule's pattern laid beside the graph.

    ``moment`` says which graph that was: the recorded one at the moment when the rule looked, or the final one, in
    which later steps show as well. It is empty where the node is in neither. ``at`` is the node or value that the
    reason speaks of, where the rule says which.
    """

    rule: str
    node: str
    op: str
    scope: str
    kind: str
    reason: str
    verdict: str
    at: str = ""
    alignment: Alignment = Alignment()
    nodes: tuple[EgoNode, ...] = ()
    edges: tuple[EgoEdge, ...] = ()
    moment: Moment = ""

    def to_frame(self) -> pd.DataFrame:
        """A row per line of the pattern: rule, pattern, graph, state, sentence, node."""
        import pandas as pd

        rows = [[self.rule, p.pattern, p.graph, p.state, p.sentence, p.node] for p in self.alignment.pairs]
        return pd.DataFrame(rows, columns=COLUMNS)

    def __repr__(self) -> str:
        return f"NearMiss({self.rule} at {self.node}: {self.verdict})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *(f"  {line}" for line in str(self.alignment).splitlines())])

    def _repr_html_(self) -> str:
        rows = [[SIGNS[p.state], p.pattern, p.graph, p.sentence] for p in self.alignment.pairs]
        lines = table(["", "pattern", "graph", "what differs"], rows, empty="This rule has no pattern to read.")
        said = f"<p>{escape(self.kind)}: {escape(self.reason)}</p><p>{escape(self.verdict)}</p>"
        return block(f"{self.rule} at {self.node}", said, lines)


def near_miss(
    miss: Miss, graph: ir.Model | ir.Graph | None = None, *, recording: Recording | None = None,
    pattern: str | None = None,
) -> NearMiss:  # fmt: skip
    """Lay the pattern of a miss's rule beside the graph.

    ``recording`` gives the graph of the moment when the rule looked; without it ``graph`` is taken, the final one, in
    which the node is still there unless a later rule replaced it. ``pattern`` is that of a rule of your own.
    """
    if pattern is None:
        pattern = next((rule.pattern for rule in RULES if rule.name == miss.rule), "")
    index = recording.looked(miss.rule, miss.node) if recording is not None else None
    if recording is not None and index is not None:
        return in_graph(miss, rebuilt(recording, index), "when the rule looked", pattern)
    final = graph.graph if isinstance(graph, ir.Model) else graph
    return in_graph(miss, final, "the final graph", pattern)


def in_graph(miss: Miss, graph: ir.Graph | None, moment: Moment, pattern: str) -> NearMiss:
    """The same on one graph."""
    anchor = next((node for node in graph if node.name == miss.node), None) if graph is not None else None
    if anchor is None:
        verdict = _gone(miss, graph)
        return NearMiss(miss.rule, miss.node, "", miss.scope, miss.kind, miss.reason, verdict, miss.at)
    return at_node(miss, anchor, moment, pattern)


def at_node(miss: Miss, anchor: ir.Node, moment: Moment, pattern: str) -> NearMiss:
    """The same where the node is at hand."""
    alignment = nearest(pattern, anchor)
    nodes, edges = _around(anchor, alignment, parse(pattern).depth if pattern else 1)
    op = str(use_of(anchor))
    verdict = _verdict(alignment, miss.reason)
    return NearMiss(
        miss.rule, miss.node, op, miss.scope, miss.kind, miss.reason, verdict, miss.at, alignment, nodes, edges, moment
    )


def _gone(miss: Miss, graph: ir.Graph | None) -> str:
    by = [n.name for n in graph or () if miss.node in n.metadata_props.get(REPLACES_KEY, "").split()]
    became = f", it became {by[-1]!r}" if by else ""
    return f"The node is not in the final graph{became}. With record=True the graph is kept as the rule saw it."


def _verdict(alignment: Alignment, reason: str) -> str:
    if not alignment.pairs:
        return "The rule has no pattern to read; the reason is all there is."
    if alignment.complete:
        return f"Every line of the pattern agrees. What the rule refused is none of its shape: {reason}."
    wrong = [pair.sentence for pair in alignment.mismatches]
    agree = sum(pair.ok for pair in alignment.pairs)
    return f"{agree} of {len(alignment.pairs)} lines agree; {'; '.join(wrong)}."


# --- the nodes around -------------------------------------------------------------------------------------
def _around(anchor: ir.Node, alignment: Alignment, depth: int) -> tuple[tuple[EgoNode, ...], tuple[EgoEdge, ...]]:
    found = list(dict.fromkeys(_near(anchor, depth)))[:MOST_NODES]
    marks = _marks(alignment)
    nodes = [EgoNode(n.name or "", str(use_of(n)), scope(n), _mark(n, anchor, marks)) for n in found]
    places = {node: i for i, node in enumerate(found)}
    edges = [
        EgoEdge(places[maker], i, value.name or "")
        for i, node in enumerate(found)
        for value in node.inputs
        if value is not None and (maker := value.producer()) in places
    ]
    ends = list(_ends(alignment, found, MOST_NODES - len(found)))
    for number, (value, readers) in enumerate(ends, len(found)):
        nodes.append(
            EgoNode(value.name or "", "initializer" if value.is_initializer() else "graph input", "", "differs")
        )
        edges += [EgoEdge(number, places[reader], value.name or "") for reader in readers]
    return tuple(nodes), tuple(dict.fromkeys(edges))


def _near(anchor: ir.Node, depth: int) -> Iterator[ir.Node]:
    """The anchor, who reads it, and its producers level by level."""
    yield anchor
    yield from _readers(anchor.outputs)[:4]
    level = [anchor]
    for _ in range(depth):
        level = [maker for node in level for x in node.inputs if x is not None and (maker := x.producer()) is not None]
        yield from level


def _readers(values: Iterable[ir.Value]) -> list[ir.Node]:
    return list(dict.fromkeys(use.node for value in values for use in value.uses()))


def _marks(alignment: Alignment) -> dict[str, Pair]:
    return {pair.node: pair for pair in alignment.pairs if pair.node}


def _mark(node: ir.Node, anchor: ir.Node, marks: dict[str, Pair]) -> Mark:
    pair = marks.get(node.name or "")
    if pair is not None and pair.state == "mismatch":
        return "differs"
    if node is anchor:
        return "anchor"
    return "agrees" if pair is not None else "around"


def _ends(alignment: Alignment, found: list[ir.Node], most: int) -> Iterator[tuple[ir.Value, list[ir.Node]]]:
    """Values without a maker at which a line of the pattern ended, with their readers among the nodes."""
    wanted = {pair.value for pair in alignment.mismatches if pair.value and not pair.node}
    loose = {x: None for node in found for x in node.inputs if x is not None and x.name in wanted and not x.producer()}
    for value in list(loose)[:most]:
        yield value, [node for node in found if value in node.inputs]
