"""The values that a serving runtime follows: read when all steps are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from workbench.metadata.context import WORKFLOW
from workbench.metadata.document.state import Serving
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.scope.compare import is_count, is_flag, ranks, shown
from workbench.metadata.scope.walk import Walk
from workbench.metadata.wording import q

_PATH = (*WORKFLOW, "serving")
_Check = Callable[[TensorContract | None], bool]


def serving(walk: Walk) -> None:
    for field, name, number, check, hint in _controls(walk.workflow.serving) if walk.workflow.serving else ():
        said = f"is serving.{field}, and the top level does not see it after all steps."
        draft = walk.read(name, (*_PATH, field), WORKFLOW, "serving", 192, said)
        if draft is None:
            continue
        if not check(draft.contract):
            message = f"serving.{field} is {q(name)}, {shown(draft.contract)}."
            walk.tell(number, (*_PATH, field), message, hint)
        elif not _aligned(draft.contract):
            message = f"serving.{field} is {q(name)}, which does not have an entry per request on axis 0."
            walk.tell(195, (*_PATH, field), message, "Make it request_aligned on axis 0.")


def _controls(serving: Serving) -> Iterator[tuple[str, str, int, _Check, str]]:
    flag = "Take a bool, one or one per request."
    yield "active", serving.active, 193, is_flag, flag
    yield "done", serving.done, 193, is_flag, flag
    if serving.accepted_len is not None:
        yield "accepted_len", serving.accepted_len, 194, is_count, "Take whole numbers, one or one per request."


def _aligned(contract: TensorContract | None) -> bool:
    return contract is None or 0 in ranks(contract) or contract.request_axis == 0
