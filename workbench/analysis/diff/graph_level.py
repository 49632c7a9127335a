"""What changed about the graphs themselves: inputs, outputs, opsets, weights, functions, the package's settings."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Mapping
from typing import Any

import onnx_ir as ir

from workbench.analysis.diff.boundary import Boundary
from workbench.analysis.diff.changes import value_text
from workbench.analysis.diff.content import dtype_text, shape_text, type_text
from workbench.analysis.diff.flat import Side, Source
from workbench.analysis.diff.result import Change
from workbench.analysis.diff.uniform import Uniform

_NUMBER = re.compile(r"\d+")


def graph_changes(boundary: Boundary, whole: Uniform, folded: tuple[set[int], set[int]]) -> list[Change]:
    """All of them; ``folded`` are weights of both sides that went into others or came of them."""
    found = [*whole.changes]
    found += together(_inputs(boundary, whole))
    found += together(_outputs(boundary, whole))
    found += _opsets(boundary)
    found += _weights(boundary, whole, folded)
    return found


def _inputs(boundary: Boundary, whole: Uniform) -> list[Change]:
    a, b = (side.model.graph.inputs for side in boundary.sides)
    keys = [[boundary.labels[n].inputs[v.name or ""] for v in values] for n, values in enumerate((a, b))]
    return _values("input", whole, list(zip(keys[0], a)), list(zip(keys[1], b)))


def _outputs(boundary: Boundary, whole: Uniform) -> list[Change]:
    values = [side.model.graph.outputs for side in boundary.sides]
    keys = [[boundary.labels[n].outputs[v.name or ""] for v in held] for n, held in enumerate(values)]
    found = _values("output", whole, list(zip(keys[0], values[0])), list(zip(keys[1], values[1])))
    made = [dict(zip(keys[n], side.passed)) for n, side in enumerate(boundary.sides)]
    for key, (name, sa) in made[0].items():
        if key in made[1] and not boundary.explained(sa, made[1][key][1]):
            texts = _maker(boundary.sides[0], sa), _maker(boundary.sides[1], made[1][key][1])
            found.append(Change("output", f"{name} is made by", *texts))
    return found


def _maker(side: Side, source: Source) -> str:
    if source[0] == "n":
        return side.nodes[source[1]].name or side.ops[source[1]][1]
    return value_text(side, source[1] if source[0] == "i" else side.initializers[source[1]].name, source)


Named = list[tuple[Any, ir.Value]]


def _values(what: str, whole: Uniform, a: Named, b: Named) -> list[Change]:
    """By key: gone, come, renamed, of another dtype or shape; then their order."""
    found = []
    there, here = dict(b), dict(a)
    for key, value in a:
        other = there.get(key)
        if other is None:
            found.append(Change(what, value.name or "", type_text(value), ""))
            continue
        if value.name != other.name:
            found.append(Change(what, "name", value.name or "", other.name or ""))
        if value.dtype != other.dtype and value.dtype is not None and other.dtype is not None:
            found.append(Change(what, f"{value.name} dtype", dtype_text(value.dtype), dtype_text(other.dtype)))
        if not whole.same_shape(value.shape, other.shape):
            found.append(Change(what, f"{value.name} shape", shape_text(value.shape), shape_text(other.shape)))
    found += [Change(what, v.name or "", "", type_text(v)) for key, v in b if key not in here]
    found += _repeated(what, a, b)
    both = [{key: v for key, v in side.items() if key in here and key in there} for side in (here, there)]
    order = [list(side) for side in both]
    if order[0] != order[1]:
        names = [[v.name or "" for v in side.values()] for side in both]
        first = next(i for i, (m, n) in enumerate(zip(*order)) if m != n)
        found.append(Change(what, f"order from position {first}", *(", ".join(n[first : first + 5]) for n in names)))
    return found


def _repeated(what: str, a: Named, b: Named) -> list[Change]:
    """A value that is listed more than once, in one graph oftener than in the other."""
    names = {key: value.name or "" for key, value in (*b, *a)}
    times = [collections.Counter(key for key, _ in side) for side in (a, b)]
    return [
        Change(what, f"{names[key]} is listed", *(f"{count[key]} x" for count in times))
        for key in times[0] if key in times[1] and times[0][key] != times[1][key]
    ]  # fmt: skip


def _opsets(boundary: Boundary) -> list[Change]:
    held = [{_domain(d): v for d, v in side.model.graph.opset_imports.items()} for side in boundary.sides]
    a, b = held
    return [
        Change("opset", domain or "ai.onnx", str(a.get(domain, "")), str(b.get(domain, "")))
        for domain in sorted({*a, *b}) if a.get(domain) != b.get(domain)
    ]  # fmt: skip


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _weights(boundary: Boundary, whole: Uniform, folded: tuple[set[int], set[int]]) -> list[Change]:
    a, b = (side.initializers for side in boundary.sides)
    found: list[Change] = []
    turned: list[Change] = []
    for i, value in enumerate(a):
        j = boundary.weights[0][i]
        if j >= 0:
            found += _weight(boundary, whole, i, j)
        else:
            (turned if i in folded[0] else found).append(
                Change("initializer", value.name or "", weight_text(value), "")
            )
    for j, value in enumerate(b):
        if boundary.weights[1][j] < 0:
            (turned if j in folded[1] else found).append(
                Change("initializer", value.name or "", "", weight_text(value))
            )
    return [*found, *together(turned)]


def _weight(boundary: Boundary, whole: Uniform, i: int, j: int) -> list[Change]:
    value, other = boundary.sides[0].initializers[i], boundary.sides[1].initializers[j]
    name = value.name or ""
    old, new = (v.const_value.dtype if v.const_value is not None else v.dtype for v in (value, other))
    shapes = [v.const_value.shape if v.const_value is not None else v.shape for v in (value, other)]
    if not whole.same_dtype(old, new) or not whole.same_shape(*shapes):
        return [Change("initializer", name, weight_text(value), weight_text(other))]
    prints = boundary.labels[0].prints[i], boundary.labels[1].prints[j]
    if old == new and differ(*prints):
        texts = [f"{weight_text(v)} #{key[3][:8]}" for v, key in zip((value, other), prints) if key]
        return [Change("initializer", name, *texts)]
    return []


def differ(a: Any, b: Any) -> bool:
    """Whether two contents are known to differ: both were read, in the same way."""
    return a is not None and b is not None and a[0] == b[0] != "object" and a != b


def weight_text(value: ir.Value) -> str:
    """``float32[576, 576]``."""
    tensor = value.const_value
    if tensor is None:
        return type_text(value)
    return f"{dtype_text(tensor.dtype)}{shape_text(tensor.shape)}"


def together(changes: Iterable[Change]) -> list[Change]:
    """Changes that differ only in a number of their name (a cache per layer) as one each, with how often."""
    groups: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        key = (change.what, _NUMBER.sub("*", change.where), change.before, change.after)
        groups.setdefault(key, []).append(change)
    found = []
    for group in groups.values():
        first = group[0]
        where = first.where if len(group) == 1 else f"{_NUMBER.sub('*', first.where)} x {len(group)}"
        found.append(Change(first.what, where, first.before, first.after))
    return found


def config_changes(a: Mapping[str, str], b: Mapping[str, str]) -> list[Change]:
    """Settings of two packages that differ."""
    return [
        Change("config", key, a.get(key, ""), b.get(key, ""))
        for key in dict.fromkeys((*a, *b)) if a.get(key, "") != b.get(key, "")
    ]  # fmt: skip
