"""Facts of a workflow that running it needs again and again, each found once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from workbench.metadata.context import Context
from workbench.metadata.document.ports import Component
from workbench.metadata.document.state import IndexedScatter, PortAlias, StateGroup
from workbench.metadata.document.workflow import ApplicationSource, RuntimeRole, Workflow, WorkflowInput

SUPPLIED = ("attention_mask", "position_ids")
"""Roles of ports that the runtime feeds from the tokens."""


class Facts:
    """What a workflow says about its inputs, its state groups and its decoders."""

    def __init__(self, context: Context, workflow: Workflow) -> None:
        self.context, self.workflow = context, workflow

    @cached_property
    def groups(self) -> dict[str, StateGroup]:
        serving = self.workflow.serving
        return dict(serving.state_service.groups) if serving else {}

    def group_of(self, cell: str) -> StateGroup | None:
        """The group that a cell belongs to."""
        name = self.workflow.state[cell].service_group
        return self.groups.get(name) if name is not None else None

    def aliases(self, cell: str) -> Iterator[tuple[str, PortAlias]]:
        """Component and ports through which a cell goes."""
        group = self.group_of(cell)
        for component, cells in (group.ports if group else {}).items():
            if cell in cells:
                yield component, cells[cell]

    def keeps_state(self, component: str) -> bool:
        """Whether a group's cells go through a component."""
        return any(component in group.ports for group in self.groups.values())

    def scatters(self, component: str) -> Iterator[IndexedScatter]:
        """How the buffers of a component are written at given places."""
        for group in self.groups.values():
            if isinstance(group.update, IndexedScatter) and component in group.ports:
                yield group.update

    @cached_property
    def supplied(self) -> frozenset[str]:
        """Inputs of the application that a mask or position port reads: the runtime can make them from the tokens."""
        inputs = self.workflow.inputs
        found = (name for name in self.read_as(*SUPPLIED) if name in inputs)
        return frozenset(name for name in found if isinstance(inputs[name].source, ApplicationSource))

    def read_as(self, *wanted: str) -> frozenset[str]:
        """The values that ports of these roles read."""
        found = set()
        for name, calls in self.context.invokes.items():
            roles = self.workflow.components[name].ports.roles
            for placed in calls:
                ports = getattr(placed.step, "inputs", {})
                found |= {value for port, value in ports.items() if roles.get(port) in wanted}
        return frozenset(found)

    @cached_property
    def carried_into(self) -> dict[str, str]:
        """The cell that each value is the next of."""
        return {one.next: one.cell for _, loop in self.context.loops for one in loop.carried}

    @cached_property
    def conditions(self) -> frozenset[str]:
        """What decides whether a loop goes on."""
        return frozenset(loop.continue_when for _, loop in self.context.loops)

    @cached_property
    def published_tokens(self) -> frozenset[str]:
        """Values that are emitted as tokens."""
        outputs = self.workflow.outputs
        emits = (step for _, step in self.context.emits)
        return frozenset(s.value for s in emits if s.output in outputs and outputs[s.output].role == "tokens")

    def state_ports(self, component: str) -> frozenset[str]:
        """The ports of a component that the cells of a group go through."""
        aliases = [a for group in self.groups.values() for a in group.ports.get(component, {}).values()]
        return frozenset(p for alias in aliases for p in (alias.input, alias.output) if p is not None)

    @cached_property
    def started_by(self) -> dict[str, tuple[str, ...]]:
        """The cells that each value starts."""
        found: dict[str, tuple[str, ...]] = {}
        starts = [(cell.initializer, name) for name, cell in self.workflow.state.items()]
        starts += [(one.initial, one.cell) for _, loop in self.context.loops for one in loop.carried if one.initial]
        for value, cell in starts:
            found[value] = (*found.get(value, ()), cell)
        return found

    def sequence_axes(self, cell: str) -> tuple[int, ...]:
        """The axes of a cell that may have another length from round to round."""
        group, varying = self.group_of(cell), self.workflow.state[cell].varying_axis
        axes = [] if varying is None else [varying]
        if group is not None and group.sequence_axis is not None and not isinstance(group.update, IndexedScatter):
            axes.append(group.sequence_axis)
        return tuple(dict.fromkeys(axes))

    def inputs_of_role(self, *roles: str) -> list[str]:
        """The inputs with one of these runtime roles, in the order of the roles."""
        return [name for role in roles for name, entry in self.workflow.inputs.items() if role_of(entry) == role]

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Ids of the tokens that end a text, from the package's tokenizer facts."""
        package = self.context.document.package
        tokens = package.tokenizer.special_tokens if package and package.tokenizer else {}
        return tuple(dict.fromkeys(t.id for name, t in tokens.items() if name == "eos" or name.startswith("eos_")))


def role_of(entry: WorkflowInput) -> str | None:
    """The runtime role of an input; None where the document gives it none."""
    return entry.role.role if isinstance(entry.role, RuntimeRole) else None


def port_of(component: Component, role: str) -> str | None:
    """The first port of a role."""
    return next((port for port, said in component.ports.roles.items() if said == role), None)
