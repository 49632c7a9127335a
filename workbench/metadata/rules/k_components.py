"""Group K: components, what implements them and what they promise; effects. Known actions stand in k_actions."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import AdapterImplementation, Component, OnnxImplementation
from workbench.metadata.document.state import SafetyRewindable
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import cut, q

Components = Iterator[tuple[Path, str, Component]]


def components(workflow: Workflow) -> Components:
    for name, component in workflow.components.items():
        yield (*WORKFLOW, "components", name), name, component


def ports(component: Component) -> Iterator[tuple[Path, str, TensorContract]]:
    for name, contract in component.ports.inputs.items():
        yield ("ports", "inputs", name), name, contract
    for name, contract in component.ports.outputs.items():
        yield ("ports", "outputs", name), name, contract


@workflow_rule(123, "A component has a name without dots.")
def _name(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, _ in components(workflow):
        if not name.strip() or "." in name:
            yield Finding(path, f"A component is called {q(name)}.", "Take a name that is not blank and has no dot.")


@workflow_rule(124, "An ONNX component names its file.")
def _artifact(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        found = component.implementation
        if isinstance(found, OnnxImplementation) and not found.artifact.strip():
            message = f"The component {q(name)} has a blank artifact."
            yield Finding((*path, "implementation", "artifact"), message, "Name the ONNX file.")


@workflow_rule(125, "The manifest pins the version of every adapter that is used.")
def _pinned(context: Context, workflow: Workflow) -> Iterator[Finding]:
    pins = workflow.manifest.adapter_abis
    for path, name, component in components(workflow):
        found = component.implementation
        if isinstance(found, AdapterImplementation) and pins.get(found.abi) != found.version:
            pinned = f"pins {q(pins[found.abi])}" if found.abi in pins else "does not pin it"
            message = f"The component {q(name)} uses {cut(found.abi)}@{cut(found.version)}; the manifest {pinned}."
            hint = f"Write `{cut(found.abi)}: {q(found.version)}` into manifest.adapter_abis."
            yield Finding((*path, "implementation"), message, hint)


@workflow_rule(126, "A contract has an id and a version.")
def _contract(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        for field in ("id", "version") if component.contract else ():
            if not getattr(component.contract, field).strip():
                message = f"The contract of {q(name)} has a blank {field}."
                yield Finding((*path, "contract", field), message, "Write it.")


@workflow_rule(127, "A contract binds roles to declared ports.")
def _bindings(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        declared = {port for _, port, _ in ports(component)}
        bindings = component.contract.bindings if component.contract and declared else {}
        for role, port in bindings.items():
            place = (*path, "contract", "bindings", role)
            if not role.strip():
                yield Finding(place, f"The contract of {q(name)} binds a blank role.", "Name the role.")
            elif port not in declared:
                message = f"The contract of {q(name)} binds {q(role)} to {q(port)}, which is no port."
                yield Finding(place, message, "Name a port of the component.")


@workflow_rule(132, "A component that an application may replace has a contract.")
def _replaceable(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        if component.application_overridable and component.contract is None:
            message = f"An application may replace {q(name)}, and no contract says what must stay."
            yield Finding((*path, "application_overridable"), message, "Add a contract with id and version.")


@workflow_rule(133, "Only an ONNX component can be replaced by an application.")
def _replaceable_kind(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        if component.application_overridable and not component.is_onnx:
            message = f"An application may replace {q(name)}, which is no ONNX component."
            yield Finding((*path, "application_overridable"), message, "Remove the word.")


# --- effects --------------------------------------------------------------------------------------------
@workflow_rule(134, "An effect of a component has a name.")
def _blank_effect(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        for index, effect in enumerate(component.effects):
            if not effect.strip():
                yield Finding((*path, "effects", index), f"An effect of {q(name)} is blank.", "Name it.")


@workflow_rule(135, "An effect of a component is described in the workflow.")
def _unknown_effect(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        for index, effect in enumerate(component.effects):
            if effect.strip() and effect not in workflow.effects:
                message = f"The component {q(name)} has the effect {q(effect)}, which the workflow does not describe."
                yield Finding((*path, "effects", index), message, "Describe it in pipeline.workflow.effects.")


@workflow_rule(136, "A described effect has a name.")
def _blank_domain(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for name in workflow.effects:
        if not name.strip():
            yield Finding((*WORKFLOW, "effects", name), "An effect has a blank name.", "Name it.")


@workflow_rule(137, "An effect that can be taken back goes back at least one step.")
def _depth(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for name, effect in workflow.effects.items():
        safety = effect.speculation_safety
        if isinstance(safety, SafetyRewindable) and safety.max_depth == 0:
            path = (*WORKFLOW, "effects", name, "speculation_safety", "max_depth")
            yield Finding(path, f"The effect {q(name)} goes back 0 steps.", "Write at least 1, or the kind none.")


# --- rows -----------------------------------------------------------------------------------------------
@workflow_rule(138, "A component that remembers something of each request says on which axis requests lie.")
def _row_scope(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        remembers = component.effects or component.cache_affects_state
        if not remembers or component.row_scope:
            continue
        if any(contract.request_axis is not None for _, _, contract in ports(component)):
            message = f"The component {q(name)} remembers something of each request, without a row_scope."
            yield Finding(path, message, "Add row_scope with the axis of requests.")


def _outside(component: Component) -> list[tuple[Path, str, TensorContract]]:
    """Ports of rows that do not have the axis of row_scope at all."""
    scope = component.row_scope
    found = ports(component) if scope else iter(())
    return [port for port in found if scope and port[2].row_scoped and scope.axis >= port[2].rank]


@workflow_rule(139, "The axis of row_scope exists in every port that differs by request.")
def _row_axis(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        for tail, port, contract in _outside(component):
            axis = component.row_scope.axis if component.row_scope else 0
            message = (
                f"The component {q(name)} has requests on axis {axis}; its port {q(port)} has rank {contract.rank}."
            )
            yield Finding((*path, *tail), message, "Correct row_scope.axis or the port.")


@workflow_rule(140, "Ports have requests on the axis that row_scope names.")
def _row_axes(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in components(workflow):
        scope = component.row_scope
        # An axis that some port does not have is wrong itself: rule 139 has told.
        for tail, port, contract in ports(component) if scope and not _outside(component) else ():
            if scope and contract.request_axis not in (None, scope.axis):
                message = (
                    f"The port {q(port)} of {q(name)} has requests on axis {contract.request_axis}, "
                    f"row_scope names axis {scope.axis}."
                )
                yield Finding((*path, *tail), message, "Correct row_scope.axis or the port.")
