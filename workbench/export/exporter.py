"""``export``: a package to a folder that a client loads, whole or not at all."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from workbench.config.progress import Progress
from workbench.describe import InferenceMetadata, describe
from workbench.ep import get_ep
from workbench.errors import UnsupportedError, wrong_type
from workbench.export.clients import GENAI, METADATA, RUNTIMES, check_client, clients_of
from workbench.export.genai_folder import GenaiFolder
from workbench.export.lint_report import LintReport
from workbench.export.metadata_folder import check_made, files_of, metadata_notes
from workbench.export.outputs import with_outputs
from workbench.export.report import ExportReport
from workbench.export.tokenizer import left_out, with_tokenizer
from workbench.export.windows import with_window_cache
from workbench.package import Manifest, Package
from workbench.package.saving import check_place, measure, save
from workbench.types import dtype_word

_NOTHING: Mapping[str, Any] = {}


def export(
    package: Package,
    folder: str | os.PathLike[str],
    *,
    runtime: str = "onnxruntime-genai",
    overwrite: bool = False,
    dry_run: bool = False,
    search: Mapping[str, Any] = _NOTHING,
    tokenizer: str | os.PathLike[str] | bool | None = None,
    window_cache: bool = False,
    outputs: Sequence[str] = (),
    metadata: InferenceMetadata | None = None,
    progress: Progress = None,
) -> ExportReport:
    """Write a package as a folder that a client loads: graph, external data, config, tokenizer, ``manifest.json``.

    The folder is a package as well: ``load()`` opens it. With ``overwrite`` an older one is replaced; at any moment
    the old or the new one is there, complete.

    Args:
        package: with weights; for ``onnxruntime-genai`` of the task text-generation, for ``onnx-genai`` of any kind
            that ``describe()`` knows.
        folder: made by this call.
        runtime: the client: ``onnxruntime-genai`` (``genai_config.json``), ``onnx-genai``
            (``inference_metadata.yaml``) or ``both``, one folder that either loads.
        overwrite: replace a package that is there already.
        dry_run: write nothing; the report says what would be written, checked as if it were.
        search: the client's search defaults over those of ``generation_config.json``; ``onnxruntime-genai`` alone.
        tokenizer: a folder to take the tokenizer from; None takes the package's own; False goes without.
        window_cache: let layers with a sliding window keep the window only, where the provider's kernel can;
            ``onnxruntime-genai`` alone.
        outputs: more values of the graph for the client to give, by name (see ``client_logits``).
        metadata: the package's description, for ``onnx-genai``; None asks ``describe()`` for it.
        progress: called with what is done so far; False shows nothing.

    Raises:
        UnknownNameError: unknown runtime, search option or value of the graph.
        UnsupportedError: the client cannot run such a graph, or does not know such an option.
        SaveError: no tokenizer, no weights, the folder is taken, or the disk refuses.
        ArgumentError: an argument has a type that is not taken.
    """
    _check(package, folder, search, metadata)
    check_client(runtime, package, search=search, window_cache=window_cache, tokenizer=tokenizer)
    clients = clients_of(runtime)
    made = _prepare(package, tokenizer, window_cache, outputs)
    genai = GenaiFolder.of(made, search) if GENAI in clients else None
    metadata = _described(made, metadata, clients)
    if metadata is not None and metadata.models:
        made = _retold(made, metadata, genai)
    target = check_place(made, Path(folder), overwrite=overwrite)
    beside = (genai.files if genai else {}) | (files_of(metadata) if metadata else {})
    manifest = _write(made, target, beside, overwrite, dry_run, progress)
    return ExportReport(
        folder=target,
        runtime=runtime,
        execution_provider=get_ep(made.execution_provider).name if made.execution_provider else "",
        dtype=dtype_word(made.dtype) if made.dtype is not None else "",
        files=manifest.files,
        config=genai.config if genai else {},
        metadata=metadata,
        notes=tuple(dict.fromkeys([*_notes(made, genai, metadata), *left_out(made)])),
        lint=_lint(target, genai, metadata, dry_run),
        dry_run=dry_run,
    )


def _described(made: Package, metadata: InferenceMetadata | None, clients: Sequence[str]) -> InferenceMetadata | None:
    if METADATA in clients:
        return metadata if metadata is not None else describe(made)
    if metadata is not None:
        raise UnsupportedError(f"metadata is for {METADATA}. Pass runtime={METADATA!r} or 'both', or leave it out.")
    return None


def _retold(made: Package, metadata: InferenceMetadata, genai: GenaiFolder | None) -> Package:
    """The package with the graphs that its description asks for."""
    if genai is not None:
        raise UnsupportedError(
            f"One folder cannot serve both clients here: onnx-genai runs another form of {', '.join(metadata.models)}. "
            f"{' '.join(metadata.notes)} Write two folders."
        )
    return dataclasses.replace(made, models={**made.models, **metadata.models})


def _notes(made: Package, genai: GenaiFolder | None, metadata: InferenceMetadata | None) -> list[str]:
    return [*(genai.notes if genai else ()), *(metadata_notes(made, metadata) if metadata else ())]


def _lint(target: Path, genai: GenaiFolder | None, metadata: InferenceMetadata | None, dry_run: bool) -> LintReport:
    """What ``lint()`` would say of the folder, without reading what is known already."""
    found = genai.check(target) if genai else LintReport(target, (), ())
    return found if metadata is None else found + check_made(target, metadata, written=not dry_run)


def _write(
    made: Package, target: Path, beside: Mapping[str, bytes], overwrite: bool, dry_run: bool, progress: Progress
) -> Manifest:
    return measure(made, beside) if dry_run else save(
        made, target, overwrite=overwrite, progress=progress, beside=beside
    )  # fmt: skip


def _check(package: object, folder: object, search: object, metadata: object) -> None:
    if not isinstance(package, Package):
        raise wrong_type("package", package, "a Package", "build(), load() and a Comparison give one.")
    if isinstance(folder, bytes) or not isinstance(folder, str | os.PathLike):
        raise wrong_type("folder", folder, "a path")
    if not isinstance(search, Mapping):
        raise wrong_type("search", search, "a mapping of search options")
    if metadata is not None and not isinstance(metadata, InferenceMetadata):
        raise wrong_type("metadata", metadata, "what describe() gives, or None")


def _prepare(
    package: Package, tokenizer: str | os.PathLike[str] | bool | None, window_cache: bool, outputs: Sequence[str]
) -> Package:
    """The package as the client is to get it: a clone where the graph changes, the tokenizer of the caller's choice."""
    if window_cache or outputs:
        model: ir.Model = package.model
        if window_cache:
            model = with_window_cache(model, get_ep(package.execution_provider))
        if outputs:
            model = with_outputs(model, outputs)
        package = dataclasses.replace(package, models={next(iter(package.models)): model})
    return with_tokenizer(package, tokenizer)


__all__ = ["RUNTIMES", "export"]
