"""Which families there are, and which of them are proven: by numbers against Hugging Face, not by intention.

A proof is written by the parity run of the tests (``python -m tests.prove``). It names what was run and carries a
fingerprint of the family's file and of the engine; when either changes the proof is stale, and says so.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workbench.models import SPECS
from workbench.tasks import get_task

if TYPE_CHECKING:
    import pandas as pd

PROOFS = Path(__file__).parent / "models" / "proofs.json"
COLUMNS = ["model_type", "task", "roles", "proven", "max_abs_diff", "versions"]
_ENGINE = (
    "components", "functions", "tasks",
    *(f"config/{name}.py" for name in ("model_config", "encoder_config", "from_hf", "rope_config")),
)  # fmt: skip
_IMPORT = re.compile(r"^from workbench\.models\.(\w+) import", re.MULTILINE)

Proven = Literal["yes", "stale", "no"]


@dataclasses.dataclass(frozen=True)
class Family:
    """A family and what is known of it. ``max_abs_diff`` is in logits (or hidden states), float32."""

    model_type: str
    task: str
    roles: tuple[str, ...]
    proven: Proven
    max_abs_diff: float | None
    versions: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class ModelTable:
    """All families, in the order of the zoo."""

    families: tuple[Family, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row per family: model_type, task, roles, proven, max_abs_diff, versions."""
        import pandas as pd

        rows = [
            [f.model_type, f.task, ", ".join(f.roles), f.proven, f.max_abs_diff, _words(f.versions)]
            for f in self.families
        ]
        return pd.DataFrame(rows, columns=COLUMNS)

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain JSON-able values, one per family."""
        return [dataclasses.asdict(family) | {"versions": dict(family.versions)} for family in self.families]

    def __repr__(self) -> str:
        counts = {word: sum(f.proven == word for f in self.families) for word in ("yes", "stale", "no")}
        proven = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
        return f"ModelTable({len(self.families)} families; proven: {proven})"

    def _repr_html_(self) -> str:
        import html

        return f"<div><p>{html.escape(repr(self))}</p>{self.to_frame().to_html(index=False, border=0, na_rep='')}</div>"


def families() -> ModelTable:
    """The families that ``build`` knows, each with its proof."""
    proofs = _read()
    return ModelTable(tuple(_family(spec.model_type, spec.task, proofs) for spec in SPECS))


def _family(model_type: str, task: str, proofs: Mapping[str, Any]) -> Family:
    proof = proofs.get(model_type)
    proven: Proven = "no" if proof is None else "yes" if proof["fingerprint"] == fingerprint(model_type) else "stale"
    roles = tuple(str(role) for role in get_task(task).roles.values())
    return Family(
        model_type, task, roles, proven,
        proof["max_abs_diff"] if proof else None, proof["versions"] if proof else {},
    )  # fmt: skip


def fingerprint(model_type: str) -> str:
    """sha256 over the sources that decide a family's generic graph: its file, those it builds on, the engine."""
    digest = hashlib.sha256()
    for path in sorted(_family_files(model_type)):
        digest.update(path.read_bytes())
    digest.update(_engine_digest())
    return digest.hexdigest()


@functools.cache
def _engine_digest() -> bytes:
    root, digest = PROOFS.parent.parent, hashlib.sha256()
    for place in _ENGINE:
        path = root / place
        for source in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            digest.update(source.read_bytes())
    return digest.digest()


def _family_files(model_type: str) -> set[Path]:
    """A family's file and the files of ``models`` that it imports, and so on."""
    found: set[Path] = set()
    waiting = [model_type]
    while waiting:
        path = PROOFS.with_name(f"{waiting.pop()}.py")
        if path not in found:
            found.add(path)
            waiting += _IMPORT.findall(path.read_text(encoding="utf-8"))
    return found


def _read() -> dict[str, Any]:
    if not PROOFS.is_file():
        return {}
    return dict(json.loads(PROOFS.read_text(encoding="utf-8")))


def _words(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
