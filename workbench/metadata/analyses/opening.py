"""What every analysis starts from: a document that parses, in the words of ``pr828``."""

from __future__ import annotations

from typing import Any

from workbench.errors import ModelFileError, unknown
from workbench.metadata.context import Context
from workbench.metadata.diagnostic import show_path
from workbench.metadata.dialects import AUTO, DIALECTS, convert, dialect_of
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.parsing import Misfit
from workbench.metadata.reading import Loaded, load
from workbench.metadata.reading import Source as Text

Source = Text | Context


def data_of(source: Source, dialect: str = "auto") -> dict[str, Any]:
    """Plain data of a document; of ``v1`` with everything that an earlier conversion kept in it.

    ``auto`` takes the document for what it looks like.
    """
    if isinstance(source, Context):
        return _mapping(source.loaded)
    if dialect not in (AUTO, *DIALECTS):
        raise unknown("dialect", dialect, (AUTO, *DIALECTS))
    if dialect == "pr828":
        return _mapping(load(source))
    data = _mapping(load(source))
    return data if dialect == AUTO and dialect_of(data) == "pr828" else convert(data, "pr828").data


def _mapping(loaded: Loaded) -> dict[str, Any]:
    if not isinstance(loaded.data, dict) or loaded.faults:
        why = loaded.faults[0].message if loaded.faults else "The document is no mapping."
        raise ModelFileError(f"The metadata cannot be read: {why} `validate` says where.")
    return loaded.data


def opened(source: Source, dialect: str = "auto") -> Context:
    """The document typed. Semantic faults do not matter here, what does not parse raises a ``ModelFileError``."""
    context = source if isinstance(source, Context) else Context(Loaded(data_of(source, dialect)))
    if context.parsed is None:
        raise ModelFileError(f"The metadata does not parse: {_first(context.misfits)} `validate` names every place.")
    return context


def _first(misfits: tuple[Misfit, ...]) -> str:
    if not misfits:
        return "it cannot be read."
    more = f" ({len(misfits) - 1} more)" if len(misfits) > 1 else ""
    return f"{show_path(misfits[0].path) or 'the document'} has a wrong shape ({misfits[0].kind}){more}."


def workflow_of(context: Context) -> Workflow:
    """The workflow, which most analyses are about."""
    if context.workflow is None:
        raise ModelFileError(
            "The metadata have no pipeline.workflow; found only facts about the model. "
            "Give the document of a package that was exported with a workflow."
        )
    return context.workflow
