"""Facts: what no graph tells and somebody has to say, as one frozen record per kind of package."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import pydantic

from workbench.errors import ConfigError, UnknownNameError, some, unknown, wrong_type

_Record = TypeVar("_Record")


def fact(what: str, **options: Any) -> Any:
    """A field of a record of facts; ``what`` says what it is in the error about its absence."""
    return dataclasses.field(metadata={"what": what}, **options)


def read_facts(kind: str, record: type[_Record], said: object) -> _Record:
    """What was said, as the kind's record.

    Raises:
        ConfigError: a fact is missing.
        UnknownNameError: the kind knows no such fact.
        ArgumentError: ``said`` is no mapping.
    """
    if not isinstance(said, Mapping):
        raise wrong_type("facts", said, "a mapping from the name of a fact to its value")
    fields = {field.name: field for field in dataclasses.fields(record)}  # type: ignore[arg-type]  # a dataclass
    for name in said:
        if name not in fields:
            raise unknown(f"fact of the kind {kind}", name, fields)
    for name, field in fields.items():
        if name not in said and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise lacks(kind, name, field.metadata["what"], said)
    return record(**{name: _typed(kind, record, fields[name], value) for name, value in said.items()})


def _typed(kind: str, record: type[Any], field: dataclasses.Field[Any], value: object) -> object:
    """The value as it is, if it has the type of its field; texts are no numbers and no lists."""
    hint = typing.get_type_hints(record)[field.name]
    try:
        pydantic.TypeAdapter(hint, config=pydantic.ConfigDict(strict=True)).validate_python(value)
    except pydantic.ValidationError as error:
        raise refuse(kind, field.name, value, f"it is {field.metadata['what']} ({first_of(error)}).") from None
    return value


def first_of(error: pydantic.ValidationError) -> str:
    """The first of the library's complaints, with the place inside the value."""
    detail = error.errors(include_url=False)[0]
    place = ".".join(str(step) for step in detail["loc"])
    said = detail["msg"][:1].lower() + detail["msg"][1:]
    return f"{place}: {said}" if place else said


def no_facts(kind: str, said: object) -> None:
    """A kind whose graphs tell everything takes no facts.

    Raises:
        UnknownNameError: something was said.
        ArgumentError: ``said`` is no mapping.
    """
    if not isinstance(said, Mapping):
        raise wrong_type("facts", said, "a mapping from the name of a fact to its value")
    if said:
        raise UnknownNameError(f"The kind {kind} takes no facts, its graphs tell everything; found {some(said)}.")


def lacks(kind: str, name: str, what: str, said: Mapping[str, Any]) -> ConfigError:
    """The error about a fact that nobody said."""
    return ConfigError(
        f"A package of the kind {kind} cannot be described without the fact {name!r}: {what}. Its graphs do not tell. "
        f"Facts given: {some(said)}. Add it: facts={{{name!r}: ...}}."
    )


def refuse(kind: str, name: str, found: object, why: str) -> ConfigError:
    """The error about a fact that the graphs contradict, or that makes no sense."""
    text = " ".join(repr(found).split())
    return ConfigError(f"The fact {name!r} of the kind {kind} is {text[:80]}{'...' if len(text) > 80 else ''}: {why}")


__all__ = ["fact", "first_of", "lacks", "no_facts", "read_facts", "refuse"]
