"""The config against the files beside it: a document must not repeat what the graph or the tokenizer contradicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.errors import ConfigError, Diagnostic, ModelFileError
from workbench.export.linting import FILE, check, read_subject
from workbench.export.subject import Subject
from workbench.metadata.wording import cut

_NOT_SAID = frozenset(("genai.unknown-key", "genai.model-type", "genai.other-provider"))
"""Faults of what a document does not repeat: keys (the walk knows more), the client's own names, its providers."""
_SAID = frozenset(("genai.head-size", "genai.kv-heads", "genai.layers"))
"""Numbers of which the client believes the graph, so that they are warnings there; a document would repeat them."""
_SHOWN, _ROOM = 2, 320


def agreed(folder: Path, config: Mapping[str, Any]) -> tuple[Subject, tuple[Diagnostic, ...]]:
    """Config, graph and tokenizer, and findings that do not matter to a document but to whoever runs the folder.

    Raises:
        ModelFileError: the graph is missing, damaged or outside the folder.
        ConfigError: something contradicts something else.
    """
    subject, before = read_subject(folder, config)
    found = check(folder, subject, before=before).findings
    wrong = [one for one in found if _matters(one)]
    if subject.facts is None:
        _no_graph(folder, subject, wrong)
    if wrong:
        raise ConfigError(f"{folder} contradicts itself: {_told(wrong)}")
    return subject, tuple(one for one in found if one.code != "genai.unknown-key")


def _matters(found: Diagnostic) -> bool:
    return found.code in _SAID or (found.severity == "error" and found.code not in _NOT_SAID)


def _no_graph(folder: Path, subject: Subject, wrong: Sequence[Diagnostic]) -> None:
    files = [one for one in wrong if one.code == FILE]
    if files:
        raise ModelFileError(f"{folder} cannot be imported: {_told(files)}")
    if not wrong:
        raise ConfigError(
            f"{folder} cannot be imported: model.decoder.filename is {subject.at('model.decoder.filename')!r}, which "
            "names no graph. Name the decoder's file there."
        )


def _told(findings: Sequence[Diagnostic]) -> str:
    texts = [cut(f"{one.message} {one.hint}".strip(), _ROOM) for one in findings[:_SHOWN]]
    more = f" ({len(findings) - _SHOWN} more; lint() lists all.)" if len(findings) > _SHOWN else ""
    return " ".join(texts) + more
