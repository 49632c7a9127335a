"""From ``v1`` to ``pr828``: data in; data, faults and remarks out. Nothing raises.

Keys that both dialects know keep their places, so that a finding about the one is a finding about the other.
"""

from __future__ import annotations

from typing import Any

from workbench.metadata.dialects import version
from workbench.metadata.dialects.places import (
    WORKFLOW,
    Mapping,
    Path,
    contracts,
    copied,
    entries,
    groups,
    mapping_at,
    steps,
    workflow_of,
)
from workbench.metadata.dialects.remarks import Kind, Remark
from workbench.metadata.dialects.tokens import facts_of
from workbench.metadata.dialects.v1_shape import misshapen
from workbench.metadata.reading.limits import Fault

_RETIRED: tuple[tuple[Path, str], ...] = (
    (("required_capabilities",), "Remove it: the version and the structure say what a reader must offer."),
    ((*WORKFLOW, "manifest", "capabilities"), "Remove it: capabilities follow from the structure."),
    (("model", "io"), "Say the ports and their roles in the workflow."),
    (("model", "runtime_configurable", "continuous_batching"), "Remove it: serving decides about batches."),
    (("tokens",), "Say the ids in package.tokenizer.special_tokens."),
)
_END_ROLES = ("eos_token_ids", "eos_token_lengths")
_NEW_ALIAS_ROLES = ("compressed_kv", "compression_carry", "index_key", "index_carry")


