"""Write the golden documents in ``tests/golden/metadata``: one per kind of package, in both dialects.

Run ``python -m tests.make_metadata_goldens`` after a change of what is written, and read the difference.
"""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from pathlib import Path
from typing import Any

from tests.metadata_packages import FOREIGN, adapter_folder, foreign, own, tokenizer_folder
from workbench.describe import InferenceMetadata, describe
from workbench.metadata import to_yaml
from workbench.package import Package

FOLDER = Path(__file__).parent / "golden" / "metadata"
DIALECTS = ("pr828", "v1")
OWN = {"decoder": "llama", "static_cache": "llama", "windows": "gemma3_text", "embedding": "bert", "lora": "llama"}
SLOTS = 64
KINDS = (*OWN, *FOREIGN)
ADAPTERS = {"blue": (["q_proj", "v_proj"], 4), "red": (["down_proj"], 2)}
"""Modules and rank of each adapter by its name."""


@dataclasses.dataclass(frozen=True)
class Example:
    """A small package of a kind, and what ``describe`` makes of it."""

    package: Package
    metadata: InferenceMetadata


@functools.cache
def examples() -> dict[str, Example]:
    """One for each golden document, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made = {name: _foreign(name, root / name) for name in FOREIGN}
        tokenizer = tokenizer_folder(root / "tokenizer")
        made |= {name: _own(name, _package(name, tokenizer), root / name) for name in OWN}
    return {name: made[name] for name in KINDS}


def _package(name: str, tokenizer: Path) -> Package:
    return own(OWN[name], tokenizer=tokenizer, slots=SLOTS if name == "static_cache" else None)


def _foreign(name: str, folder: Path) -> Example:
    described = foreign(name, folder)
    return Example(described.package, describe(described))


def _own(name: str, package: Package, root: Path) -> Example:
    facts: dict[str, Any] = {"pooling": "mean", "normalize": True} if name == "embedding" else {}
    if name == "lora":
        facts = {"adapters": {alias: adapter_folder(root / alias, package, modules, rank)
                              for alias, (modules, rank) in ADAPTERS.items()}}  # fmt: skip
    return Example(package, describe(package, facts=facts))


def texts() -> dict[str, str]:
    """The text of every golden file by its name."""
    return {
        f"{name}.{dialect}.yaml": to_yaml(made.metadata.to(dialect).data)
        for name, made in examples().items()
        for dialect in DIALECTS
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.yaml"):
        old.unlink()
    for file, text in texts().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
