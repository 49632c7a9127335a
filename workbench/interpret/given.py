"""The numbers of what a run is given, before any graph sees them.

A graph counts a negative token from the end of its vocabulary, takes a 2 in a mask for a 1, and carries NaN into every
logit: the answers are wrong and nothing says so.
"""

from __future__ import annotations

import numpy as np

from workbench.errors import FeedsError
from workbench.interpret.arrays import Array, is_floating
from workbench.interpret.diagnostic import Violation
from workbench.interpret.roles import Facts, role_of
from workbench.metadata.wording import q
from workbench.runtime.limits import check_ids, check_prompt
from workbench.runtime.padding import check_flags


def check_given(facts: Facts, name: str, array: Array) -> None:
    """Hold the elements of an input against what it is for; its shape is not looked at.

    Raises:
        Violation: run.input: no token or none of the vocabulary, more tokens than the model has positions, a mask of
            other numbers than 0 and 1 or without a real token in a row, or NaN.
    """
    what, whole = f"The input {q(name)}", array.dtype.kind in "iu"
    model = facts.context.document.model
    size = model.vocab_size if model is not None else None
    try:
        if whole and role_of(facts.workflow.inputs[name]) == "prompt_tokens":
            check_prompt(array, size, what)
            _check_length(facts, name, array, what)
        elif whole and name in facts.read_as("token_ids"):
            check_ids(what, array, size)
        elif whole and name in facts.read_as("attention_mask"):
            _check_mask(array, what)
        elif is_floating(array):
            _check_numbers(array, what)
    except FeedsError as found:
        raise Violation("run.input", str(found), value=name) from None


def _check_length(facts: Facts, name: str, array: Array, what: str) -> None:
    model = facts.context.document.model
    most = model.max_sequence_length if model is not None else None
    if most is not None and array.ndim == 2 and array.shape[1] > most:
        raise FeedsError(
            f"{what} has {array.shape[1]} tokens a row, and the model has {most} positions (max_sequence_length). "
            "Shorten it."
        )


def _check_mask(array: Array, what: str) -> None:
    check_flags(what, array)
    blank = np.flatnonzero(~array.any(axis=1)) if array.ndim == 2 else np.zeros(0, int)
    if blank.size:
        raise FeedsError(f"{what} has no real token in row {int(blank[0])}. Write 1 for each token of the text.")


def _check_numbers(array: Array, what: str) -> None:
    count = int(np.isnan(array).sum())
    if count:
        raise FeedsError(f"{what} holds {count} NaN among {array.size} elements. Give numbers.")


__all__ = ["check_given"]
