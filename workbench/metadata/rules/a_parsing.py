"""Group A: the text is YAML or JSON, and its data have the shape of the format."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.parsing import Misfit, model_at
from workbench.metadata.reading.limits import shorten
from workbench.metadata.registry import Finding, rule
from workbench.metadata.wording import q

REMOVED = frozenset({
    "slot_ids", "row_ids", "request_epochs", "kv_service", "storage", "paging", "allocation", "slot_allocation",
    "shared_buffer", "ir_version", "onnx_opsets", "kv_cache", "phases", "strategies", "strategy", "dataflow", "models",
    "sha256", "hash", "digest", "checksum",
})  # fmt: skip
"""Keys that earlier drafts had and that were taken out again."""
_MISSING = ("missing", "union_tag_not_found")


def _rule_of(misfit: Misfit) -> int:
    """The number of the rule that a misfit breaks."""
    kind, path, found = misfit.kind, misfit.path, misfit.found
    if kind == "extra_forbidden":
        return 3 if misfit.ignored else 11 if path[-1] in REMOVED else 2 if len(path) == 1 else 3
    if kind in _MISSING:
        return 4
    if kind == "literal_error" and isinstance(found, str):
        return 5
    if kind == "union_tag_invalid" and isinstance(found, dict) and isinstance(found.get("kind"), str):
        return 6
    if _is_dimension(path) and kind == "greater_than_equal":
        return 8
    if _is_dimension(path) and found == "":
        return 9
    return 10 if path[-1:] == ("presence",) and found == "" else 7


def _is_dimension(path: Path) -> bool:
    return len(path) > 1 and path[-2] == "shape"


def _faults(context: Context, number: int) -> Iterator[Finding]:
    """What reading found, in the text or in words of another dialect."""
    for fault in context.loaded.faults:
        if fault.rule == number:
            yield Finding(fault.path, fault.message, fault.hint, line=fault.line)


def _misfits(context: Context, number: int) -> Iterator[Misfit]:
    return (misfit for misfit in context.misfits if _rule_of(misfit) == number)


def _known(context: Context, path: Path) -> str:
    """A hint with the keys that a mapping may hold, the closest first."""
    if path[-1] == "<<":
        return "Merge keys are not read: write the keys of the other mapping out."
    model = model_at(context.data, path[:-1])
    if model is None:
        return "Remove the key."
    known = sorted(field.alias or name for name, field in model.model_fields.items())
    close = difflib.get_close_matches(str(path[-1])[:80], known, n=1, cutoff=0.6)
    guess = f"Did you mean {q(close[0])}? " if close else ""
    return f"{guess}Known here: {', '.join(known)}."


@rule(1, "parse", "The text is YAML, or JSON in a .json file: one document, no key twice, within the bounds.")
def _text(context: Context) -> Iterator[Finding]:
    yield from _faults(context, 1)


@rule(2, "parse", "The document has no top-level key but the known ones.")
def _top_level(context: Context) -> Iterator[Finding]:
    for misfit in _misfits(context, 2):
        message = f"The document has a key {shorten(misfit.path[-1])}, which the format does not know."
        yield Finding(misfit.path, message, _known(context, misfit.path))


@rule(3, "parse", "A closed mapping has no unknown key; beside a kind without fields one is ignored with a warning.")
def _closed(context: Context) -> Iterator[Finding]:
    yield from _faults(context, 3)
    for misfit in _misfits(context, 3):
        key, place = shorten(misfit.path[-1]), show_path(misfit.path[:-1])
        if misfit.ignored:
            message = f"The key {key} in {place} means nothing: this kind has no fields."
            yield Finding(misfit.path, message, "Remove it, stricter readers reject it.", "warning")
        else:
            message = f"{place} has a key {key}, which the format does not know."
            yield Finding(misfit.path, message, _known(context, misfit.path))


@rule(4, "parse", "Every required key is there.")
def _required(context: Context) -> Iterator[Finding]:
    yield from _faults(context, 4)
    for misfit in _misfits(context, 4):
        place = show_path(misfit.path[:-1]) or "The document"
        yield Finding(misfit.path, f"{place} lacks the key {shorten(misfit.path[-1])}.", "Add it.")


@rule(5, "parse", "A word of a closed list is one of that list.")
def _words(context: Context) -> Iterator[Finding]:
    yield from _faults(context, 5)
    for misfit in _misfits(context, 5):
        message = f"{show_path(misfit.path)} is {shorten(misfit.found)}, no word of its list."
        yield Finding(misfit.path, message, f"Write one of {misfit.allowed.replace(' or ', ', ')}.")


@rule(6, "parse", "The kind of a step, source, role, layout or other union is a known one.")
def _kinds(context: Context) -> Iterator[Finding]:
    yield from _faults(context, 6)
    for misfit in _misfits(context, 6):
        message = f"{show_path(misfit.path)} has the unknown kind {shorten(misfit.found['kind'])}."
        yield Finding((*misfit.path, "kind"), message, f"Write one of {misfit.allowed}.")


_NOUNS = {
    "string_type": "text", "int_type": "a whole number", "float_type": "a number", "bool_type": "true or false",
    "tuple_type": "a list", "dict_type": "a mapping", "model_type": "a mapping", "mapping_type": "a mapping",
    "model_attributes_type": "a mapping", "string_too_short": "text that is not empty",
    "too_short": "a list with items",
    "greater_than_equal": "a larger number", "less_than_equal": "a smaller number", "literal_error": "a word",
    "union_tag_invalid": "a mapping with a kind in text",
}  # fmt: skip


@rule(7, "parse", "Every value has its type: text, whole number in range, number, truth value, list or mapping.")
def _types(context: Context) -> Iterator[Finding]:
    yield from _faults(context, 7)
    for misfit in _misfits(context, 7):
        wanted = _NOUNS.get(misfit.kind, "a value of another type")
        place = show_path(misfit.path) or "The document"
        hint = "Correct the value."
        if not misfit.path and isinstance(misfit.found, str):  # a path of nothing is read as a text
            hint = "If that is a path: there is no such file or folder."
        yield Finding(misfit.path, f"{place} must be {wanted}; found {shorten(misfit.found)}.", hint)


@rule(8, "parse", "A fixed dimension is not negative.")
def _negative(context: Context) -> Iterator[Finding]:
    for misfit in _misfits(context, 8):
        message = f"{show_path(misfit.path)} is {shorten(misfit.found)}; a dimension has zero or more entries."
        yield Finding(misfit.path, message, "Write a size, or a name for one that is not fixed.")


@rule(9, "parse", "The name of a dimension is not empty.")
def _unnamed(context: Context) -> Iterator[Finding]:
    for misfit in _misfits(context, 9):
        yield Finding(misfit.path, f"{show_path(misfit.path)} is an empty name.", "Name the dimension.")


@rule(10, "parse", "In model.io the presence key of an optional input is not empty.")
def _presence(context: Context) -> Iterator[Finding]:
    for misfit in _misfits(context, 10):
        yield Finding(misfit.path, f"{show_path(misfit.path)} is empty.", "Name the value that says it is there.")


@rule(11, "parse", "Keys that the format gave up stay away: slots, rows, epochs, storage, paging, phases, hashes.")
def _removed(context: Context) -> Iterator[Finding]:
    yield from _faults(context, 11)
    for misfit in _misfits(context, 11):
        place = show_path(misfit.path[:-1]) or "The document"
        message = f"{place} has the key {shorten(misfit.path[-1])}, which the format gave up."
        yield Finding(misfit.path, message, "Remove it: the runtime decides this by itself.")
