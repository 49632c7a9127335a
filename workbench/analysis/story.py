"""The story of a node: what cleanup, fusion, lowering and folding did to it, and what a saved file says of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import onnx_ir as ir

from workbench.analysis.markup import block, escape, plural, table
from workbench.analysis.places import unknown_place
from workbench.analysis.scopes import scope_of
from workbench.rules.alignment import text_of
from workbench.rules.graph import use_of
from workbench.rules.recording import RecordedNode, RecordedStep, Recording
from workbench.types import REPLACES_KEY, RULES_KEY, SCOPE_KEY

if TYPE_CHECKING:
    import pandas as pd

    from workbench.rules.report import Miss, OptimizationReport

COLUMNS = ["index", "stage", "rule", "sentence", "before", "after", "file", "line"]
MOST = 6


@dataclasses.dataclass(frozen=True)
class Chapter:
    """What one step did to the nodes that are told of.

    ``stage`` is ``given``, one of the pipeline's, or ``saved`` (what a file keeps). ``index`` is the recording's step,
    0 where there is none; ``file`` and ``line`` say where the rule is written.
    """

    stage: str
    rule: str
    sentence: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    index: int = 0
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f" [{self.file}:{self.line}]" if self.file else ""
        return f"{self.stage}: {self.sentence}{place}"


@dataclasses.dataclass(frozen=True)
class Story:
    """Chapters in order. ``kind``: ``where`` is a ``node`` or a ``scope``; ``told_from``: a recording, or metadata.

    ``now`` names the nodes of the final graph that it ends in; empty where nothing is left.
    """

    where: str
    kind: str
    execution_provider: str
    told_from: str
    chapters: tuple[Chapter, ...]
    now: tuple[str, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that had a hand in it, in order."""
        return tuple(dict.fromkeys(c.rule for c in self.chapters if c.rule and (c.before or c.after)))

    def to_frame(self) -> pd.DataFrame:
        """A row per chapter: ``COLUMNS``; ``before`` and ``after`` are names, one a line."""
        import pandas as pd

        rows = [
            [c.index, c.stage, c.rule, c.sentence, "\n".join(c.before), "\n".join(c.after), c.file, c.line]
            for c in self.chapters
        ]
        return pd.DataFrame(rows, columns=COLUMNS)

    def __repr__(self) -> str:
        ends = _some(self.now) if self.now else "nothing: it is gone"
        count = plural(len(self.chapters), "chapter")
        return f"Story({self.kind} {self.where} for {self.execution_provider or 'any'}: {count}; now {ends})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *(f"  {chapter}" for chapter in self.chapters)])

    def _repr_html_(self) -> str:
        rows = [[c.stage, c.rule, c.sentence, f"{c.file}:{c.line}" if c.file else ""] for c in self.chapters]
        told = table(["stage", "rule", "what happened", "written in"], rows, empty="Nothing happened to it.")
        return block(f"{self.kind} {self.where}", f"<p>{escape(repr(self))}</p>", told)


def from_recording(
    model: ir.Model, report: OptimizationReport, recording: Recording | None, where: str
) -> Story:  # fmt: skip
    """The story as it was recorded.

    Raises:
        UnknownNameError: nothing has that name at any moment.
    """
    if recording is None:
        return from_metadata(model, where, reports=(report,))
    ever = [*recording.first, *(node for step in recording.steps for node in step.added)]
    seeds = {node.key for node in ever if where in (node.name, *node.outputs)}
    kind = "node" if seeds else "scope"
    seeds = seeds or {node.key for node in ever if node.scope == where or node.scope.startswith(f"{where}.")}
    if not seeds:
        raise unknown_place(where, {n.name for n in ever} | {n.scope for n in ever}, model)
    keys = seeds if kind == "scope" else _before(recording, seeds) | _after(recording, seeds)
    alive = {node.key: node for node in recording.at(len(recording.steps))}
    now = tuple(alive[key].name for key in alive if key in (keys if kind == "scope" else _after(recording, seeds)))
    misses = {(m.rule, m.node): m for rule in report.rules for m in (*rule.misses, *rule.partial)}
    chapters = [*_given(recording, keys), *_steps(recording, keys, misses), *_saved(model, now)]
    return Story(where, kind, report.execution_provider, "recording", tuple(chapters), now)


