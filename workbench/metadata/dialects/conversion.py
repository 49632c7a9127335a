"""``convert``: one dialect into the other, with a report, and with a remainder that makes the way back exact.

What the other dialect has no words for is kept under one key of ``model``, which is open in both: readers pass it
over. On the way back it is put where it came from.
"""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING, Any

from workbench.errors import ModelFileError, UnknownNameError, unknown
from workbench.metadata.dialects import version
from workbench.metadata.dialects.patch import Patch, apply, difference
from workbench.metadata.dialects.places import contracts, copied, mapping_at
from workbench.metadata.dialects.remarks import KINDS, Remark
from workbench.metadata.dialects.v1_read import read_v1
from workbench.metadata.dialects.v1_write import write_v1
from workbench.metadata.dialects.writing import to_json, to_yaml
from workbench.metadata.reading import Source, load

if TYPE_CHECKING:
    import pandas as pd

KEPT = "ep_workbench_remainder"
"""The key of ``model`` under which a remainder stands."""


@dataclasses.dataclass(frozen=True)
class Conversion:
    """A document in another dialect. ``remarks`` say what does not stand there as it stood here."""

    data: dict[str, Any] = dataclasses.field(repr=False)
    source: str
    target: str
    version: str
    remarks: tuple[Remark, ...]
    kept: bool

    @property
    def unsaid(self) -> tuple[Remark, ...]:
        """What readers of the target will not see."""
        return tuple(remark for remark in self.remarks if remark.kind == "unsaid")

    @property
    def counts(self) -> dict[str, int]:
        return {kind: sum(remark.kind == kind for remark in self.remarks) for kind in KINDS}

    def __repr__(self) -> str:
        said = ", ".join(f"{number} {kind}" for kind, number in self.counts.items() if number) or "nothing changed"
        return f"Conversion({self.source} -> {self.target} {self.version}: {said})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{r.kind}</td><td>{html.escape(r.where)}</td><td>{html.escape(r.message)}</td></tr>"
            for r in self.remarks
        )
        head = "<thead><tr><th>kind</th><th>path</th><th>message</th></tr></thead>"
        return f"<p>{html.escape(repr(self))}</p><table>{head}<tbody>{rows}</tbody></table>"

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        rows = [{"kind": r.kind, "path": r.where, "message": r.message} for r in self.remarks]
        return pd.DataFrame(rows, columns=["kind", "path", "message"])

    def to_yaml(self) -> str:
        return to_yaml(self.data)

    def to_json(self) -> str:
        return to_json(self.data)


def convert(
    source: Source,
    to: str,
    *,
    schema_version: str | None = None,
    keep: bool = True,
) -> Conversion:
    """A document of the other dialect in this one: ``to`` is ``v1`` or ``pr828``.

    ``schema_version`` chooses the version of ``v1`` (without it the one the document names, or the lowest that can
    say it). With ``keep=False`` nothing is kept for the way back. A document that is in the dialect already stays as
    it is. One that breaks rules is converted as it is: only what cannot be read as a mapping, or can be read in two
    ways (a key that stands twice), raises a ``ModelFileError``.
    """
    if to not in ("pr828", "v1"):
        raise unknown("dialect", to, ("pr828", "v1"))
    minor = _minor(schema_version, to)
    data = _data(source)
    if _speaks(data, to):
        if minor is None:
            said = version.spelled(version.minor_of(data.get("schema_version")) or 0)
            return Conversion(copied(data), to, to, said, (), True)
        data = _to_pr828(data, True).data
    return _to_v1(data, minor, keep) if to == "v1" else _to_pr828(data, keep)


def _speaks(data: dict[str, Any], dialect: str) -> bool:
    """Whether data are surely of a dialect: every contract has a rank, or none has."""
    ranked = {"rank" in contract for _, contract in contracts(data)}
    return ranked == {dialect == "pr828"}


def _minor(schema_version: str | None, to: str) -> int | None:
    if schema_version is None:
        return None
    minor = version.minor_of(schema_version)
    if minor is None or to != "v1":
        allowed = version.VERSIONS if to == "v1" else ("none, pr828 has no versions",)
        raise UnknownNameError(f"Unknown schema_version {schema_version!r}. Known: {', '.join(allowed)}.")
    return minor


def _data(source: Any) -> dict[str, Any]:
    loaded = load(source)
    if not isinstance(loaded.data, dict) or loaded.faults:
        why = loaded.faults[0].message if loaded.faults else "It is no mapping."
        raise ModelFileError(f"The document cannot be converted: {why} Correct it first; `validate` tells more.")
    return loaded.data


def _to_v1(data: dict[str, Any], minor: int | None, keep: bool) -> Conversion:
    core, remainder = _split(data)
    writer = write_v1(core, minor)
    apply(remainder, writer.data)
    kept = keep and _keep(writer.data, difference(read_v1(writer.data).data, core))
    return Conversion(writer.data, "pr828", "v1", version.spelled(writer.minor), tuple(writer.remarks), kept)


def _to_pr828(data: dict[str, Any], keep: bool) -> Conversion:
    core, remainder = _split(data)
    reader = read_v1(core)
    # What v1 does not allow is not in the result either; only the remainder, if it is kept, knows of it.
    reader.remarks += [Remark("unsaid", fault.path, f"No {version.spelled(reader.minor)}: {fault.message}")
                       for fault in reader.faults]  # fmt: skip
    apply(remainder, reader.data)
    kept = keep and _keep(reader.data, difference(write_v1(reader.data, reader.minor).data, core))
    return Conversion(reader.data, "v1", "pr828", version.spelled(reader.minor), tuple(reader.remarks), kept)


def _split(data: dict[str, Any]) -> tuple[dict[str, Any], Patch]:
    """The document without what an earlier conversion kept, and that."""
    core = copied(data)
    model = mapping_at(core, "model")
    if model is None or KEPT not in model:
        return core, []
    remainder = model.pop(KEPT)
    if not model:
        core.pop("model")
    return core, remainder if isinstance(remainder, list) else []


def _keep(data: dict[str, Any], remainder: Patch) -> bool:
    """Put a remainder into the document; False where ``model`` is no mapping that could hold it."""
    if not remainder:
        return True
    model = data.setdefault("model", {})
    if not isinstance(model, dict):
        return False
    model[KEPT] = remainder
    return True
