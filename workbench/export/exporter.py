"""``export``: a package to a folder that a client loads, whole or not at all."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir

from workbench.analysis.graph_facts import graph_facts
from workbench.config.model_config import ModelConfig
from workbench.config.progress import Progress
from workbench.ep import get_ep
from workbench.errors import SaveError, UnsupportedError, unknown, wrong_type
from workbench.export.genai_config import NAME, ClientConfig, client_config, client_notes, generation_words
from workbench.export.linting import check
from workbench.export.outputs import with_outputs
from workbench.export.report import ExportReport
from workbench.export.subject import Subject
from workbench.export.vocabulary import UnreadableTokenizer, vocabulary
from workbench.export.windows import with_window_cache
from workbench.package import Manifest, Package
from workbench.package.saving import check_place, measure, save
from workbench.types import dtype_word

RUNTIMES = ("onnxruntime-genai",)
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
    progress: Progress = None,
) -> ExportReport:
    """Write a package as a folder that a client loads: graph, external data, config, tokenizer, ``manifest.json``.

    The folder is a package as well: ``load()`` opens it. With ``overwrite`` an older one is replaced; at any moment
    the old or the new one is there, complete.

    Args:
        package: of the task text-generation, with weights.
        folder: made by this call.
        runtime: the client; ``onnxruntime-genai``.
        overwrite: replace a package that is there already.
        dry_run: write nothing; the report says what would be written, checked as if it were.
        search: the client's search defaults over those of ``generation_config.json``.
        tokenizer: a folder to take the tokenizer from; None takes the package's own; False goes without.
        window_cache: let layers with a sliding window keep the window only, where the provider's kernel can.
        outputs: more values of the graph for the client to give, by name (see ``client_logits``).
        progress: called with what is done so far; False shows nothing.

    Raises:
        UnknownNameError: unknown runtime, search option or value of the graph.
        UnsupportedError: the client cannot run such a graph.
        SaveError: no tokenizer, no weights, the folder is taken, or the disk refuses.
        ArgumentError: an argument has a type that is not taken.
    """
    _check(package, folder, runtime, search)
    made = _prepare(package, tokenizer, window_cache, outputs)
    key = next(iter(made.models))
    facts, ep = graph_facts(made.model), get_ep(made.execution_provider)
    config = made.config
    assert isinstance(config, ModelConfig)
    words = client_config(
        facts, config, ep, filename=f"{key}.onnx", generation=generation_words(made.tokenizer), search=search,
    )  # fmt: skip
    target = check_place(made, Path(folder), overwrite=overwrite)
    subject = Subject(words.values, facts, f"{key}.onnx", _vocabulary(made), made.execution_provider)
    notes = (*words.notes, *client_notes(facts, ep, made.dtype or ep.default_dtype, made.padding), *_left_out(made))
    manifest = _write(made, target, words, overwrite, dry_run, progress)
    return ExportReport(
        folder=target,
        runtime=runtime,
        execution_provider=ep.name,
        dtype=dtype_word(made.dtype) if made.dtype is not None else "",
        files=manifest.files,
        config=words.values,
        notes=notes,
        lint=check(target, subject),
        dry_run=dry_run,
    )


def _write(
    made: Package, target: Path, words: ClientConfig, overwrite: bool, dry_run: bool, progress: Progress
) -> Manifest:
    beside = {NAME: words.to_json()}
    return measure(made, beside) if dry_run else save(
        made, target, overwrite=overwrite, progress=progress, beside=beside
    )  # fmt: skip


def _check(package: object, folder: object, runtime: str, search: object) -> None:
    if runtime not in RUNTIMES:
        raise unknown("runtime", runtime, RUNTIMES)
    if not isinstance(package, Package):
        raise wrong_type("package", package, "a Package", "build(), load() and a Comparison give one.")
    if isinstance(folder, bytes) or not isinstance(folder, str | os.PathLike):
        raise wrong_type("folder", folder, "a path")
    if not isinstance(search, Mapping):
        raise wrong_type("search", search, "a mapping of search options")
    if len(package.models) != 1 or not isinstance(package.config, ModelConfig) or not package.execution_provider:
        held = ", ".join(package.models) or "none"
        raise UnsupportedError(
            f"onnxruntime-genai runs one decoder that the workbench built; {package!r} holds the graphs {held}"
            + ("" if isinstance(package.config, ModelConfig) else " and no configuration of a text generator")
            + ". Build a text-generation model and export that."
        )


def _prepare(
    package: Package, tokenizer: str | os.PathLike[str] | bool | None, window_cache: bool, outputs: Sequence[str]
) -> Package:
    """The package as the client is to get it: a clone where the graph changes, the tokenizer of the caller's choice."""
    model: ir.Model = package.model
    if window_cache:
        model = with_window_cache(model, get_ep(package.execution_provider))
    if outputs:
        model = with_outputs(model, outputs)
    if model is not package.model:
        package = dataclasses.replace(package, models={next(iter(package.models)): model})
    return _with_tokenizer(package, tokenizer)


def _with_tokenizer(package: Package, tokenizer: str | os.PathLike[str] | bool | None) -> Package:
    source = package.source
    if tokenizer is False:
        return package if source is None else dataclasses.replace(
            package, source=dataclasses.replace(source, tokenizer=None)
        )  # fmt: skip
    if tokenizer is None or tokenizer is True:
        if package.tokenizer is None:
            raise SaveError(
                f"{package!r} has no tokenizer, without which the client takes no text. Give the folder of one with "
                "tokenizer=FOLDER, or pass tokenizer=False for a client that gives ids."
            )
        return package
    if not isinstance(tokenizer, str | os.PathLike):
        raise wrong_type("tokenizer", tokenizer, "the folder of a tokenizer, False or None")
    place = Path(tokenizer).expanduser()
    if not (place / "tokenizer.json").is_file():
        raise SaveError(f"{place} holds no tokenizer.json. Give the folder of a Hugging Face tokenizer.")
    if source is None:
        raise UnsupportedError(f"{package!r} has no source whose tokenizer could be replaced. Pass tokenizer=False.")
    return dataclasses.replace(package, source=dataclasses.replace(source, tokenizer=place))


def _vocabulary(package: Package) -> int | None:
    if package.tokenizer is None:
        return None
    try:
        return vocabulary(package.tokenizer / "tokenizer.json")
    except UnreadableTokenizer as error:
        raise SaveError(f"{package.tokenizer / 'tokenizer.json'} {error}. Fetch it again.") from None


def _left_out(package: Package) -> list[str]:
    if package.tokenizer is None:
        return ["No tokenizer was written: the client takes ids only."]
    notes = []
    if not (package.tokenizer / "tokenizer_config.json").is_file():
        notes.append("The tokenizer has no tokenizer_config.json, which the client needs to make one.")
    return notes


__all__ = ["RUNTIMES", "export"]
