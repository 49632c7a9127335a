"""Group F: adapters, their selection and the components that overlay parameters. Targets and artifacts stand beside."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.adapters import Adapters, Selection
from workbench.metadata.document.ports import Component
from workbench.metadata.document.tensor import RequestAligned, TensorContract
from workbench.metadata.document.workflow import (
    ApplicationSource,
    RequestSource,
    RuntimeRole,
    Workflow,
    WorkflowInput,
)
from workbench.metadata.registry import Finding, rule, workflow_rule
from workbench.metadata.wording import cut, q

_ROOT: Path = ("adapters",)
_SELECTION: Path = ("adapters", "selection")
CAPABILITY = "onnx-genai.adapters@1"
OVERLAY = "onnx-genai.parameter-overlay"
_ROLES = {
    "segments": "adapter_segments", "adapter_counts": "adapter_counts", "scales": "adapter_scales",
    "active": "adapter_active",
}  # fmt: skip
_DTYPES = {"segments": "int64", "adapter_counts": "int64", "scales": "float32", "active": "bool"}


@rule(46, "semantic", "adapters.application_capability is not blank.")
def _blank_capability(context: Context) -> Iterator[Finding]:
    adapters = context.document.adapters
    if adapters and not adapters.application_capability.strip():
        yield Finding((*_ROOT, "application_capability"), "The capability is blank.", f"Write {CAPABILITY}.")


@rule(47, "semantic", f"adapters.application_capability is {CAPABILITY}.", unless=(46,))
def _capability(context: Context) -> Iterator[Finding]:
    adapters = context.document.adapters
    if adapters and adapters.application_capability != CAPABILITY:
        message = f"The capability is {q(adapters.application_capability)}."
        yield Finding((*_ROOT, "application_capability"), message, f"Write {CAPABILITY}.")


@rule(48, "semantic", "The cache of adapters has room for one.")
def _cache(context: Context) -> Iterator[Finding]:
    adapters = context.document.adapters
    if adapters and adapters.cache.max_entries == 0:
        yield Finding((*_ROOT, "cache", "max_entries"), "The cache has room for no adapter.", "Write at least 1.")


@rule(49, "semantic", "A request may select one adapter or more.")
def _max_adapters(context: Context) -> Iterator[Finding]:
    adapters = context.document.adapters
    if adapters and adapters.selection.max_adapters == 0:
        yield Finding((*_SELECTION, "max_adapters"), "A request may select no adapter.", "Write at least 1.")


@rule(50, "semantic", "There is an adapter to select.")
def _no_artifacts(context: Context) -> Iterator[Finding]:
    adapters = context.document.adapters
    if adapters and not adapters.artifacts:
        yield Finding((*_ROOT, "artifacts"), "adapters.artifacts is empty.", "Add an artifact, or drop the section.")


def _selected(adapters: Adapters | None) -> Iterator[tuple[str, str]]:
    """Field and input name of each selection input."""
    selection = adapters.selection if adapters else None
    for field in _ROLES:
        name = getattr(selection, field) if selection else None
        if name is not None:
            yield field, name


@workflow_rule(51, "A selection input is required, comes from outside, and has the contract and role of its field.")
def _selection(context: Context, workflow: Workflow) -> Iterator[Finding]:
    adapters = context.document.adapters
    for field, name in _selected(adapters):
        entry = workflow.inputs.get(name)
        if entry is None or adapters is None:
            continue
        for wrong in _selection_faults(field, entry, adapters.selection):
            message = f"The input {q(name)}, which gives adapters.selection.{field}, {wrong}."
            yield Finding((*_SELECTION, field), message, "Correct the input, or name another one.")


def _selection_faults(field: str, entry: WorkflowInput, selection: Selection) -> Iterator[str]:
    if not entry.required:
        yield "is not required"
    if not isinstance(entry.source, RequestSource | ApplicationSource):
        yield f"has the source {entry.source.kind}, not request or application"
    role = entry.role
    if not (isinstance(role, RuntimeRole) and (role.role, role.version) == (_ROLES[field], "1.0")):
        yield f"has not the runtime role {_ROLES[field]} of version 1.0"
    yield from _selection_contract(field, entry.contract, selection.max_adapters)


def _selection_contract(field: str, contract: TensorContract, most: int) -> Iterator[str]:
    """``[batch, K]`` or ``[batch]``. With no adapters allowed K means nothing, which rule 49 tells."""
    shape: tuple[int | str, ...] = ("batch", most) if field in ("segments", "scales") else ("batch",)
    shown = ", ".join(str(size) for size in shape)
    if contract.dtype != _DTYPES[field] or contract.rank != len(shape):
        yield f"is {cut(contract.dtype)} of rank {contract.rank}, not {_DTYPES[field]}[{shown}]"
    elif contract.shape != shape and not (most == 0 and contract.shape and len(contract.shape) == 2):
        yield f"has not the shape [{shown}]"
    layout = contract.batch_layout
    if not isinstance(layout, RequestAligned) or layout.axis != 0:
        yield "is not request_aligned on axis 0"


@workflow_rule(52, "A selection input is an input of the workflow.")
def _undeclared(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for field, name in _selected(context.document.adapters):
        if name not in workflow.inputs:
            message = f"adapters.selection.{field} names {q(name)}, which is no input of the workflow."
            yield Finding((*_SELECTION, field), message, "Name an input of pipeline.workflow.inputs.")


@rule(53, "semantic", "Without a workflow the names of the selection are not blank.")
def _blank_selection(context: Context) -> Iterator[Finding]:
    for field, name in _selected(context.document.adapters):
        if context.workflow is None and not name.strip():
            yield Finding((*_SELECTION, field), f"adapters.selection.{field} is blank.", "Name an input of the model.")


# --- components that overlay one parameter --------------------------------------------------------------
def _overlays(context: Context, workflow: Workflow) -> Iterator[tuple[Path, str, Component]]:
    for name, component in workflow.components.items() if context.document.adapters else ():
        if component.contract and component.contract.id == OVERLAY:
            yield (*WORKFLOW, "components", name, "contract", "parameters"), name, component


def _word(component: Component, parameter: str) -> str | None:
    """A parameter that is text with something in it."""
    value = component.contract.parameters.get(parameter) if component.contract else None
    return value if isinstance(value, str) and value.strip() else None


@workflow_rule(95, "A parameter overlay names the component that it changes.")
def _overlaid_component(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in _overlays(context, workflow):
        if _word(component, "component") is None:
            message = f"The overlay {q(name)} does not say which component it changes."
            yield Finding((*path, "component"), message, "Add the parameter `component`, a name.")


@workflow_rule(96, "A parameter overlay names the parameter that it changes.")
def _overlaid_parameter(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, component in _overlays(context, workflow):
        if _word(component, "parameter") is None:
            message = f"The overlay {q(name)} does not say which parameter it changes."
            yield Finding((*path, "parameter"), message, "Add the parameter `parameter`, the name of an initializer.")


@workflow_rule(97, "What a parameter overlay changes is a target of the manifest.", unless=(65,))
def _overlaid_target(context: Context, workflow: Workflow) -> Iterator[Finding]:
    adapters = context.document.adapters
    targets = {(t.component, t.initializer) for t in adapters.target_manifest.targets} if adapters else set()
    for path, name, component in _overlays(context, workflow):
        place = (_word(component, "component"), _word(component, "parameter"))
        if None not in place and place not in targets:
            message = f"The overlay {q(name)} changes {cut(str(place[0]))}.{cut(str(place[1]))}, which is no target."
            yield Finding((*path, "parameter"), message, "Add it to adapters.target_manifest.targets.")
