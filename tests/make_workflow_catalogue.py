"""Renew what ``docs/workflow-catalogue.md`` shows of the golden documents: its tables, and a short form of each.

Run ``python -m tests.make_workflow_catalogue`` after ``python -m tests.make_metadata_goldens``. Between a mark
``<!-- golden: NAME -->`` and ``<!-- end -->`` stands what is made here; everything else is written by hand.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.make_metadata_goldens import FOLDER, KINDS, examples
from workbench.describe.kinds import KINDS as KINDS_KNOWN
from workbench.metadata import load, to_yaml

PAGE = Path(__file__).resolve().parent.parent / "docs" / "workflow-catalogue.md"
_MARKED = re.compile(r"(<!-- golden: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_SECTIONS = ("preprocessing", "profiles", "speculative", "adapters")
PARTS = {"windows": ("state_groups",), "lora": ("adapters",)}
"""What is shown of a kind whose other parts are those of the plain decoder."""
Data = dict[str, Any]


def page(text: str) -> str:
    """The page with everything between its marks renewed."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{_block(found['name'])}\n{found[3]}", text)


def _block(name: str) -> str:
    if name in ("table", "facts"):
        return _table() if name == "table" else _facts()
    return _unsaid() if name == "unsaid" else f"```yaml\n{to_yaml(short(name))}```\n"


# --- tables ---------------------------------------------------------------------------------------------------
def _table() -> str:
    """A row per kind: what it is made of, and in which versions the client loads it (a test asks the client)."""
    rows = ["| golden document | components | state cells | state groups | written as | client loads |",
            "|---|---|---|---|---|---|"]  # fmt: skip
    for name in KINDS:
        workflow, made = _workflow(name), examples()[name].metadata
        groups = workflow.get("serving", {}).get("state_service", {}).get("groups", {})
        version = made.to("v1").version
        cells = (
            f"`{name}`", ", ".join(workflow["components"]), str(len(workflow.get("state", {}))),
            ", ".join(f"{key} ({group['kind']})" if key != group["kind"] else key for key, group in groups.items()),
            version, f"{version} and v1.8",
        )  # fmt: skip
        rows.append(f"| {' | '.join(cell or 'none' for cell in cells)} |")
    return "\n".join(rows) + "\n"


def _facts() -> str:
    """A row per component and fact of the kinds that graphs of others may be of."""
    rows = ["| kind | what is wanted | |", "|---|---|---|"]
    for kind in KINDS_KNOWN:
        for name, what in {**kind.components, **kind.optional}.items() if kind.facts else ():
            may = " (may be left out)" if name in kind.optional else ""
            rows.append(f"| `{kind.name}` | component `{name}`{may} | {_cell(what)} |")
        for field in dataclasses.fields(kind.facts) if kind.facts else ():
            must = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            may = "" if must else " (may be left out)"
            rows.append(f"| `{kind.name}` | fact `{field.name}`{may} | {_cell(field.metadata['what'])} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _unsaid() -> str:
    """What the client's dialect has no words for, in the words of the conversion."""
    rows = ["| golden document | place | message |", "|---|---|---|"]
    for name in KINDS:
        for remark in examples()[name].metadata.to("v1").unsaid:
            rows.append(f"| `{name}` | `{remark.where}` | {remark.message} |")
    return "\n".join(rows) + "\n"


# --- the short form -------------------------------------------------------------------------------------------
def _data(name: str) -> Data:
    data: Data = load(FOLDER / f"{name}.pr828.yaml").data
    return data


def _workflow(name: str) -> Data:
    found: Data = _data(name)["pipeline"]["workflow"]
    return found


def short(name: str) -> Data:
    """Groups, steps and other sections, with the first layer of each group alone and without contracts."""
    data, workflow = _data(name), _workflow(name)
    groups = workflow.get("serving", {}).get("state_service", {}).get("groups", {})
    dropped = {cell for group in groups.values() for cell in _later(group)}
    starts = {workflow["state"][cell]["initializer"] for cell in dropped} if dropped else set()
    kept = {workflow["state"][cell]["initializer"] for cell in workflow.get("state", {}) if cell not in dropped}
    found: Data = {"state_groups": {key: _first(group) for key, group in groups.items()}} if groups else {}
    gone = starts - kept | {f"{word}{cell}" for cell in dropped for word in ("", "next.", "first.")}
    found["steps"] = [_step(step, gone, _ports(groups, dropped)) for step in workflow["steps"]]
    found |= {section: _plain(data[section]) for section in _SECTIONS if section in data}
    return {part: value for part, value in found.items() if part in PARTS.get(name, found)}


def _later(group: Data) -> Iterator[str]:
    """Cells of all layers but the group's first."""
    aliases = [(cell, alias) for ports in group["ports"].values() for cell, alias in ports.items()]
    first = min(alias.get("layer", 0) for _, alias in aliases)
    yield from (cell for cell, alias in aliases if alias.get("layer", 0) != first)


def _first(group: Data) -> Data:
    later = set(_later(group))
    ports = {c: {k: v for k, v in entries.items() if k not in later} for c, entries in group["ports"].items()}
    return {**group, "ports": ports}


def _ports(groups: Data, dropped: set[str]) -> set[tuple[str, str]]:
    """Component and port of the cells that are not shown."""
    return {
        (component, alias[side])
        for group in groups.values() for component, aliases in group["ports"].items()
        for cell, alias in aliases.items() for side in ("input", "output") if cell in dropped and side in alias
    }  # fmt: skip


def _step(step: Data, gone: set[str], ports: set[tuple[str, str]]) -> Data:
    """A step without the ports, values and carries of cells that are not shown."""
    made = dict(step)
    for side in ("inputs", "outputs") if step["kind"] == "invoke" else ():
        named = step.get(side, {}).items()
        kept = {port: value for port, value in named if value not in gone and (step["component"], port) not in ports}
        made[side] = kept
        made = {key: value for key, value in made.items() if value != {}}
    for key in ("steps", "setup"):
        if key in step:
            made[key] = [_step(inner, gone, ports) for inner in step[key]]
    if "cases" in step:
        made["cases"] = {case: _step(inner, gone, ports) for case, inner in step["cases"].items()}
    if "default" in step:
        made["default"] = _step(step["default"], gone, ports)
    if "carried" in step:
        made["carried"] = [carry for carry in step["carried"] if carry["cell"] not in gone]
    return made


def _plain(found: Any) -> Any:
    """Without contracts, and of a list of alike things the first two."""
    if isinstance(found, Mapping):
        return {key: _plain(value) for key, value in found.items() if key != "contract"}
    if isinstance(found, list) and all(isinstance(one, Mapping) and {"id", "weight_key"} & set(one) for one in found):
        return [_plain(one) for one in found[:2]]
    return [_plain(one) for one in found] if isinstance(found, list) else found


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
