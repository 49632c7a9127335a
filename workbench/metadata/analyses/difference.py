"""``diff``: what two documents say differently. Order of keys, syntax and written-out defaults do not count."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator
from typing import Any, Literal

from workbench.metadata.analyses.identity import semantic_identity
from workbench.metadata.analyses.opening import Source, opened
from workbench.metadata.analyses.tables import Table, as_html
from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.plain import plain, whole

Kind = Literal["added", "removed", "changed"]
_SETS = frozenset({
    "capabilities", "required_capabilities", "cache_affects_state", "effects", "cascade", "rollback_state",
    "shared_state", "shared_weights", "replicated", "state_groups", "required_dtypes", "beneficial_dtypes",
})  # fmt: skip
"""Lists whose order means nothing."""
_KEYED = {"carried": "cell", "targets": "id", "bindings": "weight_key", "constraint_languages": "dialect"}
"""Lists whose items have a name."""
_MOST_PAIRS = 1_000_000
"""Beyond this many pairs of steps the lists are compared by position, which costs no more than their lengths."""
_FITS = 120  # letters of a value
_SIGNS = ("kind", "component", "output", "name", "op", "format")


@dataclasses.dataclass(frozen=True)
class DocumentChange:
    """``path`` leads to the place in the second document; for what was removed, in the first."""

    kind: Kind
    path: Path
    before: Any = None
    after: Any = None

    @property
    def section(self) -> str:
        """The part of the document: a section of the workflow, else a top-level key."""
        parts = [step for step in self.path if isinstance(step, str)]
        return parts[2] if parts[:2] == ["pipeline", "workflow"] and len(parts) > 2 else parts[0] if parts else ""

    @property
    def where(self) -> str:
        return show_path(self.path)

    def __str__(self) -> str:
        shown = {"added": _short(self.after), "removed": _short(self.before)}
        return f"{self.kind} {self.where}: {shown.get(self.kind) or f'{_short(self.before)} -> {_short(self.after)}'}"


@dataclasses.dataclass(frozen=True, repr=False)
class DocumentDiff(Table):
    """The changes in the order of the documents. ``identities`` are of the words as written, defaults included."""

    changes: tuple[DocumentChange, ...]
    identities: tuple[str, str]
    COLUMNS = ("kind", "section", "path", "before", "after")

    @property
    def is_empty(self) -> bool:
        """Whether both say the same."""
        return not self.changes

    @property
    def same_identity(self) -> bool:
        return self.identities[0] == self.identities[1]

    @property
    def sections(self) -> dict[str, int]:
        """Number of changes in each part of the document."""
        found: dict[str, int] = {}
        for change in self.changes:
            found[change.section] = found.get(change.section, 0) + 1
        return found

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"kind": c.kind, "section": c.section, "path": c.where,
             "before": _short(c.before), "after": _short(c.after)}
            for c in self.changes
        ]  # fmt: skip

    def wholes(self) -> list[dict[str, str]]:
        """For each row the sides of which it shows the begin alone."""
        sides = [(("before", change.before), ("after", change.after)) for change in self.changes]
        return [{side: whole(value) for side, value in both if _is_cut(value)} for both in sides]

    def _repr_html_(self) -> str:
        return as_html(str(self), self.COLUMNS, self.rows(), self.wholes())

    def __repr__(self) -> str:
        said = ", ".join(f"{section} {number}" for section, number in self.sections.items()) or "no difference"
        return f"DocumentDiff({said}; identity {'equal' if self.same_identity else 'differs'})"


def diff(a: Source, b: Source, *, dialects: tuple[str, str] = ("auto", "auto")) -> DocumentDiff:
    """What ``b`` says that ``a`` does not, and the other way round. Each may be written in its own dialect."""
    first, second = opened(a, dialects[0]), opened(b, dialects[1])
    changes = tuple(_compare(_plain(first), _plain(second), (), "", ()))
    return DocumentDiff(changes, (semantic_identity(first), semantic_identity(second)))


def _plain(context: Context) -> Any:
    """Every field with its default, so that a default means the same written or not."""
    return context.document.model_dump(mode="json", by_alias=True)


def _compare(before: Any, after: Any, path: Path, key: str, old: Path) -> Iterator[DocumentChange]:
    """``path`` is the place in the second document, ``old`` what it is in the first where lists have shifted."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _mappings(before, after, path, old or path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, path, key, old or path)
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        kind: Kind = "added" if _is_nothing(before) else "removed" if _is_nothing(after) else "changed"
        yield DocumentChange(kind, (old or path) if kind == "removed" else path, before, after)


def _is_nothing(value: Any) -> bool:
    return value is None or value == {} or value == []


def _mappings(before: dict[str, Any], after: dict[str, Any], path: Path, old: Path) -> Iterator[DocumentChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        yield from _compare(before.get(key), after.get(key), (*path, key), key, (*old, key))


def _lists(before: list[Any], after: list[Any], path: Path, key: str, old: Path) -> Iterator[DocumentChange]:
    if key in _SETS and all(isinstance(item, str) for item in (*before, *after)):
        here, there = frozenset(before), frozenset(after)
        for word in dict.fromkeys(before):
            if word not in there:
                yield DocumentChange("removed", old, word)
        for word in dict.fromkeys(after):
            if word not in here:
                yield DocumentChange("added", path, None, word)
        return
    if key == "shape" or not all(isinstance(item, dict) for item in (*before, *after)):
        if before != after:
            yield DocumentChange("changed", path, before, after)
        return
    for i1, i2, j1, j2, paired in _aligned([_sign(i, key) for i in before], [_sign(i, key) for i in after]):
        for step in range(paired):
            yield from _compare(before[i1 + step], after[j1 + step], (*path, j1 + step), key, (*old, i1 + step))
        for i in range(i1 + paired, i2):
            yield DocumentChange("removed", (*old, i), before[i])
        for j in range(j1 + paired, j2):
            yield DocumentChange("added", (*path, j), None, after[j])


_Block = tuple[int, int, int, int, int]  # begin and end in either list, and how many items go together


def _aligned(before: list[str], after: list[str]) -> Iterator[_Block]:
    """Which items of two lists are the same ones: equal ends first, then the longest common runs between them."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    yield 0, start, 0, start, start
    i2, j2 = len(before) - end, len(after) - end
    if (i2 - start) * (j2 - start) > _MOST_PAIRS:
        yield start, i2, start, j2, min(i2, j2) - start
    else:
        between = difflib.SequenceMatcher(None, before[start:i2], after[start:j2], autojunk=False)
        for tag, a1, a2, b1, b2 in between.get_opcodes():
            yield start + a1, start + a2, start + b1, start + b2, a2 - a1 if tag == "equal" else 0
    yield i2, len(before), j2, len(after), end


def _common(a: list[str], b: list[str]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def _sign(item: dict[str, Any], key: str) -> str:
    """What makes an item of a list the same item: its name, or the kind of a step and what it is about."""
    if key in _KEYED:
        return str(item.get(_KEYED[key]))
    return " ".join(str(item[word]) for word in _SIGNS if item.get(word))


def _short(value: Any) -> str:
    return "" if value is None else plain(value, _FITS)


def _is_cut(value: Any) -> bool:
    return value is not None and plain(value, _FITS) != plain(value, 2 * _FITS)
