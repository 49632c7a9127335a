"""From plain data to the typed document, or to the list of everything that does not fit its shape."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

import pydantic

from workbench.metadata.diagnostic import Path
from workbench.metadata.document import Document
from workbench.metadata.document.base import Bare

MOST = 8000
"""Complaints of the library that are looked at: a document with more is not understood any better."""


@dataclasses.dataclass(frozen=True)
class Misfit:
    """A place whose shape is wrong: ``kind`` is the library's word for how, ``found`` what stands there."""

    kind: str
    path: Path
    found: Any
    allowed: str = ""
    ignored: bool = False  # an extra key beside a kind without fields


def parse(data: Any) -> tuple[Document | None, tuple[Misfit, ...]]:
    """The document, or None; and what does not fit. With a document all misfits are ignored extra keys."""
    try:
        return Document.model_validate(data), ()
    except pydantic.ValidationError as error:
        misfits = _misfits(error, data)
    ignored = tuple(misfit for misfit in misfits if misfit.ignored)
    if len(ignored) < len(misfits):
        return None, misfits
    try:
        return Document.model_validate(_without(data, {misfit.path for misfit in ignored})), ignored
    except pydantic.ValidationError as error:  # pragma: no cover - what is left had no faults
        return None, (*ignored, *_misfits(error, data))


def _without(data: Any, paths: set[Path], here: Path = ()) -> Any:
    if isinstance(data, dict):
        return {k: _without(v, paths, (*here, k)) for k, v in data.items() if (*here, k) not in paths}
    if isinstance(data, list):
        return [_without(v, paths, (*here, i)) for i, v in enumerate(data)]
    return data


def _misfits(error: pydantic.ValidationError, data: Any) -> tuple[Misfit, ...]:
    """One misfit a place: members of a union complain each for itself, the one that came closest is kept."""
    by_path: dict[Path, Misfit] = {}
    for detail in error.errors(include_url=False)[:MOST]:
        misfit = _misfit(detail, data)
        before = by_path.get(misfit.path)
        if before is None or (before.kind.endswith("_type") and not misfit.kind.endswith("_type")):
            by_path[misfit.path] = misfit
    return tuple(by_path.values())


def _misfit(detail: Mapping[str, Any], data: Any) -> Misfit:
    kind, found = detail["type"], detail["input"]
    path, missing = document_path(detail["loc"], data, kind == "missing"), kind in ("missing", "union_tag_not_found")
    if missing:
        path = (*path, "kind") if kind == "union_tag_not_found" else path
        found = None
    context = detail.get("ctx", {})
    allowed = str(context.get("expected") or context.get("expected_tags") or "")
    ignored = kind == "extra_forbidden" and issubclass(model_at(data, path[:-1]) or Document, Bare)
    return Misfit(kind, path, found, allowed, ignored)


def document_path(location: tuple[int | str, ...], data: Any, absent: bool = False) -> Path:
    """The library names the member of a union on the way (``source.request.foo``): leave those words out.

    ``absent``: the last word is a key that the document lacks.
    """
    path: list[str | int] = []
    at, at_kind = data, False  # at_kind: the word before was the kind of this very mapping
    for index, step in enumerate(location):
        last = absent and index == len(location) - 1
        if (
            isinstance(at, dict)
            and not at_kind
            and at.get("kind") == step
            and not (index == len(location) - 1 and step in at)
        ):
            at_kind = True
        elif (isinstance(at, dict) and (step in at or last)) or _has_item(at, step):
            path.append(step)
            at, at_kind = (at.get(str(step)) if isinstance(at, dict) else at[step]), False
    return tuple(path)


# --- which model describes a place ----------------------------------------------------------------------
def model_at(data: Any, path: Path) -> type[pydantic.BaseModel] | None:
    """The model of the mapping at a path, or None where it is a list or a map of free names."""
    wanted: Any = Document
    for step in path:
        wanted = _below(wanted, data, step)
        data = data[step] if isinstance(data, dict) and step in data or _has_item(data, step) else None
    found = _pick(wanted, data)
    return found if isinstance(found, type) and issubclass(found, pydantic.BaseModel) else None


def _has_item(data: Any, step: str | int) -> bool:
    return isinstance(data, list) and isinstance(step, int) and step < len(data)


def _below(wanted: Any, data: Any, step: str | int) -> Any:
    wanted = _pick(wanted, data)
    if isinstance(wanted, type) and issubclass(wanted, pydantic.BaseModel):
        fields = {field.alias or name: field for name, field in wanted.model_fields.items()}
        field = fields.get(str(step))
        return field.annotation if field else None
    arguments = typing.get_args(wanted)
    return arguments[1 if typing.get_origin(wanted) is Mapping else 0] if arguments else None


def _pick(wanted: Any, data: Any) -> Any:
    """The member of a union that the data mean."""
    if typing.get_origin(wanted) is typing.Annotated:
        return _pick(typing.get_args(wanted)[0], data)
    if isinstance(wanted, typing.ForwardRef) or typing.get_origin(wanted) not in (types.UnionType, typing.Union):
        return wanted
    members = [_pick(member, data) for member in typing.get_args(wanted)]
    if isinstance(data, dict):
        models = [m for m in members if isinstance(m, type) and issubclass(m, pydantic.BaseModel)]
        kinds = [m for m in models if data.get("kind") in _kinds(m)]
        containers = [m for m in members if typing.get_origin(m) is not None]
        return (kinds or (models if len(models) == 1 else []) or containers or [None])[0]
    return next((m for m in members if typing.get_origin(m) is tuple), None)


def _kinds(model: type[pydantic.BaseModel]) -> tuple[Any, ...]:
    field = model.model_fields.get("kind")
    return typing.get_args(field.annotation) if field else ()
