"""``import_genai_config``: a folder of ONNX Runtime GenAI described as a workflow, one way, nothing lost in silence."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

from workbench.describe import InferenceMetadata, WorkflowBuilder
from workbench.describe.builder import plain
from workbench.describe.describing import checked
from workbench.describe.kinds import Kind, decoder, static_cache, windows
from workbench.describe.kinds.decoder import COMPONENT
from workbench.errors import ConfigError, Diagnostic, UnsupportedError, wrong_type
from workbench.export import subject as linted
from workbench.importing.agreement import agreed
from workbench.importing.entries import ConfigEntry, lossy
from workbench.importing.fitting import fitted, fitting_of, rename_ports, second_name
from workbench.importing.names import renamed
from workbench.importing.ports import Names, Values, names_of
from workbench.importing.reading import check_files, config_of, folder_of
from workbench.importing.result import GenaiImport
from workbench.importing.sections import add_sections, tokenizer_of
from workbench.importing.sides import check_sides
from workbench.importing.subject import FolderSubject
from workbench.importing.walk import Walk, walk
from workbench.metadata.document import Document
from workbench.metadata.files import look_for
from workbench.package import Package

_SHOWN = 3
KINDS: tuple[Kind, ...] = (decoder.KIND, windows.KIND, static_cache.KIND)
"""What a folder with one decoder can be described as."""


def import_genai_config(folder: str | os.PathLike[str], allow_lossy: bool = False) -> GenaiImport:
    """Describe a folder that was made for ONNX Runtime GenAI as a workflow: one decoder fed by tokens.

    Every key of ``genai_config.json`` is asked about. What a document has no place for, and what is unknown, is a
    loss; ``allow_lossy`` decides whether losses are an error, and nothing else. The config is held against the graph
    and the tokenizer first; weights are not read. There is no way back.

    Args:
        folder: with ``genai_config.json``, the decoder's graph and, best, ``tokenizer.json``.
        allow_lossy: go on where something is lost; ``losses`` of the result lists it.

    Raises:
        LossyImportError: something would be lost; its ``losses`` lists each value with the reason.
        UnsupportedError: the model is more than one decoder fed by tokens.
        ConfigError: the config cannot be read, or it contradicts itself, the graph or the tokenizer.
        ModelFileError: no such folder, no config in it, or no usable graph.
        ArgumentError: an argument has a type that is not taken.

    Source: the keys are those of onnxruntime-genai 0.18.0, each given to its own parser (``export.keys``).
    """
    place = folder_of(folder)
    if not isinstance(allow_lossy, bool):
        raise wrong_type("allow_lossy", allow_lossy, "True or False")
    config = config_of(place)
    found = walk(config)
    _check_kinds(place, found)
    _check_parts(place, found)
    check_files(place, found.values)
    read, findings = agreed(place, config)
    names = names_of(read, found.values)
    entries = tuple(_fates(place, found))
    losses = tuple(entry for entry in entries if entry.is_lost)
    if losses and not allow_lossy:
        raise lossy(place, losses)
    return GenaiImport(place, _described(place, read, found.values, names, findings), entries)


def _described(
    folder: Path, read: linted.Subject, values: Values, names: Names, findings: tuple[Diagnostic, ...]
) -> InferenceMetadata:
    """By the first kind of ``describe`` that the decoder is of. The document has the graph's own names, unless another
    graph takes its place."""
    assert read.facts is not None
    builder, fitting, other = WorkflowBuilder(), fitting_of(read.facts, names, values), second_name(read.graph)
    model = fitted(folder / read.graph, fitting)
    check_sides(model, names)
    rename_ports(model, names)
    file = other if fitting else read.graph
    subject = FolderSubject(Package({"model": model}), values=values, file=file, other=other)
    kind = _kind(folder, subject)
    kind.write(subject, builder)
    add_sections(builder, values, folder)
    document, artifacts = builder.document(), dict(builder.artifacts)
    if fitting or builder.models:
        artifacts[other] = builder.models.get("model", model)
    else:
        document = Document.model_validate(renamed(plain(document), COMPONENT, names))
    notes = [*fitting.notes(other), *builder.notes, *(f"{one.message} {one.hint}".strip() for one in findings)]
    return checked(InferenceMetadata(document, kind.name, folder.name, artifacts=artifacts, notes=tuple(notes)))


def _kind(folder: Path, subject: FolderSubject) -> Kind:
    kind = next((kind for kind in KINDS if kind.fits(subject)), None)
    if kind is None:
        known = "; ".join(f"{one.name} ({one.about})" for one in KINDS)
        raise UnsupportedError(f"The decoder of {folder} cannot be described as {known}. Export it in another form.")
    return kind


def _fates(folder: Path, found: Walk) -> Iterator[ConfigEntry]:
    """Special tokens belong to the facts of a tokenizer; without one the document has no place for them."""
    without = look_for(folder, tokenizer_of(found.values)) != "there"
    for entry in found.entries:
        if without and (entry.path.endswith("_token_id") or entry.path == "model.tokenizer_dir"):
            note = "facts of a tokenizer, and there is no tokenizer.json"
            entry = dataclasses.replace(entry, fate="dropped", note=note)
        yield entry


def _check_kinds(folder: Path, found: Walk) -> None:
    if found.wrong:
        more = f" ({len(found.wrong) - _SHOWN} more.)" if len(found.wrong) > _SHOWN else ""
        told = "; ".join(sentence for _, sentence in found.wrong[:_SHOWN])
        raise ConfigError(f"The genai_config.json of {folder} cannot be imported: {told}.{more} Correct it.")


def _check_parts(folder: Path, found: Walk) -> None:
    if not found.refused:
        return
    parts: dict[str, list[str]] = {}
    for path, why in found.refused:
        parts.setdefault(why, []).append(path)
    told = "; ".join(f"{why} ({', '.join(paths[:_SHOWN])})" for why, paths in parts.items())
    raise UnsupportedError(
        f"{folder} is no decoder that takes text alone: {told}. Only one decoder fed by tokens, with keys and values "
        "for each layer, is imported; without these parts it would not run, so allow_lossy does not help."
    )
