"""What decides: flags that keep a loop going, the case of a branch, counts."""

from __future__ import annotations

import numpy as np

from workbench.interpret.arrays import Array, described, single
from workbench.interpret.diagnostic import Violation
from workbench.metadata.document.steps import BranchStep
from workbench.metadata.wording import few, q


def flags(name: str, array: Array) -> Array:
    """The flags of a loop's condition: one, or one per request.

    Raises:
        Violation: no bool, or more than one axis.
    """
    if array.dtype != np.bool_ or array.ndim > 1:
        raise Violation(
            "run.predicate",
            f"{q(name)} says whether the loop goes on, and is {described(array)}; a bool, "
            "one or one per request, is taken.",
            "Correct what makes it.",
            name,
        )
    return array


def count(name: str, array: Array, what: str) -> int:
    """One whole number, 0 or more.

    Raises:
        Violation: something else.
    """
    found = single(array)
    if isinstance(found, bool) or not isinstance(found, int):
        raise Violation(
            "run.predicate",
            f"{q(name)} is {what}, and is {described(array)}; one whole number is taken.",
            "Correct what makes it.",
            name,
        )
    if found < 0:
        raise Violation(
            "run.loop-bound", f"{q(name)} is {what}, and is {found}; it cannot be below 0.", "Give 0 or more.", name
        )
    return found


def case_of(step: BranchStep, array: Array) -> str | None:
    """The case that a predicate means; None for the default.

    Raises:
        Violation: no flag and no whole number, or nothing stands for it.
    """
    found = single(array)
    if not isinstance(found, bool | int):
        raise Violation(
            "run.predicate",
            f"{q(step.predicate)} chooses the case, and is {described(array)}; one bool or one whole number is taken.",
            "Correct what makes it.",
            step.predicate,
        )
    word = str(found).lower()
    if word in step.cases:
        return word
    if step.default is None:
        raise Violation(
            "run.case",
            f"{q(step.predicate)} is {word}, and the branch has the cases {few(list(step.cases))} and no default.",
            "Add the case, or a default.",
            step.predicate,
        )
    return None
