"""Group G: what every walk through the steps needs. After an error here nothing is said about the walk."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import q


@workflow_rule(98, "Every invocation names a component of the workflow.")
def _component(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for name, invocations in context.invokes.items():
        for placed in invocations if name not in workflow.components else ():
            message = f"The component {q(name)} is invoked, and is not declared."
            yield Finding((*placed.path, "component"), message, "Declare it in components, or invoke another.")


@workflow_rule(99, "Every loop carries cells that the state declares.")
def _cell(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, step in context.loops:
        for index, carry in enumerate(step.carried):
            if carry.cell not in workflow.state:
                message = f"The loop carries the cell {q(carry.cell)}, which is not declared."
                yield Finding((*path, "carried", index, "cell"), message, "Declare it in state, or carry another.")
