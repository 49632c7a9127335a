"""The tokenizer that goes into a folder: the package's own, another, or none."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from workbench.errors import SaveError, UnsupportedError, wrong_type
from workbench.export.vocabulary import UnreadableTokenizer, vocabulary
from workbench.package import Package


def with_tokenizer(package: Package, tokenizer: str | os.PathLike[str] | bool | None) -> Package:
    """The package with the tokenizer of the caller's choice; see ``export``.

    Raises:
        SaveError: there is none where one is wanted.
        UnsupportedError: the package has no source whose tokenizer could be replaced.
        ArgumentError: ``tokenizer`` is neither a path nor True, False or None.
    """
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


def vocabulary_of(package: Package) -> int | None:
    """How many tokens the package's tokenizer knows; None without one.

    Raises:
        SaveError: its file cannot be read.
    """
    if package.tokenizer is None:
        return None
    try:
        return vocabulary(package.tokenizer / "tokenizer.json")
    except UnreadableTokenizer as error:
        raise SaveError(f"{package.tokenizer / 'tokenizer.json'} {error}. Fetch it again.") from None


def left_out(package: Package) -> list[str]:
    """Notes on what of a tokenizer the folder goes without."""
    if package.tokenizer is None:
        return ["No tokenizer was written: the client takes ids only."]
    notes = []
    if not (package.tokenizer / "tokenizer_config.json").is_file():
        notes.append("The tokenizer has no tokenizer_config.json, which the client needs to make one.")
    return notes


__all__ = ["left_out", "vocabulary_of", "with_tokenizer"]
