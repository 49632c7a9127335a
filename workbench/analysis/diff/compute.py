"""``diff``: two models in, one :class:`GraphDiff` out. Nothing is built, run or written; weights are not computed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from workbench.analysis.diff.boundary import Boundary
from workbench.analysis.diff.changes import node_changes
from workbench.analysis.diff.flat import Side, flatten
from workbench.analysis.diff.given import Given, take
from workbench.analysis.diff.graph_diff import GraphDiff
from workbench.analysis.diff.graph_level import config_changes, graph_changes
from workbench.analysis.diff.groups import Draft, explain
from workbench.analysis.diff.infos import infos
from workbench.analysis.diff.labels import label
from workbench.analysis.diff.levels import match
from workbench.analysis.diff.matching import Matcher
from workbench.analysis.diff.provenance import same_origin, seed
from workbench.analysis.diff.result import Change, Entry, Group
from workbench.analysis.diff.runs import layer_runs
from workbench.analysis.diff.uniform import Uniform, uniform
from workbench.analysis.diff.union import Pair, edges, ordered
from workbench.analysis.diff.weights import match_weights
from workbench.errors import wrong_type
from workbench.passes.collector import collector_paused

if TYPE_CHECKING:
    import os

    import onnx
    import onnx_ir as ir

    from workbench.package import Package


Method = Literal["provenance", "structure"]


def diff(
    a: ir.Model | onnx.ModelProto | str | os.PathLike[str] | Package | Any,
    b: ir.Model | onnx.ModelProto | str | os.PathLike[str] | Package | Any,
    *,
    labels: tuple[str, str] | None = None,
    provenance: bool = True,
    read_weights: bool = False,
) -> GraphDiff:
    """Compare two graphs: which nodes they share, what changed about those, what went and came, and why.

    Args:
        a, b: ``ir.Model``, ``onnx.ModelProto``, the path of an .onnx file or of a folder, a package of one model, or
            what ``optimize`` returns.
        labels: what to call them; None takes execution providers, file names or graph names.
        provenance: use what our pipeline wrote into nodes, where both graphs come from one generic graph. Otherwise,
            and for foreign graphs, structure alone decides.
        read_weights: compare the whole content of every initializer, computing lazy ones. Otherwise up to 64 KiB of
            each that is at hand are compared, and ``unread`` names the others.

    Raises:
        ArgumentError: a value that holds no model, or labels that are not two texts.
        ModelFileError: a file that cannot be read, a graph with a cycle or with a reader of nothing.
        WorkbenchError: a package of several models.
    """
    given = take("a", a), take("b", b)
    with collector_paused():
        return _diff(given, _labels(labels, given), provenance=provenance, read=read_weights)


def _diff(given: tuple[Given, Given], names: tuple[str, str], *, provenance: bool, read: bool) -> GraphDiff:
    start = time.perf_counter()
    sides = flatten(given[0].model), flatten(given[1].model)
    matcher = Matcher(*sides, label(*sides, read=read))
    method: Method = "provenance" if provenance and same_origin(*sides) else "structure"
    if method == "provenance":
        seed(matcher)
    stand_ins = match(matcher)
    boundary = Boundary(matcher, match_weights(matcher))
    whole = uniform(_values(sides, matcher.to[0]))
    drafts = explain(boundary, stand_ins, provenance=method == "provenance")
    changes = graph_changes(boundary, whole, _folded(sides, matcher.to, drafts)) + _config(given)
    return _result(names, sides, boundary, whole, drafts, changes, method, start)


def _labels(labels: Any, given: tuple[Given, Given]) -> tuple[str, str]:
    if labels is not None:
        if not isinstance(labels, tuple | list) or len(labels) != 2 or not all(isinstance(x, str) for x in labels):
            raise wrong_type("labels", labels, "two texts")
        return _readable(labels[0]), _readable(labels[1])
    first, second = _readable(given[0].label), _readable(given[1].label)
    return (first, second) if first != second else ("a", "b")


def _readable(label: str) -> str:
    """A label as it can be written anywhere: the name of a file may hold bytes that are no text."""
    return label.encode("utf-8", "replace").decode("utf-8")


def _values(sides: tuple[Side, Side], to: list[int]) -> list[tuple[ir.Value, ir.Value]]:
    a, b = sides
    return [
        pair for x, y in enumerate(to) if y >= 0 for pair in zip(a.nodes[x].outputs, b.nodes[y].outputs, strict=False)
    ]


def _folded(
    sides: tuple[Side, Side], to: tuple[list[int], list[int]], drafts: list[Draft]
) -> tuple[set[int], set[int]]:
    """Weights that only explained nodes read on one side, or that stand where such nodes stood."""
    explained = (
        {i for draft in drafts for i in draft.before},
        {i for draft in drafts for i in draft.after},
    )
    found: tuple[set[int], set[int]] = (set(), set())
    for number, side in enumerate(sides):
        other = sides[1 - number]
        for weight, users in enumerate(side.users):
            if users and all(_is_explained(number, u, p, other, to, explained) for u, p in users):
                found[number].add(weight)
    return found


def _is_explained(
    number: int, node: int, position: int, other: Side, to: tuple[list[int], list[int]],
    explained: tuple[set[int], set[int]],
) -> bool:  # fmt: skip
    if node in explained[number]:
        return True
    partner = to[number][node]
    if partner < 0 or position >= len(other.sources[partner]):
        return False
    source = other.sources[partner][position]
    return source is not None and source[0] == "n" and source[1] in explained[1 - number]


def _config(given: tuple[Given, Given]) -> list[Change]:
    if not (given[0].is_package and given[1].is_package):
        return []
    return config_changes(given[0].settings, given[1].settings)


def _result(
    names: tuple[str, str], sides: tuple[Side, Side], boundary: Boundary, whole: Uniform, drafts: list[Draft],
    changes: list[Change], method: Method, start: float,
) -> GraphDiff:  # fmt: skip
    a, b = sides
    pairs = ordered(a, b, boundary.to)
    drafts.sort(key=lambda d: (d.before[:1] or [10**9], d.after[:1]))
    of = {(n, i): k for k, d in enumerate(drafts) for n, nodes in enumerate((d.before, d.after)) for i in nodes}
    entries = tuple(_entry(boundary, whole, pair, of) for pair in pairs)
    records = infos(a), infos(b)
    groups = _groups(drafts, pairs, records)
    shown = [records[1][e.b] if e.b is not None else records[0][e.a or 0] for e in entries]
    unread, sampled = _not_compared(boundary)
    return GraphDiff(
        labels=names, a=records[0], b=records[1], entries=entries, edges=edges(a, b, pairs), groups=groups,
        changes=tuple(changes), runs=layer_runs(entries, shown, groups), method=method, unread=unread, sampled=sampled,
        seconds=time.perf_counter() - start,
    )  # fmt: skip


def _entry(boundary: Boundary, whole: Uniform, pair: Pair, of: dict[tuple[int, int], int]) -> Entry:
    x, y = pair
    if x < 0:
        return Entry(None, y, "added", group=of.get((1, y), -1))
    if y < 0:
        return Entry(x, None, "removed", group=of.get((0, x), -1))
    found = node_changes(boundary, whole, x, y)
    return Entry(x, y, "changed" if found else "same", found)


def _groups(drafts: list[Draft], pairs: list[Pair], records: tuple[Any, Any]) -> tuple[Group, ...]:
    at = [{pair[n]: i for i, pair in enumerate(pairs) if pair[1 - n] < 0} for n in (0, 1)]
    made = []
    for draft in drafts:
        before = tuple(sorted(at[0][i] for i in draft.before))
        after = tuple(sorted(at[1][i] for i in draft.after))
        scopes = [records[1][i].scope for i in draft.after] or [records[0][i].scope for i in draft.before]
        made.append(Group(draft.rule, common_scope(scopes), before, after))
    return tuple(made)


def common_scope(scopes: list[str]) -> str:
    """The innermost scope that holds all of them."""
    parts = [scope.split(".") for scope in scopes]
    shared = []
    for step in zip(*parts, strict=False):
        if len(set(step)) > 1:
            break
        shared.append(step[0])
    return ".".join(shared)


def _not_compared(boundary: Boundary) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of matched weights whose contents were not compared, and of those compared by a sample."""
    unread, sampled = [], []
    for i, j in enumerate(boundary.weights[0]):
        if j < 0:
            continue
        prints = boundary.labels[0].prints[i], boundary.labels[1].prints[j]
        name = boundary.sides[0].initializers[i].name or ""
        one, other = (p[:3] if p is not None and p[0] != "object" else None for p in prints)
        if one is None or one != other:  # not read, or of two dtypes or shapes
            if prints[0] is None or prints[0] != prints[1]:
                unread.append(name)
        elif one[0] == "sample":
            sampled.append(name)
    return tuple(unread), tuple(sampled)
