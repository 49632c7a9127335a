"""A branch: each case in a scope of its own, and what is taken out of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from workbench.metadata.context import AnyStep
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.steps import BranchStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.references import joins
from workbench.metadata.scope.compare import fits, is_scalar_choice, shown
from workbench.metadata.scope.names import Draft
from workbench.metadata.scope.walk import Walk
from workbench.metadata.wording import q

_Joins = list[tuple[Path, str]]  # path from the branch, and the value, of each output that a case gives


def branch(walk: Walk, step: BranchStep, path: Path) -> None:
    _predicate(walk, step, path)
    if not step.cases:
        walk.tell(218, (*path, "cases"), "The branch has no case.", "Add one, or write its default alone.")
    given = _given(step)
    contracts: dict[str, TensorContract | None] = dict.fromkeys(step.outputs)
    for case, tail, inner in _cases(step):
        with walk.names.inside((*path, *tail)):
            walk.step(inner, (*path, *tail))
            _kept(walk, case, given.get(case, []))
            _collect(walk, case, path, given.get(case, []), contracts)
    _complete(walk, step, path)
    sources: dict[str, list[str]] = {name: [] for name in step.outputs}
    for tail, _, value in joins(step):
        sources[str(tail[1])].append(value)
    for name, contract in contracts.items():
        walk.define(Draft(name, "branch", (*path, "outputs", name), path, contract, sources=tuple(sources[name])))


def _cases(step: BranchStep) -> Iterator[tuple[str | None, Path, AnyStep]]:
    """Every case and, with None for its name, the default."""
    for case, inner in step.cases.items():
        yield case, ("cases", case), inner
    if step.default is not None:
        yield None, ("default",), step.default


def _given(step: BranchStep) -> dict[str | None, _Joins]:
    found: dict[str | None, _Joins] = {}
    for tail, case, value in joins(step):
        found.setdefault(case, []).append((tail, value))
    return found


def _predicate(walk: Walk, step: BranchStep, path: Path) -> None:
    place = (*path, "predicate")
    draft = walk.read(step.predicate, place, path, "predicate")
    if draft is not None and not is_scalar_choice(draft.contract):
        message = f"The branch chooses by {q(draft.name)}, {shown(draft.contract)}."
        walk.tell(217, place, message, "Choose by one bool or whole number, of shape [] or [1].")


def _called(case: str | None) -> str:
    return "the default" if case is None else f"the case {q(case)}"


def _collect(
    walk: Walk, case: str | None, path: Path, given: _Joins, contracts: dict[str, TensorContract | None]
) -> None:
    """What the case gives for each output, read at its end; the first contract that is known is the output's."""
    said = f"is taken out of {_called(case)}, whose end does not see it."
    for tail, value in given:
        name, draft = str(tail[1]), walk.read(value, (*path, *tail), path, "join", 223, said)
        first = contracts[name]
        if draft is None:
            continue
        if first is None:
            contracts[name] = draft.contract
        elif not fits(draft.contract, first):
            message = f"The output {q(name)} is {shown(first)} in one case, and {q(value)} is {shown(draft.contract)}."
            walk.tell(223, (*path, *tail), message, "Take values of one kind out of all cases.")


def _kept(walk: Walk, case: str | None, given: _Joins) -> None:
    """A session's cell is not lost with the scope of its case."""
    exported = {value for _, value in given}
    for draft in walk.names.own:
        cell = walk.workflow.state.get(draft.name) if draft.producer == "loop" else None
        if cell is not None and cell.scope == "session" and draft.name not in exported:
            message = f"A loop carries {q(draft.name)} of the session, and {_called(case)} does not hand it on."
            walk.tell(219, draft.path, message, f"Take {q(draft.name)} out of the branch as an output.")


def _complete(walk: Walk, step: BranchStep, path: Path) -> None:
    """Whether each output has a value from each case, and from no other."""
    for name, output in step.outputs.items():
        place = (*path, "outputs", name)
        # Few are looked for: a branch may have very many outputs, and each may lack very many cases.
        missing = list(itertools.islice((case for case in step.cases if case not in output.cases), 3))
        if missing:
            message = f"The output {q(name)} has no value for {', '.join(_called(case) for case in missing)}."
            walk.tell(220, (*place, "cases"), message, "Say which value it is in each case.")
        # Without any case that is what is wrong, not that outputs name some.
        for case in (case for case in output.cases if step.cases and case not in step.cases):
            message = f"The output {q(name)} has a value for {_called(case)}, which the branch does not have."
            walk.tell(221, (*place, "cases", case), message, "Remove it, or add the case.")
        if (output.default is None) != (step.default is None):
            message = f"The output {q(name)} has {'no' if output.default is None else 'a'} value for the default, "
            message += f"and the branch has {'no' if step.default is None else 'a'} default."
            walk.tell(222, (*place, "default"), message, "Have both or neither.")
