"""What the files of group M share: the state groups and, of one of them, the components and cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from workbench.metadata.context import WORKFLOW
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.state import IndexedScatter, PortAlias, StateCell, StateGroup
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, WorkflowCheck, workflow_rule
from workbench.metadata.scope.compare import is_count, ranks, shown
from workbench.metadata.wording import q

SELF_ATTENTION = ("full_attention", "sliding_attention", "multi_latent_attention")
GROUPS: Path = (*WORKFLOW, "serving", "state_service", "groups")


@dataclasses.dataclass(frozen=True)
class Group:
    path: Path
    name: str
    group: StateGroup

    @property
    def scatter(self) -> IndexedScatter | None:
        return self.group.update if isinstance(self.group.update, IndexedScatter) else None


@dataclasses.dataclass(frozen=True)
class Alias:
    path: Path
    group: Group
    component: str
    cell: str
    alias: PortAlias


def groups(workflow: Workflow) -> Iterator[Group]:
    found = workflow.serving.state_service.groups if workflow.serving else {}
    return (Group((*GROUPS, name), name, group) for name, group in found.items())


def aliases(workflow: Workflow) -> Iterator[Alias]:
    for group in groups(workflow):
        for component, cells in group.group.ports.items():
            for cell, alias in cells.items():
                yield Alias((*group.path, "ports", component, cell), group, component, cell, alias)


def cells_in(workflow: Workflow) -> dict[str, list[tuple[str, StateCell]]]:
    """The cells of each group, by the group's name."""
    found: dict[str, list[tuple[str, StateCell]]] = {}
    for name, cell in workflow.state.items():
        if cell.service_group is not None:
            found.setdefault(cell.service_group, []).append((name, cell))
    return found


# --- a cell that says how long or where: logical_lengths and write_indices -------------------------------
@dataclasses.dataclass(frozen=True)
class Counter:
    """A group and the cell that it counts by. ``cell`` is None where the state does not declare it."""

    path: Path
    name: str
    cell: StateCell | None
    what: str


Counters = Callable[[Workflow], Iterator[Counter]]


def counter_rules(first: int, field: str, restored: str, counters: Counters) -> None:
    """The four rules about such a cell, numbered from ``first``: it is declared, whole, per request and semantic."""
    sentences = (
        f"{field} names a state cell.",
        f"The cell of {field} has whole numbers.",
        f"The cell of {field} has one number per request.",
        f"The cell of {field} is semantic, so that it is restored with {restored}.",
    )
    for number, (sentence, find) in enumerate(zip(sentences, (_unknown, _no_count, _one_for_all, _advisory)), first):
        workflow_rule(number, sentence)(_check(find, counters))


def _check(find: Callable[[Iterator[Counter]], Iterator[Finding]], counters: Counters) -> WorkflowCheck:
    return lambda context, workflow: find(counters(workflow))


def _unknown(counters: Iterator[Counter]) -> Iterator[Finding]:
    for counter in counters:
        if counter.cell is None:
            message = f"{counter.what} is {q(counter.name)}, which is no state cell."
            yield Finding(counter.path, message, "Declare the cell in state, or name another.")


def _no_count(counters: Iterator[Counter]) -> Iterator[Finding]:
    for counter in counters:
        if counter.cell is not None and not is_count(counter.cell.contract):
            message = f"{counter.what} is {q(counter.name)}, {shown(counter.cell.contract)}."
            yield Finding(counter.path, message, "Take a cell of whole numbers, one per request.")


def _one_for_all(counters: Iterator[Counter]) -> Iterator[Finding]:
    for counter in counters:
        if counter.cell is not None and is_count(counter.cell.contract) and 1 not in ranks(counter.cell.contract):
            message = f"{counter.what} is {q(counter.name)}, one number for all requests."
            yield Finding(counter.path, message, "Take a cell of rank 1: one number per request.")


def _advisory(counters: Iterator[Counter]) -> Iterator[Finding]:
    for counter in counters:
        if counter.cell is not None and counter.cell.state_class != "semantic":
            message = f"{counter.what} is {q(counter.name)}, which is advisory: it may be dropped and the rest kept."
            yield Finding(counter.path, message, "Make the cell semantic.")
