"""``derived_capabilities``: what a document asks of its reader, and what in it asks."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.metadata.analyses.opening import Source, opened
from workbench.metadata.analyses.tables import Table
from workbench.metadata.capabilities import BUILT_IN, derived
from workbench.metadata.diagnostic import Path, show_path


@dataclasses.dataclass(frozen=True)
class Capability:
    """``path`` is the first place that uses it; for a word that is only stated, where it is stated."""

    word: str
    used: bool
    listed: bool
    required: bool
    path: Path

    @property
    def built_in(self) -> bool:
        return self.word in BUILT_IN

    @property
    def where(self) -> str:
        return show_path(self.path)


@dataclasses.dataclass(frozen=True, repr=False)
class Capabilities(Table):
    """Sorted by word. ``words`` are those that the structure uses or the manifest lists."""

    entries: tuple[Capability, ...]
    COLUMNS = ("capability", "used", "listed", "required", "built_in", "path")

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(entry.word for entry in self.entries if entry.used or entry.listed)

    @property
    def unlisted(self) -> tuple[str, ...]:
        """What the structure uses and the manifest does not list: rules 14 and 15."""
        return tuple(entry.word for entry in self.entries if entry.used and not entry.listed)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"capability": e.word, "used": e.used, "listed": e.listed, "required": e.required,
             "built_in": e.built_in, "path": e.where}
            for e in self.entries
        ]  # fmt: skip

    def __repr__(self) -> str:
        used = sum(entry.used for entry in self.entries)
        return f"Capabilities({len(self.entries)}: {used} used, {len(self.unlisted)} unlisted)"


def derived_capabilities(source: Source, *, dialect: str = "auto") -> Capabilities:
    """Every capability word of a document, with the place that uses it."""
    context = opened(source, dialect)
    used, manifest = derived(context), context.workflow.manifest.capabilities if context.workflow else ()
    places: dict[str, Path] = dict(used)
    for index, word in enumerate(manifest):
        places.setdefault(word, ("pipeline", "workflow", "manifest", "capabilities", index))
    required = context.document.required_capabilities
    for index, word in enumerate(required):
        places.setdefault(word, ("required_capabilities", index))
    entries = [Capability(word, word in used, word in manifest, word in required, places[word]) for word in places]
    return Capabilities(tuple(sorted(entries, key=lambda entry: entry.word)))
