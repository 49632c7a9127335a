"""Shapes of what only ``v1`` can say, and the version each needs: the parse stage of these parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.metadata.dialects import version
from workbench.metadata.dialects.places import WORKFLOW, Mapping, Path, contracts, entries, groups, mapping_at, steps
from workbench.metadata.dialects.tokens import MEANINGS
from workbench.metadata.reading.limits import Fault

_FAMILIES = ("materialized", "events", "revisions")
_MODES = ("commit_only", "provisional_revisions")
_SPECULATIVE = (
    "identity", "version", "proposer", "target", "proposal_execution", "port_bindings", "target_port_bindings",
    "shared_state", "shared_weights", "vocabulary", "max_proposal_width", "distribution_preserving", "verification",
    "rollback_state",
)  # fmt: skip
_TOKEN_KEYS = tuple(f"{meaning}_token_id" for meaning in MEANINGS)
_IN_ORDER = ("uniform_dimensions", "budgets")


def misshapen(data: Mapping, minor: int) -> list[Fault]:
    """What is wrong with the parts that only this dialect has."""
    found = [*_of_workflow(data, minor), *_of_package(data, minor), *_of_speculative(data, minor)]
    for path, contract in contracts(data):
        found += _listed(contract, path, "padding", ("dimension", "valid_lengths"))
    return found


def _early(path: Path, since: int, minor: int) -> Iterator[Fault]:
    if minor < since:
        message = f"The key {path[-1]!r} begins with v1.{since}; the document is {version.spelled(minor)}."
        yield Fault(message, f"Write schema_version: v1.{since} and what that version demands.", path, rule=3)


def _lacks(path: Path, since: int) -> Fault:
    return Fault(f"v1.{since} and later demand the key {path[-1]!r}.", "Add it.", path, rule=4)


def _closed(value: Any, path: Path, known: tuple[str, ...], required: tuple[str, ...] = ()) -> Iterator[Fault]:
    """A mapping with these keys and no others."""
    if not isinstance(value, dict):
        yield Fault(f"{path[-1]} must be a mapping; found {type(value).__name__}.", "Correct it.", path, rule=7)
        return
    for key in value:
        if key not in known:
            yield Fault(f"{path[-1]} has a key {key[:60]!r}, which the format does not know.",
                        f"Known here: {', '.join(known)}.", (*path, key), rule=3)  # fmt: skip
    for key in required:
        if key not in value:
            yield Fault(f"{path[-1]} lacks the key {key!r}.", "Add it.", (*path, key), rule=4)


def _listed(around: Mapping, path: Path, key: str, known: tuple[str, ...]) -> Iterator[Fault]:
    if key not in around:
        return
    found = around[key]
    if not isinstance(found, list):
        yield Fault(f"{key} must be a list; found {type(found).__name__}.", "Write a list.", (*path, key), rule=7)
        return
    for index, item in enumerate(found):
        yield from _closed(item, (*path, key, index), known, known)


def _kind(value: Any, path: Path, known: tuple[str, ...]) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(f"{path[-1]} must be a mapping with a kind.", "Write {kind: ...}.", path, rule=7)
    elif value.get("kind") not in known:
        message = f"{path[-1]} has the unknown kind {str(value.get('kind'))[:60]!r}."
        yield Fault(message, f"Write one of {', '.join(known)}.", (*path, "kind"), rule=6)


def _of_workflow(data: Mapping, minor: int) -> Iterator[Fault]:
    workflow, names = mapping_at(data, *map(str, WORKFLOW)), tuple(map(str, WORKFLOW))
    if workflow is None:
        return
    yield from _publication(workflow, minor)
    for path, output in entries(data, *names, "outputs"):
        yield from _family(output, path, minor)
    for path, component in entries(data, *names, "components"):
        if "batch_capacity" in component:
            at = (*path, "batch_capacity")
            yield from _early(at, version.BATCH_CAPACITY, minor)
            yield from _closed(component["batch_capacity"], at, _IN_ORDER)
    for path, cell in entries(data, *names, "state"):
        session = cell.get("session")
        if isinstance(session, dict) and "continuation" in session:
            yield from _kind(session["continuation"], (*path, "session", "continuation"), ("prompt_prefix",))
    for path, group in groups(data):
        yield from _group(group, path, minor)
    for path, step in steps(data):
        yield from _emit(step, path, minor)


def _publication(workflow: Mapping, minor: int) -> Iterator[Fault]:
    path = (*WORKFLOW, "publication_mode")
    if "publication_mode" not in workflow:
        if minor >= version.PUBLICATION_MODE:
            yield _lacks(path, version.PUBLICATION_MODE)
        return
    yield from _early(path, version.PUBLICATION_MODE, minor)
    if workflow["publication_mode"] not in _MODES:
        yield Fault("publication_mode is no word of its list.", f"Write one of {', '.join(_MODES)}.", path, rule=5)


def _family(output: Mapping, path: Path, minor: int) -> Iterator[Fault]:
    at = (*path, "family")
    if "family" not in output:
        if minor >= version.FAMILIES:
            yield _lacks(at, version.FAMILIES)
        return
    yield from _early(at, version.FAMILIES, minor)
    yield from _kind(output["family"], at, _FAMILIES)
    if isinstance(output["family"], dict) and output["family"].get("kind") == "revisions":
        yield from _closed(output["family"], at, ("kind", "version"), ("version",))


def _group(group: Mapping, path: Path, minor: int) -> Iterator[Fault]:
    if group.get("kind") == "compressed_attention":
        yield from _early((*path, "kind"), version.COMPRESSED, minor)
    if "properties" in group:
        yield from _kind(group["properties"], (*path, "properties"), ("compressed_attention",))


def _emit(step: Mapping, path: Path, minor: int) -> Iterator[Fault]:
    if step.get("kind") != "emit":
        return
    if "stream" in step:
        yield from _early((*path, "stream"), version.FAMILIES, minor)
        if not isinstance(step["stream"], str):
            yield Fault("stream must be text.", "Name the stream.", (*path, "stream"), rule=7)
    if step.get("mode") in ("retract", "finalize"):
        yield from _early((*path, "mode"), version.FAMILIES, minor)


def _of_package(data: Mapping, minor: int) -> Iterator[Fault]:
    package = mapping_at(data, "package") or {}
    if "tool_protocol" in package:
        path = ("package", "tool_protocol")
        yield from _early(path, version.TOOL_PROTOCOL, minor)
        yield from _closed(package["tool_protocol"], path, ("identity", "version"), ("identity", "version"))
    tokenizer, at = mapping_at(package, "tokenizer") or {}, ("package", "tokenizer", "special_tokens")
    if "special_tokens" in tokenizer:
        yield from _early(at, version.SPECIAL_TOKENS, minor)
        yield from _tokens(tokenizer["special_tokens"], at)
    until_end = [path for path, step in steps(data) if step.get("termination") == "generation_eos"]
    known = mapping_at(tokenizer, "special_tokens") or {}
    if until_end and minor >= version.SPECIAL_TOKENS and not known.get("eos_token_id"):
        message = "A loop that ends at an end of text needs package.tokenizer.special_tokens.eos_token_id from v1.2 on."
        yield Fault(message, "Add the ids.", (*until_end[0], "termination"), rule=4)


def _tokens(tokens: Any, path: Path) -> Iterator[Fault]:
    yield from _closed(tokens, path, _TOKEN_KEYS)
    for key, value in tokens.items() if isinstance(tokens, dict) else ():
        ids = value if isinstance(value, list) and key == "eos_token_id" else [value]
        wanted = "a list of ids" if key == "eos_token_id" else "an id"
        if (key == "eos_token_id") != isinstance(value, list) or not all(_is_id(item) for item in ids):
            yield Fault(f"{key} must be {wanted}; found {str(value)[:60]}.", "Correct it.", (*path, key), rule=7)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _of_speculative(data: Mapping, minor: int) -> Iterator[Fault]:
    if "speculative" in data:
        required = ("identity", "version", "proposer", "target", "vocabulary", "verification")
        yield from _closed(data["speculative"], ("speculative",), _SPECULATIVE, required)
        yield from _early(("speculative",), version.FAMILIES, minor)
