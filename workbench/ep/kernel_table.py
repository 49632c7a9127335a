"""Kernel tables: what a build of ONNX Runtime registers for a provider, read live or recorded from a shipped build.

Facts (``ExecutionProvider.kernels``) are what plans are made from, few and looked at one by one. A table is the whole
registry, as it says of itself: it knows every operator, version and type, and nothing about features.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from workbench.errors import WorkbenchError
from workbench.types import OpId

FORMAT = "ep-workbench.kernels"
Types = Mapping[str, frozenset[str]]


@dataclasses.dataclass(frozen=True, slots=True)
class KernelDef:
    """One registered kernel: the operator versions it is for, and the types (``float16``) by type parameter."""

    use: OpId
    first: int
    last: int
    types: tuple[tuple[str, frozenset[str]], ...]

    def takes(self, since: int, given: Mapping[str, str]) -> bool:
        """Whether it is for an operator of that version with these types; a type that is not given fits."""
        if not self.first <= since <= self.last:
            return False
        return all(given.get(name) in allowed for name, allowed in self.types if name in given)


@dataclasses.dataclass(frozen=True, eq=False)
class KernelTable:
    """The registry of one provider. ``live``: read from what is installed here; else ``source`` and ``checked`` say."""

    ort_provider: str
    source: str
    checked: str
    live: bool
    kernels: Mapping[OpId, tuple[KernelDef, ...]]

    def find(self, use: OpId, since: int, given: Mapping[str, str]) -> KernelDef | None:
        """A kernel for an operator of that version with these types by type parameter."""
        return next((kernel for kernel in self.kernels.get(use, ()) if kernel.takes(since, given)), None)

    def of_version(self, use: OpId, since: int) -> tuple[KernelDef, ...]:
        """The kernels for an operator of that version, in whatever types."""
        return tuple(k for k in self.kernels.get(use, ()) if k.first <= since <= k.last)

    def types_of(self, use: OpId, since: int, parameter: str) -> frozenset[str]:
        """Every type that some kernel of that version takes for a type parameter."""
        found = self.of_version(use, since)
        return frozenset(t for kernel in found for name, types in kernel.types if name == parameter for t in types)

    def parameters(self, use: OpId) -> frozenset[str]:
        """The names that its kernels constrain types by."""
        return frozenset(name for kernel in self.kernels.get(use, ()) for name, _ in kernel.types)

    @property
    def size(self) -> int:
        return sum(map(len, self.kernels.values()))

    def to_json(self) -> str:
        """The recorded form, stable from run to run."""
        kernels = [kernel for found in self.kernels.values() for kernel in found]
        words = sorted({word for kernel in kernels for _, types in kernel.types for word in types})
        at = {word: i for i, word in enumerate(words)}
        rows: list[list[Any]] = [
            [
                k.use.op_type,
                k.use.domain,
                k.first,
                k.last,
                {name: sorted(at[t] for t in types) for name, types in k.types},
            ]
            for k in kernels
        ]
        rows.sort(key=lambda row: json.dumps(row, sort_keys=True))
        document = {
            "format": FORMAT, "format_version": 1, "provider": self.ort_provider, "source": self.source,
            "checked": self.checked, "types": words, "kernels": rows,
        }  # fmt: skip
        return json.dumps(document, separators=(",", ":")).replace('],["', '],\n["') + "\n"

    def __repr__(self) -> str:
        how = "live" if self.live else "recorded"
        return f"KernelTable({self.ort_provider}: {self.size:,} kernels of {len(self.kernels)} operators, {how})"


def table(ort_provider: str, source: str, checked: str, rows: Iterable[KernelDef], *, live: bool) -> KernelTable:
    """A table of kernels, by operator."""
    found: dict[OpId, list[KernelDef]] = {}
    for row in rows:
        found.setdefault(row.use, []).append(row)
    return KernelTable(ort_provider, source, checked, live, {use: tuple(defs) for use, defs in found.items()})


def from_json(text: str) -> KernelTable:
    """Read a recorded table.

    Raises:
        WorkbenchError: it is none.
    """
    try:
        document: dict[str, Any] = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}")
        words = document["types"]
        rows = [
            KernelDef(OpId(op_type, domain), first, last,
                      tuple((name, frozenset(words[i] for i in found)) for name, found in types.items()))
            for op_type, domain, first, last, types in document["kernels"]
        ]  # fmt: skip
        return table(document["provider"], document["source"], document["checked"], rows, live=False)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise WorkbenchError(
            f"Not a recorded kernel table ({type(error).__name__}: {str(error)[:100]}). "
            "Make one with `workbench kernels refresh`."
        ) from None


@functools.cache
def recorded(ort_provider: str) -> KernelTable | None:
    """The table that ships with the workbench, if there is one for this provider."""
    for entry in sorted(resources.files("workbench.ep").joinpath("tables").iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".json"):
            found = from_json(entry.read_text(encoding="utf-8"))
            if found.ort_provider == ort_provider:
                return found
    return None
