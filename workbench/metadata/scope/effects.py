"""Effects as the reader derives them: which steps may not change places, and why.

Every domain (an effect of a component, the state of a cell, the stream of what is emitted) has one token. A step that
touches the domain takes the token and gives a new one, so the steps of a domain stand in a line. Loops and branches
take and give the tokens that their steps change. The format writes none of this down, so no document can break it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from workbench.metadata.context import Context, Placed
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.steps import EmitStep, InvokeStep, LoopStep
from workbench.metadata.document.workflow import Workflow

STREAM = "stream"


@dataclasses.dataclass(frozen=True)
class Touch:
    """A step takes the token ``before`` of a domain and gives the next one. Tokens of a domain count from 0."""

    domain: str
    step: Path
    before: int

    @property
    def after(self) -> int:
        return self.before + 1


@dataclasses.dataclass(frozen=True)
class Effects:
    """All domains of a workflow, and every touch of one, in the order of the walk."""

    domains: tuple[str, ...]
    touches: tuple[Touch, ...]

    def of(self, domain: str) -> tuple[Touch, ...]:
        return tuple(touch for touch in self.touches if touch.domain == domain)

    def changed(self, step: Path) -> tuple[str, ...]:
        """The domains that a step changes, by itself or by the steps inside it."""
        inside = (touch.domain for touch in self.touches if touch.step[: len(step)] == step)
        return tuple(dict.fromkeys(inside))

    def __repr__(self) -> str:
        return f"Effects({len(self.domains)} domains, {len(self.touches)} touches)"


def effects_of(context: Context) -> Effects:
    """The effects of a document's workflow; none without a workflow."""
    workflow = context.workflow
    if workflow is None:
        return Effects((), ())
    tokens = dict.fromkeys(_domains(context, workflow), 0)
    touches = []
    for domain, step in _touched(context, workflow):
        before = tokens.setdefault(domain, 0)
        tokens[domain] = before + 1
        touches.append(Touch(domain, step, before))
    return Effects(tuple(tokens), tuple(touches))


def _domains(context: Context, workflow: Workflow) -> Iterator[str]:
    yield from workflow.effects
    for component in workflow.components.values():
        yield from component.effects
    yield from (f"state:{cell}" for cell in workflow.state)
    if context.emits:
        yield STREAM


def _touched(context: Context, workflow: Workflow) -> Iterator[tuple[str, Path]]:
    """Domain and step of every touch: a carried cell is read when its loop begins and written when it ends."""
    open_loops: list[Placed] = []
    for placed in context.steps:
        while open_loops and open_loops[-1].path != placed.path[: len(open_loops[-1].path)]:
            yield from _written(open_loops.pop())
        if isinstance(placed.step, LoopStep):
            open_loops.append(placed)
        yield from _by(placed, workflow)
    while open_loops:
        yield from _written(open_loops.pop())


def _written(placed: Placed) -> Iterator[tuple[str, Path]]:
    assert isinstance(placed.step, LoopStep)
    return ((f"state:{carry.cell}", placed.path) for carry in placed.step.carried)


def _by(placed: Placed, workflow: Workflow) -> Iterator[tuple[str, Path]]:
    step = placed.step
    if isinstance(step, InvokeStep) and step.component in workflow.components:
        yield from ((domain, placed.path) for domain in workflow.components[step.component].effects)
    elif isinstance(step, LoopStep):
        yield from ((f"state:{carry.cell}", placed.path) for carry in step.carried)
    elif isinstance(step, EmitStep):
        yield STREAM, placed.path