class Reader:
    """One document on its way; ``data`` is changed in place."""

    def __init__(self, data: Mapping) -> None:
        self.data: Mapping = copied(data)
        self.minor = version.minor_of(data.get("schema_version")) or 0
        self.faults: list[Fault] = []
        self.remarks: list[Remark] = []

    def fault(self, rule: int, path: Path, message: str, hint: str) -> None:
        self.faults.append(Fault(message, hint, path, rule=rule))

    def say(self, kind: Kind, path: Path, message: str, value: Any = None) -> None:
        self.remarks.append(Remark(kind, path, message, value))

    def drop(self, around: Mapping, path: Path, key: str, message: str) -> None:
        """Take out what only ``v1`` can say."""
        if key in around:
            self.say("unsaid", (*path, key), message, around.pop(key))

    def read(self) -> None:
        trouble = version.trouble_with(self.data.get("schema_version"))
        if trouble:
            self.fault(5, ("schema_version",), *trouble)
        self._retired()
        self.faults += misshapen(self.data, self.minor)
        for path, contract in contracts(self.data):
            self._contract(path, contract)
        self._workflow()
        self._sections()
        self._capabilities()

    def _retired(self) -> None:
        found = list(_RETIRED)
        found += [((*path, "batch_invariance"), "Remove it: components declare their batch capacity.")
                  for path, _ in entries(self.data, "profiles")]  # fmt: skip
        for path, hint in found:
            around = mapping_at(self.data, *map(str, path[:-1]))
            if around is not None and path[-1] in around:
                self.fault(11, path, f"The key {path[-1]!r} was given up in v1.", hint)
                around.pop(str(path[-1]))

    # --- the workflow -------------------------------------------------------------------------------------
    def _contract(self, path: Path, contract: Mapping) -> None:
        if "rank" in contract:
            self.fault(11, (*path, "rank"), "The key 'rank' was given up in v1.", "Remove it: it is len(shape).")
            contract.pop("rank")
        shape = contract.get("shape")
        if "dtype" in contract and shape is None:
            hint = "Write the whole shape: [] for a scalar, Any for a dimension that nothing is known of."
            self.fault(4, (*path, "shape"), "A contract lacks the key 'shape'.", hint)
        if isinstance(shape, list):
            items = list(contract.items())
            contract.clear()
            for key, value in items:  # the rank stands before the shape
                contract.update({"rank": len(shape), key: value} if key == "shape" else {key: value})
        else:
            contract.setdefault("rank", 0)
        self.drop(contract, path, "padding", "Which entries of a dimension are padding.")
        self._layout((*path, "batch_layout"), contract.get("batch_layout"))

    def _layout(self, path: Path, layout: Any) -> None:
        if not isinstance(layout, dict) or layout.get("kind") != "token_packed":
            return
        if "levels" not in layout:
            hint = "Write levels: [{offsets: ..., owner: ...}]."
            self.fault(11, path, "Offsets and owner of a packed axis stand in levels in v1.", hint)
            return
        levels = layout.pop("levels")
        if not isinstance(levels, list) or not levels or not isinstance(levels[0], dict):
            self.fault(
                7, (*path, "levels"), "levels must be a list with mappings.", "List the levels, innermost first."
            )
            levels = [{}]
        level = levels[0]
        layout.update({key: level.get(key, "") for key in ("offsets", "owner")})
        if len(levels) > 1 or "extent" in level:
            self.say("unsaid", (*path, "levels"), "Levels of ownership beyond the innermost, and extents.", levels)

    def _workflow(self) -> None:
        workflow = workflow_of(self.data)
        if workflow is None:
            return
        self.drop(workflow, WORKFLOW, "publication_mode", "Whether outputs may be revised.")
        for path, output in entries(self.data, *map(str, WORKFLOW), "outputs"):
            self.drop(output, path, "family", "The family of an output.")
        for path, component in entries(self.data, *map(str, WORKFLOW), "components"):
            self.drop(component, path, "batch_capacity", "What may be run in one batch.")
        for path, cell in entries(self.data, *map(str, WORKFLOW), "state"):
            session = cell.get("session")
            if isinstance(session, dict):
                self.drop(session, (*path, "session"), "continuation", "How a session goes on.")
        for path, entry in entries(self.data, *map(str, WORKFLOW), "inputs"):
            self._input(path, entry)
        for path, group in groups(self.data):
            self._group(path, group)
        self._steps(workflow)

    def _input(self, path: Path, entry: Mapping) -> None:
        role = entry.get("role")
        if isinstance(role, dict) and role.get("role") in _END_ROLES and role.get("kind") == "runtime":
            name = role["role"]
            entry["role"], entry["source"] = {"kind": "opaque"}, {"kind": "application", "name": name}
            self.say("reworded", path, f"The runtime role {name} becomes a value that the application gives.", role)

    def _group(self, path: Path, group: Mapping) -> None:
        self.drop(group, path, "properties", "Properties of compressed attention.")
        if group.get("kind") == "compressed_attention":
            group["kind"] = "full_attention"
            self.say("unsaid", (*path, "kind"), "Compressed attention; the nearest kind is taken.")
        for component, aliases in (mapping_at(group, "ports") or {}).items():
            for cell, alias in aliases.items() if isinstance(aliases, dict) else ():
                if isinstance(alias, dict) and alias.get("role") in _NEW_ALIAS_ROLES:
                    at = (*path, "ports", component, cell)
                    self.drop(alias, at, "role", f"The role {alias['role']} of a state port.")

    def _steps(self, workflow: Mapping) -> None:
        for path, step in steps(self.data):
            if step.get("kind") != "emit":
                continue
            self.drop(step, path, "stream", "The stream that a value goes to.")
            if step.get("mode") in ("retract", "finalize"):
                self.say("unsaid", path, f"An emit that says {step['mode']}.", copied(step))
                step["mode"] = "drop"
        _without_dropped(workflow)

    def _capabilities(self) -> None:
        """Rules 14 and 15 ask for a list that ``v1`` leaves to the structure; the whole document must parse first."""
        from workbench.metadata.capabilities import derived
        from workbench.metadata.context import Context
        from workbench.metadata.reading import Loaded

        manifest = mapping_at(workflow_of(self.data), "manifest")
        if manifest is not None:
            found = Context(Loaded(self.data))
            words = sorted(derived(found)) if found.parsed is not None else []
            if words:
                manifest["capabilities"] = words

    # --- beside it ----------------------------------------------------------------------------------------
    def _sections(self) -> None:
        package = mapping_at(self.data, "package")
        if package is not None:
            self.drop(package, ("package",), "tool_protocol", "The protocol of tools.")
        self.drop(self.data, (), "speculative", "Speculation in the design of v1.5.")
        tokenizer, path = mapping_at(package, "tokenizer"), ("package", "tokenizer", "special_tokens")
        tokens = (tokenizer or {}).get("special_tokens")
        if tokenizer is not None and isinstance(tokens, dict):
            tokenizer["special_tokens"] = facts_of(tokens)
            if tokens:
                self.say(
                    "reworded",
                    path,
                    "Token ids by name; placeholders stand for their texts, which are not in the document.",
                    tokens,
                )


def _without_dropped(value: Any) -> None:
    """Take the steps that were marked out of their lists."""
    if isinstance(value, dict):
        for item in value.values():
            _without_dropped(item)
    elif isinstance(value, list):
        kept = [item for item in value if not _is_dropped(item)]
        if len(kept) < len(value):
            value[:] = kept
        for item in value:
            _without_dropped(item)


def _is_dropped(item: Any) -> bool:
    return isinstance(item, dict) and item.get("kind") == "emit" and item.get("mode") == "drop"


def read_v1(data: Mapping) -> Reader:
    """The document in the words of ``pr828``."""
    reader = Reader(data)
    reader.read()
    return reader
