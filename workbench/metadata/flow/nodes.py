"""The steps of a document as nodes in the order of the picture, each with the values that it reads and makes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.analysis.markup import plural
from workbench.metadata.analyses.tables import contract_text
from workbench.metadata.context import WORKFLOW, AnyStep, Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import AdapterImplementation, Component, OnnxImplementation
from workbench.metadata.document.steps import BranchStep, EmitStep, InvokeStep, LoopStep, SequenceStep
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.flow.records import FlowNode, NodeKind, PortRow, longest, runs
from workbench.metadata.references import joins
from workbench.metadata.scope import Value
from workbench.metadata.wording import cut

_MOST_NAMES = 5
_STATE = ("carry", "loop")  # the makers of cells: a loop has them, though they stand in its carried list
_Row = tuple[str, str, Path]  # port, value, and the place where the value's name stands


@dataclasses.dataclass
class _Draft:
    parent: int
    depth: int
    kind: NodeKind
    title: str
    note: str
    path: Path
    reads: list[_Row] = dataclasses.field(default_factory=list)
    writes: list[_Row] = dataclasses.field(default_factory=list)
    component: str = ""
    artifact: str = ""


class Nodes:
    """``done`` are the nodes; ``at`` finds the one that a path leads to, or into."""

    def __init__(self, context: Context, workflow: Workflow) -> None:
        self.context, self.workflow = context, workflow
        self.read_at = {use.path: value for value in context.scope.values for use in value.uses}
        self.made_at = {value.path: value for value in context.scope.values}
        self.drafts: list[_Draft] = []
        self.places: dict[Path, int] = {}
        self._add: Mapping[type, Callable[[Any, Path, int], None]] = {
            InvokeStep: self._invoke, LoopStep: self._loop, BranchStep: self._branch, EmitStep: self._emit,
            SequenceStep: self._sequence,
        }  # fmt: skip
        self._document()
        self.next_of = self._nexts()
        self.done = tuple(self._node(index, draft) for index, draft in enumerate(self.drafts))

    def at(self, path: Path) -> int:
        """The node of the longest part of a path that has one; the workflow itself where none has."""
        return longest(path, self.places)

    def _nexts(self) -> dict[Path, list[str]]:
        """Definitions of values, and the cells that they are the next value of."""
        found: dict[Path, list[str]] = {}
        for draft in self.drafts:
            for cell, _, path in draft.reads if draft.kind == "carry" else ():
                value = self.read_at.get(path)
                if value is not None:
                    found.setdefault(value.path, []).append(cell)
        return found

    def rows(self, index: int) -> Iterable[tuple[str, _Row]]:
        """Every value of a node, as ``read`` or ``write``, with its place."""
        yield from (("read", row) for row in self.drafts[index].reads)
        yield from (("write", row) for row in self.drafts[index].writes)

    # --- making nodes ---------------------------------------------------------------------------------------------
    def _put(self, parent: int, kind: NodeKind, title: str, note: str, path: Path, *also: Path) -> int:
        depth = self.drafts[parent].depth + 1 if parent >= 0 else 0
        self.drafts.append(_Draft(parent, depth, kind, title, note, path))
        index = len(self.drafts) - 1
        for place in (path, *also):
            self.places.setdefault(place, index)
        return index

    def _document(self) -> None:
        workflow = self.workflow
        note = f"{plural(len(workflow.components), 'component')}, {plural(len(workflow.state), 'state cell')}"
        root = self._put(-1, "workflow", "workflow", note, WORKFLOW)
        if workflow.inputs:
            inputs = self._put(root, "inputs", "inputs", _some(list(workflow.inputs)), (*WORKFLOW, "inputs"))
            self.drafts[inputs].writes = [
                (_source(entry), name, (*WORKFLOW, "inputs", name)) for name, entry in workflow.inputs.items()
            ]
        self._steps(workflow.steps, (*WORKFLOW, "steps"), root)

    def _steps(self, steps: Iterable[AnyStep], path: Path, parent: int) -> None:
        for index, step in enumerate(steps):
            self._add[type(step)](step, (*path, index), parent)

    def _invoke(self, step: InvokeStep, path: Path, parent: int) -> None:
        component = self.workflow.components.get(step.component)
        draft = self.drafts[self._put(parent, "invoke", step.component, _kind(component), path)]
        draft.component = step.component
        draft.artifact = _artifact(component)
        draft.reads = [(port, name, (*path, "inputs", port)) for port, name in step.inputs.items()]
        draft.writes = [(port, name, (*path, "outputs", port)) for port, name in step.outputs.items()]

    def _loop(self, step: LoopStep, path: Path, parent: int) -> None:
        ends = "; stops at end of text" if step.termination == "generation_eos" else ""
        loop = self._put(parent, "loop", "loop", f"carries {plural(len(step.carried), 'cell')}{ends}", path)
        self.drafts[loop].reads = list(self._starts(step, path))
        if step.setup:
            setup = self._put(loop, "setup", "setup", "once, before the first round", (*path, "setup"))
            self._steps(step.setup, (*path, "setup"), setup)
        self._while(step, path, loop)
        self._steps(step.steps, (*path, "steps"), loop)
        if step.carried:
            cells = runs(PortRow(entry.cell, "") for entry in step.carried)
            note = _some([run.port if len(run.rows) == 1 else f"{run.port} ×{len(run.rows)}" for run in cells])
            carry = self._put(loop, "carry", "next round", note, (*path, "carried"))
            self.drafts[carry].reads = [
                (entry.cell, entry.next, (*path, "carried", i, "next")) for i, entry in enumerate(step.carried)
            ]

    def _starts(self, step: LoopStep, path: Path) -> Iterable[_Row]:
        for index, entry in enumerate(step.carried):
            cell = self.workflow.state.get(entry.cell)
            if entry.initial is not None:
                yield entry.cell, entry.initial, (*path, "carried", index, "initial")
            elif cell is not None:
                yield entry.cell, cell.initializer, (*WORKFLOW, "state", entry.cell, "initializer")

    def _while(self, step: LoopStep, path: Path, loop: int) -> None:
        note = f"tested before each round; {cut(step.max_iterations)!r} limits the rounds"
        places = [(*path, field) for field in ("continue_when", "max_iterations", "iteration")]
        draft = self.drafts[self._put(loop, "while", f"while {step.continue_when}", note, places[0], *places[1:])]
        draft.reads = [(str(place[-1]), getattr(step, str(place[-1])), place) for place in places[:2]]
        if step.iteration is not None:
            draft.writes = [("iteration", step.iteration.value, (*path, "iteration", "value"))]

    def _branch(self, step: BranchStep, path: Path, parent: int) -> None:
        note = plural(len(step.cases), "case") + (" and a default" if step.default is not None else "")
        branch = self._put(parent, "branch", f"branch on {step.predicate}", note, path)
        self.drafts[branch].reads = [("predicate", step.predicate, (*path, "predicate"))]
        for case, inner in step.cases.items():
            self._case(inner, (*path, "cases", case), branch, f"case {case}")
        if step.default is not None:
            self._case(step.default, (*path, "default"), branch, "default")
        if step.outputs:
            join = self._put(branch, "join", "takes out", _some(list(step.outputs)), (*path, "outputs"))
            self.drafts[join].reads = [
                ("default" if case is None else f"case {case}", value, (*path, *tail))
                for tail, case, value in joins(step)
            ]
            self.drafts[join].writes = [("output", name, (*path, "outputs", name)) for name in step.outputs]

    def _case(self, step: AnyStep, path: Path, branch: int, title: str) -> None:
        """A case holds one step; a sequence is opened, since that is what a case with several is written as."""
        if isinstance(step, SequenceStep):
            case = self._put(branch, "case", title, plural(len(step.steps), "step"), path)
            self._steps(step.steps, (*path, "steps"), case)
            return
        case = self._put(branch, "case", title, "1 step", path)
        del self.places[path]  # it leads to the step itself
        self._add[type(step)](step, path, case)

    def _sequence(self, step: SequenceStep, path: Path, parent: int) -> None:
        sequence = self._put(parent, "sequence", "sequence", plural(len(step.steps), "step"), path)
        self._steps(step.steps, (*path, "steps"), sequence)

    def _emit(self, step: EmitStep, path: Path, parent: int) -> None:
        parts = [f"{step.mode} {step.value}", f"when {step.when}" if step.when else ""]
        parts.append(f"as much as {step.valid_length}" if step.valid_length else "")
        note = ", ".join(part for part in parts if part)
        draft = self.drafts[self._put(parent, "emit", f"emit {step.output}", note, path)]
        named = {"value": step.value, "when": step.when, "valid_length": step.valid_length}
        draft.reads = [(field, name, (*path, field)) for field, name in named.items() if name is not None]

    # --- the finished node ----------------------------------------------------------------------------------------
    def _node(self, index: int, draft: _Draft) -> FlowNode:
        return FlowNode(
            index, draft.parent, draft.depth, draft.kind, draft.title, draft.note, draft.path,
            tuple(self._row(row, self.read_at.get(row[2])) for row in draft.reads),
            tuple(self._row(row, self.made_at.get(row[2]), index) for row in draft.writes),
            component=draft.component, artifact=draft.artifact,
        )  # fmt: skip

    def _row(self, row: _Row, value: Value | None, maker: int = -1) -> PortRow:
        if value is None:
            return PortRow(row[0], row[1], "" if maker >= 0 else "nothing defines it", -1)
        made = maker if maker >= 0 else self.at(value.step if value.producer in _STATE else value.path)
        return PortRow(row[0], row[1], contract_text(value.contract), made)


def _some(names: list[str]) -> str:
    shown = ", ".join(cut(name) for name in names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def _source(entry: Any) -> str:
    said = entry.role.role if entry.role.kind == "runtime" else entry.source.kind
    return str(said)


def _kind(component: Component | None) -> str:
    if component is None:
        return "not declared"
    found = component.implementation
    promise = f", {component.contract.id}" if component.contract else ""
    if isinstance(found, OnnxImplementation):
        return f"ONNX {found.artifact}{promise}"
    if isinstance(found, AdapterImplementation):
        return f"adapter {found.abi}@{found.version}"
    return f"binding{promise}"


def _artifact(component: Component | None) -> str:
    found = component.implementation if component else None
    return found.artifact if isinstance(found, OnnxImplementation) else ""