# --- who comes from whom ------------------------------------------------------------------------------------
def _links(step: RecordedStep) -> list[tuple[set[int], set[int]]]:
    """``(gone, come)`` keys that belong together. A pass over the whole graph only ties a call to its inlined body."""
    come = [node for node in step.added if node.key not in step.rewired]
    gone = [node for node in step.removed if node.key not in step.rewired]
    if step.anchor:
        return [({node.key for node in gone}, {node.key for node in come})]
    made = {value: node for node in come for value in node.outputs if value}
    return [({node.key}, _body(node, made)) for node in gone]


def _body(call: RecordedNode, made: dict[str, RecordedNode]) -> set[int]:
    """The new nodes that a call's results are computed by."""
    found: set[int] = set()
    todo = list(call.outputs)
    while todo:
        node = made.get(todo.pop())
        if node is not None and node.key not in found:
            found.add(node.key)
            todo += node.inputs
    return found


def _after(recording: Recording, keys: set[int]) -> set[int]:
    """These nodes and all that was made of them."""
    found = set(keys)
    for step in recording.steps:
        for gone, come in _links(step):
            if gone & found:
                found |= come
    return found


def _before(recording: Recording, keys: set[int]) -> set[int]:
    """These nodes and all that they were made of."""
    found = set(keys)
    for step in reversed(recording.steps):
        for gone, come in _links(step):
            if come & found:
                found |= gone
    return found


# --- chapters -----------------------------------------------------------------------------------------------
def _given(recording: Recording, keys: set[int]) -> list[Chapter]:
    nodes = [node for node in recording.first if node.key in keys]
    if not nodes:
        return []
    listed = _some([f"{node.op} {node.name!r}" for node in nodes])
    names = tuple(node.name for node in nodes)
    return [Chapter("given", "", f"the graph has {plural(len(nodes), 'such node')}: {listed}", names, names)]


def _steps(recording: Recording, keys: set[int], misses: dict[tuple[str, str], Miss]) -> list[Chapter]:
    told: list[Chapter] = []
    names = {node.key: node.name for node in recording.first}
    looked: dict[int, list[tuple[str, str]]] = {}
    for rule, node, index in recording.refused:
        looked.setdefault(index, []).append((rule, node))
    for step in (None, *recording.steps):
        if step is not None:
            told += _step(step, keys)
            names |= {node.key: node.name for node in step.added}
        mine = {names[key] for key in keys if key in names}
        for rule, node in looked.get(step.index if step is not None else 0, ()):
            if node in mine and (rule, node) in misses:
                told.append(_left(misses[rule, node]))
    return told


def _step(step: RecordedStep, keys: set[int]) -> list[Chapter]:
    gone = [node for node in step.removed if node.key in keys]
    come = [node for node in step.added if node.key in keys]
    if not gone and not come:
        return []
    sentence = _rewrite(step, gone, come) if step.anchor else _pass(step, gone, come)
    before, after = tuple(n.name for n in gone), tuple(n.name for n in come)
    return [Chapter(step.stage, step.rule, sentence, before, after, step.index, step.file, step.line)]


def _left(miss: Miss) -> Chapter:
    said = f"{miss.rule} left {miss.node!r} alone, or a part of it: {miss.kind}: {miss.reason}"
    return Chapter(miss.rule.split("/")[0], miss.rule, said)


def _rewrite(step: RecordedStep, gone: Sequence[RecordedNode], come: Sequence[RecordedNode]) -> str:
    old = _some([node.op for node in (gone or step.removed)])
    new = _some([f"{node.op} {node.name!r}" for node in (come or step.added)])
    return f"{step.rule} at {step.anchor!r} put {new} in the place of {old}"


def _pass(step: RecordedStep, gone: Sequence[RecordedNode], come: Sequence[RecordedNode]) -> str:
    """What a pass over the whole graph did to each of some nodes."""
    later = {node.key: node for node in come}
    parts = [_changed(node, later[node.key]) if node.key in later else _gone(step, node) for node in gone]
    known = {node.key for node in gone}
    bodies = [node for node in come if node.key not in known]
    if bodies:
        parts.append(f"{plural(len(bodies), 'node')} of a body came: {_some([node.op for node in bodies])}")
    return f"{step.rule}: {'; '.join(dict.fromkeys(parts))}"


