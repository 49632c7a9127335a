"""``lint``: a folder's config and metadata against its graphs and its tokenizer; weights are never read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.analysis.graph_facts import GraphFacts, graph_facts
from workbench.config.files import existing_folder
from workbench.errors import Diagnostic, ModelFileError, WorkbenchError
from workbench.export import checks_cache, checks_ends, checks_sizes, checks_words
from workbench.export.genai_config import NAME
from workbench.export.lint_report import LintReport
from workbench.export.metadata_folder import KINDS, check_folder, document_in
from workbench.export.subject import Check, GraphCheck, Subject, finding
from workbench.export.vocabulary import UnreadableTokenizer, vocabulary
from workbench.metadata.wording import q

WORDS: tuple[Check, ...] = checks_words.CHECKS
GRAPHS: tuple[GraphCheck, ...] = (*checks_ends.CHECKS, *checks_sizes.CHECKS, *checks_cache.CHECKS)
FILE = "genai.file"
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
_LARGEST_CONFIG = 8_000_000
_UNREADABLE = object()
_LARGEST_GRAPH = (1 << 31) - 1  # protobuf's own limit


def lint(folder: str | os.PathLike[str]) -> LintReport:
    """Check a folder for its clients: ``genai_config.json`` (ONNX Runtime GenAI) against graph and tokenizer,
    ``inference_metadata.yaml`` (onnx-genai) against its rules and the graphs, whoever made it.

    Every contradiction is a finding with a code, a sentence, the place and a fix. Files that are missing, damaged or
    of a wrong kind are findings too, so this raises for the folder itself only. Weights are not read.

    Raises:
        ModelFileError: there is no such folder.
        ArgumentError: ``folder`` is no path.
    """
    place = existing_folder(folder)
    if document_in(place) is None:
        return _Reader(place).report()
    described = check_folder(place)
    return _Reader(place).report() + described if (place / NAME).exists() else described


def read_subject(folder: Path, config: Mapping[str, Any]) -> tuple[Subject, tuple[Diagnostic, ...]]:
    """What the checks look at, of a config that was read already, and what is wrong with the files beside it."""
    reader = _Reader(folder)
    return reader.subject(config), tuple(reader.found)


def check(folder: Path, subject: Subject, *, before: tuple[Diagnostic, ...] = ()) -> LintReport:
    """Every check of a subject that was read already, after the findings made while reading it."""
    found, done, skipped = list(before), [FILE], []
    for words in WORDS:
        done.append(words.code)
        found += words.find(subject)
    if subject.facts is None:
        skipped.append("The graph could not be read, so nothing was held against it.")
    elif checks_words.has_other_parts(subject.at("model")):
        skipped.append("The model is more than one decoder with a cache; only its words were checked.")
    else:
        for one in GRAPHS:
            done.append(one.code)
            found += one.find(subject, subject.facts)
    if subject.vocabulary is None:
        skipped.append("No tokenizer could be read, so its vocabulary was not compared.")
    return LintReport(folder, tuple(found), tuple(done), tuple(skipped))


class _Reader:
    """Reads a folder file by file; what is wrong with a file becomes a finding."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: list[Diagnostic] = []

    def report(self) -> LintReport:
        config = self._config()
        if config is None:
            return LintReport(self.folder, tuple(self.found), (FILE,), ("Without a config nothing can be compared.",))
        subject = self.subject(config)
        return check(self.folder, subject, before=tuple(self.found))

    def subject(self, config: Mapping[str, Any]) -> Subject:
        facts, graph = self._graph(config)
        made_for = self._made_for()
        return Subject(config, facts, graph, self._vocabulary(config), made_for)

    def _config(self) -> Mapping[str, Any] | None:
        path = self.folder / NAME
        if not path.is_file():
            self._add(f"{NAME} is missing: the client needs it.", NAME, "Export the model again, or write one.")
            return None
        values = self._json(path, _LARGEST_CONFIG)
        if values is not _UNREADABLE and not isinstance(values, dict):
            self._add(f"{NAME} holds a JSON {type(values).__name__}, not named values.", NAME, "Export again.")
        return values if isinstance(values, dict) else None

    def _json(self, path: Path, largest: int) -> Any:
        try:
            if path.stat().st_size > largest:
                raise ValueError(f"{path.stat().st_size:,} bytes are too many")
            return json.loads(path.read_bytes())
        except OSError as error:
            self._add(f"{path.name} cannot be read: {error.strerror}.", path.name, "Make it readable.")
        except (ValueError, RecursionError) as error:
            why = str(error)[:200] or "nested too deeply"
            self._add(f"{path.name} is not valid JSON: {why}.", path.name, "Correct it, or fetch it again.")
        return _UNREADABLE

    def _graph(self, config: Mapping[str, Any]) -> tuple[GraphFacts | None, str]:
        name = Subject(config).at("model.decoder.filename")
        if not isinstance(name, str) or not name:
            return None, ""
        where, path = "model.decoder.filename", self.folder / name
        if "\0" in name or not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.folder)):
            self._add(f"{q(name)} lies outside the folder.", where, "Put the graph into the folder.")
        elif not os.path.isfile(path):  # not Path.is_file(), which raises for a name that is too long
            held = sorted(entry.name for entry in self.folder.glob("*.onnx"))
            hint = f"Write {held[0]!r}." if len(held) == 1 else "Put the graph there, or name the one that is."
            self._add(f"The graph {q(name)} is missing.", where, hint)
        elif path.stat().st_size > _LARGEST_GRAPH:
            self._add(f"{name} is larger than 2 GiB, which no reader takes.", name, "Save it with external data.")
        else:
            return self._read(path), name
        return None, name

    def _read(self, path: Path) -> GraphFacts | None:
        from workbench.package import load

        try:
            package = load(path)
        except WorkbenchError as error:
            self._add(str(error), path.name, "Export the model again.")
            return None
        for note in package.diagnostics:
            if note.code.startswith("weights."):
                self._add(note.message, note.where, "Put the whole file beside the graph.")
        return graph_facts(package.model)

    def _made_for(self) -> str:
        """The provider in our own manifest, if the folder has one; files of the same name by others say nothing."""
        from workbench.package.manifest import NAME as MANIFEST
        from workbench.package.manifest import read_manifest

        if not (self.folder / MANIFEST).is_file():
            return ""
        try:
            return read_manifest(self.folder).execution_provider
        except ModelFileError:
            return ""

    def _vocabulary(self, config: Mapping[str, Any]) -> int | None:
        directory = Subject(config).at("model.tokenizer_dir")
        place = self.folder / directory if isinstance(directory, str) and "\0" not in directory else self.folder
        missing = [name for name in _TOKENIZER if not os.path.isfile(place / name)]
        if missing:
            self._add(
                f"{' and '.join(missing)} missing: the client cannot make a tokenizer and takes ids only.", missing[0],
                "Copy the tokenizer of the model into the folder.", severity="warning",
            )  # fmt: skip
        if "tokenizer.json" in missing:
            return None
        try:
            return vocabulary(place / "tokenizer.json")
        except UnreadableTokenizer as error:
            self._add(f"tokenizer.json {error}.", "tokenizer.json", "Fetch it again.")
            return None

    def _add(self, message: str, where: str, hint: str, *, severity: Any = "error") -> None:
        self.found.append(finding(FILE, message, where, hint, severity))


def kinds() -> Iterator[tuple[str, str]]:
    """Every code of ``lint`` with what it is about."""
    yield FILE, "files that are missing or cannot be read"
    yield from ((one.code, one.about) for one in WORDS)
    yield from ((one.code, one.about) for one in GRAPHS)
    yield from KINDS
