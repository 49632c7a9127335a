"""The scope walk: every value of a workflow with its producer, its readers and the scope that sees it."""

from __future__ import annotations

from workbench.metadata.context import WORKFLOW
from workbench.metadata.document.steps import BranchStep, EmitStep, InvokeStep, LoopStep, SequenceStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.scope.branch import branch
from workbench.metadata.scope.emit import emit
from workbench.metadata.scope.invoke import invoke
from workbench.metadata.scope.loop import loop
from workbench.metadata.scope.names import Draft
from workbench.metadata.scope.records import TOP, Scope, Use, Value
from workbench.metadata.scope.serving import serving
from workbench.metadata.scope.walk import Handlers, Walk

_PRESENCE = TensorContract(dtype="bool", rank=0, shape=())
_STEPS: Handlers = {
    InvokeStep: invoke,
    LoopStep: loop,
    BranchStep: branch,
    EmitStep: emit,
    SequenceStep: lambda walk, step, path: walk.body(step.steps, (*path, "steps")),
}


def scope_of(workflow: Workflow) -> Scope:
    """The values of a workflow, and what is wrong with them. ``Context.scope`` keeps it."""
    walk = Walk(workflow, _STEPS)
    _inputs(walk)
    walk.body(workflow.steps, TOP)
    serving(walk)
    return walk.done()


def _inputs(walk: Walk) -> None:
    for name, entry in walk.workflow.inputs.items():
        path = (*WORKFLOW, "inputs", name)
        walk.names.define(Draft(name, "input", path, path, entry.contract))
    for name, entry in walk.workflow.inputs.items():
        word, path = entry.present_as, (*WORKFLOW, "inputs", name)
        if word is None:
            continue
        made = Draft(word, "presence", (*path, "present_as"), path, _PRESENCE, sources=(name,))
        if not word.strip() or walk.names.define(made):
            walk.presence_is_bad = True


__all__ = ["TOP", "Scope", "Use", "Value", "scope_of"]