def _changed(old: RecordedNode, new: RecordedNode) -> str:
    if old.name != new.name:
        return f"{old.name or old.op!r} is called {new.name!r} from now on"
    pairs = zip(old.inputs, new.inputs, strict=False)
    reads = [f"{b!r} instead of {a!r}" for a, b in pairs if a != b]
    return f"{new.name!r} reads {_some(reads)}" if reads else f"{new.name!r} has other attributes or outputs"


def _gone(step: RecordedStep, node: RecordedNode) -> str:
    """Where the readers of a node that went are looking now."""
    after = {other.key: other for other in step.added}
    now = {
        b
        for reader in step.removed if reader.key in after
        for a, b in zip(reader.inputs, after[reader.key].inputs, strict=False) if a in node.outputs and a != b
    }  # fmt: skip
    if now:
        return f"{node.name!r} ({node.op}) went, its readers read {_some(sorted(now))}"
    if step.rule.endswith("/inline"):
        return f"{node.name!r} ({node.op}) was called, and its body stands in its place"
    return f"{node.name!r} ({node.op}) went, nobody reads it"


def _saved(model: ir.Model, names: Iterable[str]) -> list[Chapter]:
    by_name = {node.name: node for node in model.graph}
    return [chapter for name in names if name in by_name for chapter in _metadata(by_name[name])]


def _metadata(node: ir.Node) -> list[Chapter]:
    """What a node says of itself, which a file keeps."""
    props = node.metadata_props
    rules, old = props.get(RULES_KEY, "").split(), tuple(props.get(REPLACES_KEY, "").split())
    if not rules:
        return []
    scope = f" for {props[SCOPE_KEY]}" if props.get(SCOPE_KEY) else ""
    made = f"{', then '.join(rules)} made {use_of(node)} {node.name!r}{scope}"
    name = (node.name or "",)
    return [Chapter("saved", rules[-1], f"{made} in the place of {_some(old) or 'nothing that is named'}", old, name)]


# --- without a recording ------------------------------------------------------------------------------------
def from_metadata(
    model: ir.Model, where: str, *, reports: Sequence[OptimizationReport] = (), provider: str = ""
) -> Story:
    """The story as a graph tells it of itself: after saving and loading this is all there is.

    Raises:
        UnknownNameError: no node has that name, makes that value, replaced a node of that name or is in that module.
    """
    nodes = list(ir.traversal.RecursiveGraphIterator(model.graph))
    found = [node for node in nodes if where in (node.name, *(v.name for v in node.outputs))]
    found = found or [node for node in nodes if where in node.metadata_props.get(REPLACES_KEY, "").split()]
    kind = "node" if found else "scope"
    found = found or [node for node in nodes if (at := scope_of(node)) == where or at.startswith(f"{where}.")]
    if not found:
        known = {node.name or "" for node in nodes} | {scope_of(node) for node in nodes}
        raise unknown_place(where, known, model)
    now = tuple(node.name or "" for node in found)
    provider = provider or next((report.execution_provider for report in reports), "")
    chapters = [chapter for node in found for chapter in _told(node, reports)]
    return Story(where, kind, provider, "metadata", tuple(chapters), now)


def _told(node: ir.Node, reports: Sequence[OptimizationReport]) -> list[Chapter]:
    own = _metadata(node)
    names = {node.name, *(name for chapter in own for name in chapter.before)}
    left = [m for r in reports for rule in r.rules for m in (*rule.misses, *rule.partial) if m.node in names]
    missed = [_left(miss) for miss in left]
    if own or missed:
        return [*missed, *own]
    scope = scope_of(node)
    where = f", which {scope} made" if scope else ""
    return [Chapter("saved", "", f"no rule made it{where}: {text_of(node)}", (), (node.name or "",))]


def _some(names: Iterable[str]) -> str:
    counted: dict[str, int] = {}
    for name in names:
        counted[name] = counted.get(name, 0) + 1
    words = [name if count == 1 else f"{name} x {count}" for name, count in counted.items()]
    more = f" and {len(words) - MOST} more" if len(words) > MOST else ""
    return ", ".join(words[:MOST]) + more


__all__ = ["Chapter", "Story", "from_metadata", "from_recording"]
