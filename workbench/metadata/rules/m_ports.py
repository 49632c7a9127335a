"""Group M: the ports through which components reach the cells of a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.rules.m_groups import SELF_ATTENTION, Alias, aliases, groups
from workbench.metadata.wording import few, q

_BOTH = (*SELF_ATTENTION, "cross_attention")
_BY_ROLE = dict[tuple[str, str, str], list[Alias]]


def _by_role(workflow: Workflow) -> _BY_ROLE:
    """The aliases of each group, component and role."""
    found: _BY_ROLE = {}
    for one in aliases(workflow):
        if one.alias.role is not None:
            found.setdefault((one.group.name, one.component, one.alias.role), []).append(one)
    return found


# --- which layer ----------------------------------------------------------------------------------------
@workflow_rule(178, "Of several keys, or values, of a component in a group each says its layer.")
def _layer(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for (group, component, role), found in _by_role(workflow).items():
        for one in found if len(found) > 1 else ():
            if one.alias.layer is None:
                message = f"{q(component)} has {len(found)} ports of the role {role} in {q(group)}; "
                message += f"the one of {q(one.cell)} does not say its layer."
                yield Finding((*one.path, "layer"), message, "Number the layers from 0.")


@workflow_rule(179, "No two keys, or values, of a component in a group are of one layer.")
def _one_layer(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for (_, component, role), found in _by_role(workflow).items():
        first: dict[int, str] = {}
        for one in found:
            if one.alias.layer is not None and first.setdefault(one.alias.layer, one.cell) != one.cell:
                message = f"{q(first[one.alias.layer])} and {q(one.cell)} are both the {role} of layer "
                message += f"{one.alias.layer} of {q(component)}."
                yield Finding((*one.path, "layer"), message, "Give each a layer of its own.")


def _layers(found: list[Alias]) -> Counter[int]:
    return Counter(one.alias.layer or 0 for one in found)


@workflow_rule(180, "A component has keys and values of the same layers in a group of attention.")
def _pairs(context: Context, workflow: Workflow) -> Iterator[Finding]:
    by_role = _by_role(workflow)
    for found in groups(workflow):
        for component in found.group.ports if found.group.kind in _BOTH else ():
            keys, values = (_layers(by_role.get((found.name, component, role), [])) for role in ("key", "value"))
            # A layer that two of them claim, or that one of several does not say, is the matter of 178 and 179.
            if keys.keys() != values.keys() and max([*keys.values(), *values.values()]) == 1:
                odd = sorted(keys.keys() ^ values.keys())
                message = f"{q(component)} has a key without a value, or a value without a key, of layer "
                message += f"{few(odd)} in {q(found.name)}."
                yield Finding((*found.path, "ports", component), message, "Bind the other one as well.")


@workflow_rule(181, "The only ONNX component, where it has self-attention state, says which port takes the tokens.")
def _tokens(context: Context, workflow: Workflow) -> Iterator[Finding]:
    onnx = [name for name, component in workflow.components.items() if component.is_onnx]
    holds = any(found.group.kind in SELF_ATTENTION and onnx[0] in found.group.ports
                for found in groups(workflow)) if len(onnx) == 1 else False  # fmt: skip
    if holds and not {"token_ids", "inputs_embeds"} & set(workflow.components[onnx[0]].ports.roles.values()):
        message = f"{q(onnx[0])} has attention state, and no port of the role token_ids or inputs_embeds."
        path = (*WORKFLOW, "components", onnx[0], "ports", "roles")
        yield Finding(path, message, "Add the role to the port that takes the tokens.")


# --- what an alias names --------------------------------------------------------------------------------
@workflow_rule(184, "A group has ports of declared components.")
def _component(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in groups(workflow):
        for name in (name for name in found.group.ports if name not in workflow.components):
            message = f"The group {q(found.name)} has ports of {q(name)}, which is not declared."
            yield Finding((*found.path, "ports", name), message, "Declare the component, or remove its ports.")


@workflow_rule(185, "A group has ports of its own cells.")
def _own(context: Context, workflow: Workflow) -> Iterator[Finding]:
    declared = {found.name for found in groups(workflow)}
    for one in aliases(workflow):
        cell = workflow.state.get(one.cell)
        # A cell whose group is not declared is rule 146's matter.
        lost = cell is not None and cell.service_group is not None and cell.service_group not in declared
        if cell is None or lost or cell.service_group == one.group.name:
            continue
        where = f"lies in {q(cell.service_group)}" if cell.service_group else "lies in no group"
        message = f"The group {q(one.group.name)} has a port of the cell {q(one.cell)}, which {where}."
        yield Finding(one.path, message, "Correct service_group of the cell, or move the port.")


@workflow_rule(186, "A group has ports of declared cells.")
def _cell(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in aliases(workflow):
        if one.cell not in workflow.state:
            message = f"The group {q(one.group.name)} has a port of the cell {q(one.cell)}, which is not declared."
            yield Finding(one.path, message, "Declare the cell in state, or remove the port.")


@workflow_rule(187, "Through which a component takes a cell is a declared input port of it.")
def _input(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in aliases(workflow):
        component = workflow.components.get(one.component)
        if component and not component.infers_ports and one.alias.input not in component.ports.inputs:
            message = f"{q(one.component)} has no input port {q(one.alias.input)}."
            yield Finding((*one.path, "input"), message, "Name a declared input port.")


@workflow_rule(188, "Through which a component gives a cell back is a declared output port of it.")
def _output(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in aliases(workflow):
        component, port = workflow.components.get(one.component), one.alias.output
        if port is None or component is None or component.infers_ports or port in component.ports.outputs:
            continue
        message = f"{q(one.component)} has no output port {q(port)}."
        yield Finding((*one.path, "output"), message, "Name a declared output port.")


@workflow_rule(189, "A cell that a component only reads is the only one without an output port.")
def _returned(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in aliases(workflow):
        if one.alias.access == "read_write" and one.alias.output is None:
            message = f"{q(one.component)} takes {q(one.cell)} to write to it, and gives nothing back."
            yield Finding((*one.path, "output"), message, "Name the output port, or write `access: read_only`.")
