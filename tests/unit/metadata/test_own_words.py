"""Our sentences are our own: no run of words of the reference's messages stands in a text of our code."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from tests.unit.metadata.fixtures import REPO, SHARED, needs_shared

RUN = 5
"""So many words in a row are no accident. Lists of keys and words of the format are no sentences."""
_NAME = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\{[^}]*\}|\w*[._@/\[\]-]\w[\w.@/\[\]-]*|[\d,:;()]+")
_WORD = re.compile(r"[a-z]+")


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Every run of words; a name of the document or the format ends one."""
    for part in _NAME.split(text.lower()):
        words = _WORD.findall(part)
        yield from (tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))


def _texts() -> Iterator[str]:
    for path in sorted((REPO / "workbench" / "metadata").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def _shared_runs(theirs: list[str], ours: list[str]) -> set[tuple[str, ...]]:
    return {run for text in theirs for run in _runs(text)} & {run for text in ours for run in _runs(text)}


def test_a_repeated_sentence_is_found() -> None:
    theirs = ["Parse error: a.b: the `x` must not be empty or blank at line 3"]
    assert _shared_runs(theirs, ["It must not be empty or blank."])
    assert not _shared_runs(theirs, ["It must not be empty `x` or blank."])


@needs_shared
def test_no_sentence_of_the_reference_stands_in_our_code() -> None:
    rows = json.loads((SHARED / "manifest.json").read_text(encoding="utf-8"))
    theirs = [text for row in rows for text in row.get("errors", ())]
    assert len(theirs) > 180 and sum(1 for text in theirs for _ in _runs(text)) > 300
    found = _shared_runs(theirs, list(_texts()))
    assert not found, sorted(map(" ".join, found))
