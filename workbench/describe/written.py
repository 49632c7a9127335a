"""Parts of a document that cannot be written as they were said: the library's complaint as an error of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pydantic

from workbench.describe.facts import first_of
from workbench.errors import ArgumentError
from workbench.metadata.wording import brief


@contextlib.contextmanager
def written(what: str) -> Iterator[None]:
    """Around the making of a part of a document; ``what`` is the part in an error's words.

    Raises:
        ArgumentError: a word of it has a type or a value that a document does not have.
    """
    try:
        yield
    except pydantic.ValidationError as error:
        found = error.errors(include_url=False)[0]["input"]
        raise ArgumentError(
            f"{what} cannot be written: {first_of(error)}; found {brief(found)}. Say it in words that a document has."
        ) from None


__all__ = ["written"]
