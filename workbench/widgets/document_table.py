"""Results of document analyses as tables to filter: values, cache facts, differences, and whatever else has rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from workbench.errors import wrong_type
from workbench.metadata.analyses.cache import CacheDependencies
from workbench.metadata.analyses.difference import DocumentDiff
from workbench.metadata.analyses.tables import Table
from workbench.metadata.analyses.values import ValueTable
from workbench.metadata.diagnostic import show_path
from workbench.metadata.plain import whole
from workbench.metadata.wording import cut
from workbench.widgets.pack import Column
from workbench.widgets.view import View

SEPARATOR = "\x1f"
_MOST_LETTERS = 400
_KINDS: Mapping[type, str] = {CacheDependencies: "kind", DocumentDiff: "section", ValueTable: "scope"}
"""The column whose words a person can choose from."""
_TOLD: Mapping[type, str] = {
    CacheDependencies: "The way from what is published", DocumentDiff: "Before and after",
    ValueTable: "What reads it",
}  # fmt: skip


class DocumentTable(View):
    """A :class:`ValueTable`, :class:`CacheDependencies`, :class:`DocumentDiff` or another result with rows.

    A row opens to what stands behind it: the readers of a value, the way to a cache fact, both sides of a difference.
    ``node`` is the path of the opened row, so that ``link(workflow.view, table)`` goes from one to the other.

    Raises:
        ArgumentError: what is given has no rows.
    """

    module: ClassVar[str] = "document_table"
    styles: ClassVar[tuple[str, ...]] = ("document_table",)
    label: ClassVar[str] = "Document table"

    def __init__(self, result: Any, **options: Any) -> None:
        if not isinstance(result, Table):
            raise wrong_type("result", result, "a result with rows", "value_table(document) makes one.")
        super().__init__(result, **options)

    def columns(self, result: Table) -> Mapping[str, Column]:
        """A column of texts for each of the result's, the paths, and what is told of an opened row."""
        rows = result.rows()
        shown: dict[str, Column] = {
            f"c{i}": [_text(row.get(name)) for row in rows] for i, name in enumerate(_shown(result))
        }
        return (
            shown
            | _wholes(result)
            | {"path": [str(row.get("path", "")) for row in rows], "told": _told(result, len(rows))}
        )

    def facts(self, result: Table) -> Mapping[str, Any]:
        """Names of columns, and the sentence above the table."""
        names, kind = _shown(result), _KINDS.get(type(result), "")
        return {
            "title": cut(str(result).splitlines()[0], 300), "columns": names, "label": type(result).__name__,
            "kinds": names.index(kind) if kind in names else -1, "told": _TOLD.get(type(result), "More"),
            "note": _note(result), "empty": _empty(result),
        }  # fmt: skip

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**options)
        return data | {"text/plain": self._result.to_text()}, metadata


def _shown(result: Table) -> list[str]:
    names = result.BRIEF or result.COLUMNS
    return [name for name in names if name != "path" or isinstance(result, DocumentDiff)]


def _text(value: Any) -> str:
    return "" if value is None else cut(str(value), _MOST_LETTERS)


def _note(result: Table) -> str:
    if isinstance(result, ValueTable):
        unknown = ", ".join(cut(name) for name, _ in result.unknown[:8])
        return f"Read, and defined by nothing: {unknown}." if unknown else ""
    return ""


def _empty(result: Table) -> str:
    return "Both documents say the same." if isinstance(result, DocumentDiff) else "There is nothing to show."


def _told(result: Table, count: int) -> list[str]:
    """Lines behind each row."""
    if isinstance(result, CacheDependencies):
        return [
            SEPARATOR.join(f"{link} ({show_path(link.path)})" for link in fact.why[:100]) for fact in result.entries
        ]
    if isinstance(result, DocumentDiff):
        return [SEPARATOR.join(_sides(change.before, change.after)) for change in result.changes]
    if isinstance(result, ValueTable):
        return [
            SEPARATOR.join(f"{user} ({show_path(use.path)})" for user, use in zip(e.users[:100], e.value.uses))
            for e in result.entries
        ]
    return [""] * count


def _sides(before: Any, after: Any) -> list[str]:
    """Of a value with several entries each on a line of its own."""
    sides = ((word, whole(value)) for word, value in (("before", before), ("after", after)) if value is not None)
    return [f"{word}:{chr(10) if chr(10) in text else ' '}{text}" for word, text in sides]


def _wholes(result: Table) -> dict[str, Column]:
    """What cells show the begin of, by column."""
    if not isinstance(result, DocumentDiff):
        return {}
    found, names = result.wholes(), _shown(result)
    return {f"w{names.index(side)}": [row.get(side, "") for row in found] for side in ("before", "after")}
