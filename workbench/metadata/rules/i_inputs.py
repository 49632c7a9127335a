"""Group I: where the inputs of a workflow come from, and inputs that may be absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context, Placed
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.steps import BranchStep
from workbench.metadata.document.workflow import (
    ApplicationSource,
    RequestSource,
    RuntimeRole,
    Workflow,
    WorkflowInput,
)
from workbench.metadata.references import joins, reads
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import q

_OBSERVABLE = ("media", "constraint", "session_id")
_Inputs = Iterator[tuple[Path, str, WorkflowInput]]


def _inputs(workflow: Workflow) -> _Inputs:
    for name, entry in workflow.inputs.items():
        yield (*WORKFLOW, "inputs", name), name, entry


def _with_presence(workflow: Workflow) -> _Inputs:
    return (found for found in _inputs(workflow) if found[2].present_as is not None)


@workflow_rule(103, "An input from the request has a runtime role.")
def _role(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, entry in _inputs(workflow):
        if isinstance(entry.source, RequestSource) and not isinstance(entry.role, RuntimeRole):
            message = f"The input {q(name)} comes from the request, and no runtime role says what it is."
            yield Finding((*path, "role"), message, "Give it `kind: runtime`, a role and a version.")


@workflow_rule(104, "An input that may be absent has a default, or a value that says whether it is there.")
def _optional(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, entry in _inputs(workflow):
        if not entry.required and entry.default is None and entry.present_as is None:
            message = f"The input {q(name)} may be absent, and nothing stands in for it."
            yield Finding(path, message, "Add a default, or present_as.")


@workflow_rule(105, "Only an input that may be absent has present_as.")
def _required(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, entry in _with_presence(workflow):
        if entry.required:
            message = f"The input {q(name)} is required, so present_as has nothing to say."
            yield Finding((*path, "present_as"), message, "Remove it, or write `required: false`.")


@workflow_rule(106, "An input with present_as has no default.")
def _default(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, entry in _with_presence(workflow):
        if entry.default is not None:
            message = f"The input {q(name)} has both a default and present_as."
            yield Finding((*path, "default"), message, "Keep one of the two.")


@workflow_rule(107, "An input with present_as comes from the request or the application.")
def _source(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, entry in _with_presence(workflow):
        if not isinstance(entry.source, RequestSource | ApplicationSource):
            message = f"The input {q(name)} has present_as, but its source {entry.source.kind} is always there."
            yield Finding((*path, "present_as"), message, "Remove it, or take the input from the request.")


@workflow_rule(108, "An input from the request has present_as only for media, constraint and session_id.")
def _observable(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, entry in _with_presence(workflow):
        role = entry.role
        if isinstance(entry.source, RequestSource) and isinstance(role, RuntimeRole) and role.role not in _OBSERVABLE:
            message = f"The input {q(name)} has present_as, but a request never leaves its {role.role} out."
            yield Finding((*path, "present_as"), message, f"Only {', '.join(_OBSERVABLE)} can be absent.")


@workflow_rule(109, "present_as is a name.")
def _blank(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, entry in _with_presence(workflow):
        if not (entry.present_as or "").strip():
            message = f"The input {q(name)} has a blank present_as."
            yield Finding((*path, "present_as"), message, "Name the value that says whether it is there.")


@workflow_rule(110, "present_as is no name of another input or of another's presence.")
def _collision(context: Context, workflow: Workflow) -> Iterator[Finding]:
    taken = Counter(entry.present_as for _, _, entry in _with_presence(workflow))
    for path, name, entry in _with_presence(workflow):
        word = entry.present_as or ""
        if word.strip() and (word in workflow.inputs or taken[word] > 1):
            message = f"The input {q(name)} calls its presence {q(word)}, a name that is taken."
            yield Finding((*path, "present_as"), message, "Name it otherwise.")


# --- reading what may be absent -------------------------------------------------------------------------
def _presence(workflow: Workflow) -> dict[str, str]:
    """Predicate of each input that may be absent; bad predicates are the matter of rules 109 and 110."""
    taken = Counter(entry.present_as for _, _, entry in _with_presence(workflow))
    return {
        name: entry.present_as
        for _, name, entry in _with_presence(workflow)
        if entry.present_as
        and entry.present_as.strip()
        and entry.present_as not in workflow.inputs
        and taken[entry.present_as] == 1
    }


def _is_there(placed: Placed, predicate: str) -> bool:
    """Whether a step stands where the predicate has been found true."""
    chain = (*placed.around, placed)
    for outer, inner in zip(chain, chain[1:]):
        if isinstance(outer.step, BranchStep) and outer.step.predicate == predicate:
            tail = inner.path[len(outer.path) :]
            if tail[:2] == ("cases", "true"):
                return True
    return False


@workflow_rule(111, "An input that may be absent is read only in the case `true` of a branch on its presence.")
def _read(context: Context, workflow: Workflow) -> Iterator[Finding]:
    predicates = _presence(workflow)
    for placed in context.steps if predicates else ():
        for tail, value in reads(placed.step, workflow):
            if value in predicates and not _is_there(placed, predicates[value]):
                message = f"The input {q(value)} is read where it may be absent."
                hint = f"Read it in the case 'true' of a branch on {q(predicates[value])}."
                yield Finding((*placed.path, *tail), message, hint)


@workflow_rule(112, "A branch forwards an input that may be absent only from the case `true` of its presence.")
def _forwarded(context: Context, workflow: Workflow) -> Iterator[Finding]:
    predicates = _presence(workflow)
    for placed in context.steps if predicates else ():
        for tail, case, value in joins(placed.step) if isinstance(placed.step, BranchStep) else ():
            predicate = predicates.get(value)
            assert isinstance(placed.step, BranchStep)
            if predicate is None or (placed.step.predicate == predicate and case == "true"):
                continue
            if not _is_there(placed, predicate):
                message = f"The branch forwards the input {q(value)} from a case where it may be absent."
                yield Finding((*placed.path, *tail), message, "Forward another value of that case.")
