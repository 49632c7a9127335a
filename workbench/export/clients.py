"""The clients that a folder can be written for, and what each of them cannot do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.config.model_config import ModelConfig
from workbench.errors import SaveError, UnsupportedError, unknown
from workbench.package import Package

GENAI, METADATA, BOTH = "onnxruntime-genai", "onnx-genai", "both"
RUNTIMES = (GENAI, METADATA, BOTH)


def clients_of(runtime: str) -> tuple[str, ...]:
    """The clients that load a folder for this word."""
    return (GENAI, METADATA) if runtime == BOTH else (runtime,)


def check_runtime(runtime: object) -> None:
    """Refuse a word that names no client.

    Raises:
        UnknownNameError: no such runtime.
    """
    if runtime not in RUNTIMES:
        raise unknown("runtime", runtime, RUNTIMES)


def check_client(
    runtime: str, package: Package, *, search: Mapping[str, Any], window_cache: bool, tokenizer: object
) -> None:
    """Refuse what a client cannot take.

    Raises:
        UnknownNameError: no such runtime.
        UnsupportedError: the package is none for the client, or an option means nothing to it.
        SaveError: the client loads nothing without a tokenizer.
    """
    check_runtime(runtime)
    clients = clients_of(runtime)
    if GENAI in clients:
        _one_decoder(package)
    if METADATA in clients:
        _takes(runtime, search=bool(search), window_cache=window_cache)
        if tokenizer is False or (package.tokenizer is None and tokenizer in (None, True)):
            found = "tokenizer=False" if tokenizer is False else f"{package!r} has no tokenizer"
            raise SaveError(
                f"{found}: {METADATA} loads no folder without tokenizer.json. Give the folder of one with "
                "tokenizer=FOLDER."
            )


def _one_decoder(package: Package) -> None:
    if len(package.models) != 1 or not isinstance(package.config, ModelConfig) or not package.execution_provider:
        held = ", ".join(package.models) or "none"
        raise UnsupportedError(
            f"{GENAI} runs one decoder that the workbench built; {package!r} holds the graphs {held}"
            + ("" if isinstance(package.config, ModelConfig) else " and no configuration of a text generator")
            + ". Build a text-generation model and export that."
        )


def _takes(runtime: str, **options: bool) -> None:
    for name, used in options.items():
        if used:
            raise UnsupportedError(
                f"{name} is an option of {GENAI} alone, and the folder is for {runtime!r}. Leave it out, or write a "
                f"folder for {GENAI}."
            )


__all__ = ["BOTH", "GENAI", "METADATA", "RUNTIMES", "check_client", "check_runtime", "clients_of"]
