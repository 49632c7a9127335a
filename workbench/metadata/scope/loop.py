"""A loop: its setup around it, its body in a scope of its own, and the cells it carries from round to round."""

from __future__ import annotations

from workbench.metadata.diagnostic import Path
from workbench.metadata.document.steps import Iteration, LoopStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.scope import carry
from workbench.metadata.scope.compare import is_flag, is_scalar_count, shown
from workbench.metadata.scope.names import Draft
from workbench.metadata.scope.walk import Walk
from workbench.metadata.wording import q

_LIMIT = "Take int64 of shape [], or of shape [1]."


def loop(walk: Walk, step: LoopStep, path: Path) -> None:
    with walk.names.setup((*path, "setup")):
        walk.steps(step.setup, (*path, "setup"))
    _limit(walk, step, path)
    carries = carry.carries(walk.workflow, step, path)
    for one in carries:
        carry.start(walk, one)
    with walk.names.inside((*path, "steps")):
        if step.iteration is not None:
            _iteration(walk, step.iteration, path)
        entered = [one for one in carries if carry.enter(walk, one)]
        _condition(walk, step, path)
        walk.body(step.steps, (*path, "steps"))
        # A cell that cannot enter, because its name is taken, has said so and gives no result.
        results = [carry.result(walk, one) for one in entered]
    for result in results:
        walk.define(result)


def _limit(walk: Walk, step: LoopStep, path: Path) -> None:
    place = (*path, "max_iterations")
    draft = walk.read(step.max_iterations, place, path, "limit")
    if draft is not None and not is_scalar_count(draft.contract):
        message = f"{q(draft.name)} limits the rounds of the loop, and is {shown(draft.contract)}."
        walk.tell(206, place, message, _LIMIT)


def _condition(walk: Walk, step: LoopStep, path: Path) -> None:
    place = (*path, "continue_when")
    said = "is tested before the first round, and nothing defines it by then."
    draft = walk.read(step.continue_when, place, path, "condition", 214, said)
    if draft is not None and not is_flag(draft.contract):
        message = f"{q(draft.name)} says whether the loop goes on, and is {shown(draft.contract)}."
        walk.tell(214, place, message, "Take a bool, one or one per request.")


# --- the number of the round ----------------------------------------------------------------------------
def _iteration(walk: Walk, iteration: Iteration, path: Path) -> None:
    place = (*path, "iteration")
    contract = iteration.contract
    if contract.dtype != "int64" or contract.rank > 1:
        message = f"The number of the round, {q(iteration.value)}, is {shown(contract)}."
        walk.tell(207, (*place, "contract"), message, "Make it int64 of rank 0 or 1.")
    else:
        _rounds(walk, iteration.value, contract, (*place, "contract"))
    walk.define(Draft(iteration.value, "iteration", (*place, "value"), path, contract))


def _rounds(walk: Walk, name: str, contract: TensorContract, path: Path) -> None:
    shape, said = contract.shape, f"The number of the round, {q(name)}, has rank {contract.rank}"
    if contract.rank == 0 and shape:
        walk.tell(208, (*path, "shape"), f"{said} and {len(shape)} dimensions.", "Write `shape: []`.")
    elif contract.rank == 1 and shape is None:
        walk.tell(210, (*path, "shape"), f"{said} and no shape.", "Write its one dimension.")
    elif contract.rank == 1 and shape is not None and len(shape) != 1:
        walk.tell(209, (*path, "shape"), f"{said} and {len(shape)} dimensions.", "Write its one dimension.")
