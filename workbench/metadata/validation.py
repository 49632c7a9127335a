"""``validate``: every rule asked about one document, all answers at once and in its order."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Collection
from typing import Any

from workbench.errors import wrong_type
from workbench.metadata.context import Context
from workbench.metadata.diagnostic import STAGES, Diagnostic, Diagnostics, Path, show_path
from workbench.metadata.dialects import reader_of
from workbench.metadata.reading import Loaded, Source, load
from workbench.metadata.reading.limits import MOST_PLACES
from workbench.metadata.registry import Finding, Rule
from workbench.metadata.rules import RULES
from workbench.metadata.wording import cut

_LOWERING = (98, 99)
_MOST = MOST_PLACES
_LONGEST = 600  # characters of a message, which may repeat names of the document
_Found = dict[int, list[Finding]]


def validate(
    source: Source,
    *,
    dialect: str = "auto",
    package_root: str | os.PathLike[str] | None = None,
    advertised: Collection[str] | None = None,
) -> Diagnostics:
    """Every rule that a document breaks, where it breaks it.

    ``source`` is a path of a file or of a package's folder, the text itself, a mapping, or what ``describe`` gave;
    ``dialect`` is ``pr828``, ``v1``, or ``auto``: the one that the document looks like. With ``package_root`` the
    files that the document names are looked for as well; with ``advertised`` (the capabilities of a reader) what
    that reader cannot do is told. A bad document never raises; a source of another type is an ``ArgumentError``.
    """
    root = _root(package_root)
    if isinstance(advertised, str):
        raise wrong_type("advertised", advertised, "a collection of capability words")
    read = reader_of(dialect)
    words = None if advertised is None else frozenset(advertised)
    return check(Context(read(load(source)), root, words))


def _root(package_root: object) -> pathlib.Path | None:
    if package_root is None:
        return None
    if not isinstance(package_root, str | os.PathLike):
        raise wrong_type("package_root", package_root, "a path of a folder, or None")
    return pathlib.Path(os.fspath(package_root))


def check(context: Context) -> Diagnostics:
    """Ask the rules of each stage in turn; what does not parse is asked no more."""
    found = _ask(context, [made for made in RULES.values() if made.stage == "parse"])
    if context.parsed is not None and not context.loaded.faults:
        found |= _ask(context, [made for made in RULES.values() if made.stage != "parse"])
        found = {number: findings for number, findings in found.items() if _stands(RULES[number], found)}
    return _diagnostics(context.loaded, found)


def _ask(context: Context, rules: list[Rule]) -> _Found:
    found = {}
    for made in rules:
        findings = list(made.check(context))
        if findings:
            found[made.number] = findings
    return found


def _stands(made: Rule, found: _Found) -> bool:
    """Whether a rule's findings are more than consequences of another's."""
    causes = made.unless + (_LOWERING if made.lowered else ())
    return not any(cause in found for cause in causes)


def _diagnostics(loaded: Loaded, found: _Found) -> Diagnostics:
    if not found:
        return Diagnostics()
    order = _Order(loaded.data)
    pairs = [(RULES[number], finding) for number, findings in found.items() for finding in _most(findings)]
    pairs.sort(key=lambda pair: (STAGES.index(pair[0].stage), order.of(pair[1].path), pair[0].number))
    lines = loaded.lines(finding.path for _, finding in pairs if finding.line is None)
    return Diagnostics(_diagnostic(made, finding, lines) for made, finding in pairs)


def _most(findings: list[Finding]) -> list[Finding]:
    """All findings of a rule, or a thousand of them and how many more there are."""
    if len(findings) <= _MOST:
        return findings
    last = findings[_MOST]
    more = dataclasses.replace(last, message=f"{last.message} ({len(findings) - _MOST:,} places in all from here on.)")
    return [*findings[:_MOST], more]


def _diagnostic(made: Rule, finding: Finding, lines: dict[Path, int | None]) -> Diagnostic:
    line = finding.line if finding.line is not None else lines.get(finding.path)
    message, hint = (cut(text, _LONGEST) for text in (finding.message, finding.hint))
    return Diagnostic(
        made.code, finding.severity or "error", message, show_path(finding.path), hint,
        made.number, made.stage, finding.path, line,
    )  # fmt: skip


class _Order:
    """Where paths stand among each other in the document."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.places: dict[int, dict[str | int, int]] = {}

    def of(self, path: Path) -> tuple[int, ...]:
        at, places = self.data, []
        for step in path:
            if isinstance(at, dict):
                keys = self.places.setdefault(id(at), {}) or self._index(at)
                places.append(keys.get(step, len(keys)))
                at = at.get(step)
            elif isinstance(at, list) and isinstance(step, int):
                places.append(step)
                at = at[step] if step < len(at) else None
            else:
                break
        return tuple(places)

    def _index(self, mapping: dict[str, Any]) -> dict[str | int, int]:
        found: dict[str | int, int] = {key: place for place, key in enumerate(mapping)}
        self.places[id(mapping)] = found
        return found
