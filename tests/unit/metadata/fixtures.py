"""The documents that the validator is held against: our own in tests/data, others in a folder beside the project."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from workbench.metadata import load

REPO = Path(__file__).resolve().parents[3]
OWN = REPO / "tests" / "data" / "metadata"
SHARED = Path(os.environ.get("EP_WORKBENCH_SHARED", REPO.parent / "shared")) / "data" / "metadata-fixtures"
WHY_SKIPPED = f"{SHARED.parent.parent.name}/data/metadata-fixtures is not there (EP_WORKBENCH_SHARED names its folder)"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=WHY_SKIPPED)


@dataclasses.dataclass(frozen=True)
class Fixture:
    """A document and what it must give: the stage that refuses it (``ok`` for none) and the rule it breaks."""

    path: Path
    stage: str
    rules: tuple[int, ...]
    json_schema: str
    golden: Any = dataclasses.field(default=None, hash=False)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def kind(self) -> str:
        """``valid``, ``invalid`` or ``legacy``."""
        return self.path.parent.name

    @property
    def is_own(self) -> bool:
        return self.name.startswith("own-")


def _read(folder: Path) -> list[Fixture]:
    rows = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [
        Fixture(folder / row["file"], row["pr828"], tuple(row["rules"]), row["json_schema"], row.get("golden"))
        for row in rows
    ]


@cache
def fixtures() -> tuple[Fixture, ...]:
    """Our own documents, and those beside the project where they are."""
    found = _read(OWN)
    if SHARED.is_dir():
        found += [fixture for fixture in _read(SHARED) if not fixture.is_own]
    return tuple(found)


def of_kind(kind: str) -> list[Any]:
    """Fixtures of a kind as parameters of a test, named by file."""
    return [pytest.param(f, id=f.path.stem) for f in fixtures() if f.kind == kind]


@cache
def _base(name: str) -> Any:
    loaded = load(OWN / "valid" / f"own-base-{name}.yaml")
    assert not loaded.faults
    return loaded.data


def base(name: str) -> Any:
    """A valid document of ours to edit: dec, branch, static, spec, fold, lora, asr, image."""
    return copy.deepcopy(_base(name))
