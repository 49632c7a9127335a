"""An invocation: values into ports, new values out of them."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import Component
from workbench.metadata.document.steps import InvokeStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.scope.compare import axes_that_differ, kinds_differ, shown
from workbench.metadata.scope.names import Draft
from workbench.metadata.scope.walk import Walk
from workbench.metadata.wording import few, q


def invoke(walk: Walk, step: InvokeStep, path: Path) -> None:
    component = walk.workflow.components.get(step.component)
    if component is None:
        message = f"The component {q(step.component)} is not declared."
        walk.tell(197, (*path, "component"), message, "Declare it, or invoke another.")
    _inputs(walk, step, path, component)
    _outputs(walk, step, path, component)


def _inputs(walk: Walk, step: InvokeStep, path: Path, component: Component | None) -> None:
    for port, name in step.inputs.items():
        place = (*path, "inputs", port)
        draft = walk.read(name, place, path, "port")
        wanted = component.ports.inputs.get(port) if component else None
        if draft is not None and draft.contract is not None and wanted is not None:
            _compare(walk, place, draft.name, draft.contract, wanted, f"the port {q(port)} of {q(step.component)}")
    if component is not None and not component.infers_ports:
        _ports(walk, step, (*path, "inputs"), component.ports.inputs, step.inputs, (198, 202))


def _outputs(walk: Walk, step: InvokeStep, path: Path, component: Component | None) -> None:
    for port, name in step.outputs.items():
        contract = component.ports.outputs.get(port) if component else None
        walk.define(Draft(name, "invoke", (*path, "outputs", port), path, contract, step.component, port))
    if component is not None and not component.infers_ports:
        _ports(walk, step, (*path, "outputs"), component.ports.outputs, step.outputs, (203, 205))


def _compare(walk: Walk, path: Path, name: str, given: TensorContract, wanted: TensorContract, what: str) -> None:
    if kinds_differ(given, wanted):
        message = f"{q(name)} is {shown(given)}; {what} takes {shown(wanted)}."
        walk.tell(200, path, message, "Bind another value, or correct one of the two contracts.")
        return
    for axis, x, y in axes_that_differ(given, wanted):
        message = f"{q(name)} has {x} entries on axis {axis}; {what} takes {y}."
        walk.tell(201, path, message, "Bind another value, or correct one of the two shapes.")


def _ports(
    walk: Walk, step: InvokeStep, path: Path,
    declared: Mapping[str, TensorContract], bound: Mapping[str, str], numbers: tuple[int, int],
) -> None:  # fmt: skip
    """Ports that do not exist, and ports that must have a value and have none: those not misspelt."""
    side = str(path[-1])[:-1]
    strange = [port for port in bound if port not in declared]
    missing = [port for port, contract in declared.items() if port not in bound and not contract.optional]
    instead = f"Is {q(missing[0])} meant?" if missing else f"It has {few(declared)}."
    for port in strange:
        message = f"The component {q(step.component)} has no {side} port {q(port)}."
        walk.tell(numbers[0], (*path, port), message, instead)
    for port in missing[len(strange) :]:
        message = f"The {side} port {q(port)} of {q(step.component)} is bound to no value."
        walk.tell(numbers[1], path, message, "Bind one, or make the port's contract optional.")
