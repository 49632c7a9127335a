"""The five steps as they run: a generator of records, so that a run can be stopped between any two of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from workbench.errors import unknown
from workbench.interpret.calling import Call, Caller
from workbench.interpret.diagnostic import Violation
from workbench.interpret.emitting import Outputs
from workbench.interpret.feeding import Feeding
from workbench.interpret.limits import Limits
from workbench.interpret.looping import Looping
from workbench.interpret.predicates import case_of
from workbench.interpret.recording import At, Draft, Keeper
from workbench.interpret.roles import Facts
from workbench.interpret.scoped import Scope
from workbench.interpret.trace import Status, StepKind, Trace, TraceStep, WorkflowRun
from workbench.metadata.context import WORKFLOW, AnyStep
from workbench.metadata.document.steps import BranchStep, EmitStep, InvokeStep, LoopStep, SequenceStep
from workbench.metadata.scope import TOP

Records = Iterator[TraceStep]
_INPUTS = At((*WORKFLOW, "inputs"), "pipeline.workflow.inputs")
_TOP = At((*WORKFLOW,), "pipeline.workflow.steps")
_NO_ADAPTERS = Violation(
    "run.ignored",
    "The document selects low-rank adapters for each request; they are not applied, and the values are those of the "
    "model without them.",
    "Merge an adapter into the weights to look at it.",
)


class Halt(Exception):
    """The run cannot go on; the record that says why has been given."""


class Machine:
    """One run of a workflow. ``records`` may be asked for once."""

    def __init__(
        self, facts: Facts, feeding: Feeding, caller: Caller, limits: Limits, seed: int, token_output: str
    ) -> None:
        self.facts, self.feeding, self.caller, self.limits = facts, feeding, caller, limits
        self.seed, self.token_output = seed, token_output
        self.status: Status = "running"
        self.outputs = Outputs(facts.workflow, feeding.requests)
        self.keeper = Keeper(limits)
        self._count = 0
        self._ends: float | None = None
        self._paths: set[str] | None = None
        self._current: Draft | None = None

    # --- the run as a whole ---------------------------------------------------------------------------------
    def records(self) -> Records:
        """Every record, in order. The last one of a run that fails, stops or is interrupted says why."""
        self._ends = None if self.limits.seconds is None else time.monotonic() + self.limits.seconds
        scope = Scope(TOP)
        try:
            yield from self._inputs(scope)
            yield from self.steps(self.facts.workflow.steps, _TOP, ("steps",), "nodes", scope)
            self.status = "done"
        except Halt:
            self.status = "stopped" if self.status == "stopped" else "failed"
        except KeyboardInterrupt:
            yield self._interrupted()
        finally:
            self.close()

    def result(self, trace: Trace) -> WorkflowRun:
        found = tuple(one for record in trace for one in record.diagnostics)
        text = self.caller.policy.sampling.text
        return WorkflowRun(self.outputs.result(), trace, found, self.status, self.seed, text, self.token_output)

    def interrupt(self) -> None:
        """End a run that is still going on."""
        self.status = "interrupted" if self.status == "running" else self.status
        self.close()

    def close(self) -> None:
        self.caller.graphs.close()

    def check_breakpoint(self, word: str) -> None:
        """Refuse a breakpoint that no record can ever meet.

        Raises:
            UnknownNameError: neither a step's path nor a value's name.
        """
        if self._paths is None:
            self._paths = {
                "pipeline.workflow.inputs",
                *_paths(self.facts.workflow.steps, "pipeline.workflow.steps.nodes"),
            }
        names = {value.name for value in self.facts.context.scope.values}
        if word not in self._paths and word not in names:
            raise unknown("breakpoint", word, self._paths | names, "Name a step by its path, or a value.")

    def _inputs(self, scope: Scope) -> Records:
        def work(draft: Draft) -> None:
            for name, (held, note) in self.feeding.values().items():
                scope.define(name, held)
                draft.write(name, name, held.array, note)
            if self.facts.context.document.adapters is not None:
                draft.tell(_NO_ADAPTERS, "warning")

        draft = self.draft("inputs", _INPUTS, "inputs", scope)
        yield from self.perform(draft, work)

    # --- one record -----------------------------------------------------------------------------------------
    def draft(self, kind: StepKind, at: At, title: str, scope: Scope, component: str = "") -> Draft:
        return Draft(self.keeper, kind, at, title, scope, component)

    def perform(self, draft: Draft, work: Callable[[Draft], None]) -> Records:
        """Do the work of a record and give it; a violation ends the run behind it.

        Raises:
            Halt: after the record, where it is the last.
        """
        self._current = draft
        stops = self._over(draft)
        if not stops:
            try:
                work(draft)
            except Violation as found:
                draft.tell(found)
        record = self._given(draft)
        yield record
        if stops or record.failed:
            raise Halt

    def _given(self, draft: Draft) -> TraceStep:
        record = draft.done(self._count)
        self._count += 1
        return record

    def _over(self, draft: Draft) -> bool:
        """Whether a limit of the run ends it before this record."""
        what = None
        if self._ends is not None and time.monotonic() > self._ends:
            what = f"{self.limits.seconds:g} s have passed (Limits.seconds)"
        elif self._count >= self.limits.max_steps:
            what = f"there are {self.limits.max_steps} records (Limits.max_steps)"
        if what is not None:
            draft.tell(
                Violation("run.limit", f"The run stopped before this step: {what}.", "Allow more, or less work.")
            )
            self.status = "stopped"
        return what is not None

    # --- the steps ------------------------------------------------------------------------------------------
    def steps(self, steps: tuple[AnyStep, ...], at: At, place: tuple[str, ...], word: str, scope: Scope) -> Records:
        """A list of steps that stands at ``at`` under ``place``; ``word`` is what the path calls it."""
        for index, step in enumerate(steps):
            yield from self.step(step, at.child((*place, index), f"{word}[{index}]"), scope)

    def step(self, step: AnyStep, at: At, scope: Scope) -> Records:
        if isinstance(step, InvokeStep):
            yield from self._invoke(step, at, scope)
        elif isinstance(step, EmitStep):
            yield from self._emit(step, at, scope)
        elif isinstance(step, SequenceStep):
            yield from self.steps(step.steps, at, ("steps",), "nodes", scope)
        elif isinstance(step, BranchStep):
            yield from self._branch(step, at, scope)
        else:
            assert isinstance(step, LoopStep)
            yield from Looping(self, step, at, scope).records()

    def _invoke(self, step: InvokeStep, at: At, scope: Scope) -> Records:
        call = Call(step.component, self.facts.workflow.components[step.component], step, scope)

        def work(draft: Draft) -> None:
            try:
                made = self.caller.call(call)
            finally:
                for port, fed in call.fed.items():
                    draft.read(port, fed.value, fed.array, fed.note)
                for port, array in call.given.items():
                    draft.write(port, step.outputs.get(port, port), array)
                for warning in call.warnings:
                    draft.tell(warning, "warning")
            for name, held in made.items():
                scope.define(name, held)

        draft = self.draft("invoke", at, step.component, scope, step.component)
        yield from self.perform(draft, work)

    def _emit(self, step: EmitStep, at: At, scope: Scope) -> Records:
        def work(draft: Draft) -> None:
            for port in ("value", "when", "valid_length"):
                name = getattr(step, port)
                held = scope.find(name) if name is not None else None
                if name is not None and held is not None:
                    draft.read(port, name, held.array)
            note, array = self.outputs.emit(step, scope)
            draft.title = f"emit {step.output}: {note}"

        draft = self.draft("emit", at, f"emit {step.output}", scope)
        yield from self.perform(draft, work)

    def _branch(self, step: BranchStep, at: At, scope: Scope) -> Records:
        chosen: list[str | None] = []

        def choose(draft: Draft) -> None:
            held = scope.read(step.predicate)
            draft.read("predicate", step.predicate, held.array)
            chosen.append(case_of(step, held.array))
            draft.title = f"branch {step.predicate}: {'default' if chosen[0] is None else chosen[0]}"

        yield from self.perform(self.draft("branch", at, f"branch {step.predicate}", scope), choose)
        case = chosen[0]
        where = at.child(("default",), "default") if case is None else at.child(("cases", case), f"cases.{case}")
        inner = Scope(where.place, scope.iteration, scope)
        inside = step.default if case is None else step.cases[case]
        if inside is not None:
            yield from self.step(inside, where, inner)
        if step.outputs:
            yield from self._join(step, at, case, inner, scope)

    def _join(self, step: BranchStep, at: At, case: str | None, inner: Scope, scope: Scope) -> Records:
        def work(draft: Draft) -> None:
            for name, sources in step.outputs.items():
                source = (sources.default or "") if case is None else sources.cases[case]
                held = inner.read(source)
                draft.read(name, source, held.array)
                draft.write(name, name, held.array, f"is {source}")
                scope.define(name, held)

        draft = self.draft("join", at, f"join {step.predicate}", scope)
        yield from self.perform(draft, work)

    def _interrupted(self) -> TraceStep:
        """The last record of a run that somebody ended: of the step it was in, with what that had got to."""
        last = self._current
        draft = self.draft("inputs", _INPUTS, "inputs", Scope(TOP)) if last is None else last
        draft.found.clear()
        draft.tell(Violation("run.interrupted", "The run was interrupted at this step.", "What it gave is there."))
        self.status = "interrupted"
        return self._given(draft)


def _paths(steps: tuple[AnyStep, ...], word: str) -> Iterator[str]:
    for index, step in enumerate(steps):
        yield from _paths_of(step, f"{word}[{index}]")


def _paths_of(step: AnyStep, path: str) -> Iterator[str]:
    yield path
    if isinstance(step, SequenceStep):
        yield from _paths(step.steps, f"{path}.nodes")
    elif isinstance(step, LoopStep):
        yield from _paths(step.setup, f"{path}.setup.nodes")
        yield from _paths(step.steps, f"{path}.body.nodes")
    elif isinstance(step, BranchStep):
        for case, inner in step.cases.items():
            yield from _paths_of(inner, f"{path}.cases.{case}")
        if step.default is not None:
            yield from _paths_of(step.default, f"{path}.default")
