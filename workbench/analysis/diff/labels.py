"""What nodes and weights are known by before anything is matched: labels that do not depend on names or on order."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import onnx_ir as ir

from workbench.analysis.diff.content import attribute_key, fingerprint, kind_of
from workbench.analysis.diff.flat import Side, Source

_FAMILIES = (
    ("RMSNormalization", "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization"),
    ("LayerNormalization", "SkipLayerNormalization"),
    ("Attention", "GroupQueryAttention", "MultiHeadAttention"),
    ("Gelu", "FastGelu", "QuickGelu", "BiasGelu"),
    ("MatMul", "MatMulNBits", "FusedMatMul", "Gemm"),
    ("RotaryEmbedding",),
)
FAMILY = {op_type: members[0] for members in _FAMILIES for op_type in members}
"""Operators that stand for one another: one of them tells what is around the other, and is still another node."""

Print = tuple[Any, ...] | None


@dataclasses.dataclass(slots=True)
class Labels:
    """Labels of one side, by node or initializer index."""

    kinds: list[tuple[Any, ...]]
    """Home, operator and overload: what two nodes must share to be one."""
    families: list[tuple[Any, ...]]
    """The same, with an operator that may stand for another under a common name."""
    attributes: list[dict[str, Any]]
    settings: list[Any]
    """The attributes as one key."""
    types: list[Any]
    """Kind of dtype and known sizes of each output."""
    looks: list[Any]
    """The same; of operators that stand in for others the first output only."""
    prints: list[Print]
    weights: list[tuple[Any, ...]]
    """What an initializer is known by: content, else name, else its kind and shape."""
    inputs: dict[str, Any]
    """Names of inputs of the main graph to what both graphs call them."""
    outputs: dict[str, Any]
    constant: list[bool]
    """Nodes that only depend on initializers: they may have been folded on the other side."""
    roots: list[str | None]
    """Per initializer: its name as both sides have it, also where one has it turned (``x.weight.T``)."""
    grown: list[str | None]
    """Per constant node: the root of the only initializer above it."""
    before: list[int] = dataclasses.field(default_factory=list)
    """Bits of the shared inputs that a node depends on: a fusion on the way does not change them."""
    after: list[int] = dataclasses.field(default_factory=list)
    """Bits of the shared outputs that depend on a node."""
    depth: list[int] = dataclasses.field(default_factory=list)

    def root_of(self, source: Source | None) -> str | None:
        """The name of the weight that a value is, or is made of alone."""
        if source is None or source[0] not in "wn":
            return None
        return self.roots[source[1]] if source[0] == "w" else self.grown[source[1]]


def label(a: Side, b: Side, *, read: bool) -> tuple[Labels, Labels]:
    """Labels of both sides, so that equal labels mean the same thing in both."""
    prints = [[fingerprint(value.const_value, read=read) for value in side.initializers] for side in (a, b)]
    inputs = _boundary([v.name or "" for v in a.model.graph.inputs], [v.name or "" for v in b.model.graph.inputs])
    outputs = _boundary([name for name, _ in a.passed], [name for name, _ in b.passed])
    weights = _weights(a, b, prints)
    roots = _roots(a, b), _roots(b, a)
    made = [_label(side, prints[i], weights[i], inputs[i], outputs[i], roots[i]) for i, side in enumerate((a, b))]
    bits = _bits(made[0], made[1])
    for side, labels in zip((a, b), made):
        labels.before, labels.after = _reach(side, labels, bits)
        labels.depth = _depth(side)
    return made[0], made[1]


def _boundary(a: list[str], b: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Shared names are themselves; where as many are left over on both sides, they are known by their position."""
    shared = set(a) & set(b)
    made: list[dict[str, Any]] = []
    rest = [[name for name in names if name not in shared] for names in (a, b)]
    for number, names in enumerate(rest):
        alike = len(rest[0]) == len(rest[1])
        made.append(
            dict.fromkeys(shared) | {name: ("at", i) if alike else (number, name) for i, name in enumerate(names)}
        )
    return tuple({name: key or name for name, key in found.items()} for found in made)  # type: ignore[return-value]


def _weights(a: Side, b: Side, prints: list[list[Print]]) -> list[list[tuple[Any, ...]]]:
    """Content that both sides have; else a name that both have; else kind and shape.

    Weights of one content (zeros, scalars) are told apart by a name that goes with it on both sides.
    """
    sides = (a, b)
    shared = set(filter(None, prints[0])) & set(filter(None, prints[1]))
    several = {key for keys in prints for key, count in collections.Counter(keys).items() if count > 1}
    by_name = [{v.name: key for v, key in zip(s.initializers, keys)} for s, keys in zip(sides, prints)]
    made = []
    for here, (side, keys) in enumerate(zip(sides, prints)):
        there = by_name[1 - here]
        found: list[tuple[Any, ...]] = []
        for value, key in zip(side.initializers, keys):
            if key in shared:
                named = key in several and there.get(value.name) == key
                found.append(("content", key, value.name) if named else ("content", key))
            else:
                found.append(("name", value.name) if value.name in there else ("like", *like(value)))
        made.append(found)
    return made


def _known(shape: Any) -> tuple[int | None, ...] | None:
    """Sizes that tell something: a 1 may be a batch that was fixed."""
    return None if shape is None else tuple(d if isinstance(d, int) and d != 1 else None for d in shape)


def _roots(side: Side, other: Side) -> list[str | None]:
    """The name that a weight goes by on both sides: its own, or what remains of it without its last part."""
    names = {value.name for value in other.initializers}
    mine = {value.name for value in side.initializers}
    stems = {name.rpartition(".")[0] for name in names if name}
    found: list[str | None] = []
    for value in side.initializers:
        name = value.name or ""
        stem = name.rpartition(".")[0]
        root = name if name in names or name in stems else stem if stem in names and stem not in mine else None
        found.append(root or None)
    return found


def like(value: ir.Value) -> tuple[Any, ...]:
    """Kind of dtype and shape of a value: sizes that are known, None for others."""
    tensor = value.const_value
    shape = tensor.shape if tensor is not None else value.shape
    dtype = tensor.dtype if tensor is not None else value.dtype
    return kind_of(dtype), sizes(shape)


def sizes(shape: Any) -> tuple[int | None, ...] | None:
    return None if shape is None else tuple(d if isinstance(d, int) else None for d in shape)


def _label(
    side: Side, prints: list[Print], weights: list[tuple[Any, ...]], inputs: dict[str, Any], outputs: dict[str, Any],
    roots: list[str | None],
) -> Labels:  # fmt: skip
    attributes = [_attributes(node) for node in side.nodes]
    constant = [False] * len(side)
    grown: list[str | None] = [None] * len(side)
    for index in side.order:
        sources = side.sources[index]
        constant[index] = not side.inner[index] and all(
            s is None or s[0] == "w" or (s[0] == "n" and constant[s[1]]) for s in sources
        )
        if constant[index] and len(sources) == 1 and sources[0] is not None:
            grown[index] = roots[sources[0][1]] if sources[0][0] == "w" else grown[sources[0][1]]
    types = [tuple((kind_of(v.dtype), _known(v.shape)) for v in node.outputs) for node in side.nodes]
    return Labels(
        kinds=[(home, *op, node.overload) for home, op, node in zip(side.homes, side.ops, side.nodes)],
        families=[
            (home, FAMILY[op[1]], "") if op[1] in FAMILY else (home, *op, node.overload)
            for home, op, node in zip(side.homes, side.ops, side.nodes)
        ],
        attributes=attributes,
        settings=[frozenset(found.items()) for found in attributes],
        types=types,
        looks=[found[:1] if op[1] in FAMILY else found for op, found in zip(side.ops, types)],
        prints=prints,
        weights=weights,
        inputs=inputs,
        outputs=outputs,
        constant=constant,
        roots=roots,
        grown=grown,
    )


_NONE: dict[str, Any] = {}


def _attributes(node: ir.Node) -> dict[str, Any]:
    return {name: attribute_key(value) for name, value in node.attributes.items()} if node.attributes else _NONE


def _bits(a: Labels, b: Labels) -> dict[Any, int]:
    """A bit for each input and output that both sides have."""
    ins_there, outs_there = set(b.inputs.values()), set(b.outputs.values())
    ins = [("in", key) for key in a.inputs.values() if key in ins_there]
    outs = [("out", key) for key in a.outputs.values() if key in outs_there]
    return {key: 1 << i for i, key in enumerate((*ins, *outs))}


def _reach(side: Side, labels: Labels, bits: dict[Any, int]) -> tuple[list[int], list[int]]:
    """Which inputs a node depends on and which outputs depend on it: what a fusion on the way does not change."""
    before, after = [0] * len(side), [0] * len(side)
    for index in side.order:
        found = 0
        for source in (*side.sources[index], *side.inner[index]):
            if source is None:
                continue
            if source[0] == "n":
                found |= before[source[1]]
            elif source[0] == "i":
                found |= bits.get(("in", labels.inputs[source[1]]), 0)
        before[index] = found
    for index in reversed(side.order):
        found = 0
        for where, name, _ in side.gives[index]:
            if where == "":
                found |= bits.get(("out", labels.outputs[name]), 0)
        for reader, _, _ in side.readers[index]:
            found |= after[reader]
        after[index] = found
    return before, after


def _depth(side: Side) -> list[int]:
    depth = [0] * len(side)
    for index in side.order:
        for source in side.sources[index]:
            if source is not None and source[0] == "n":
                depth[index] = max(depth[index], depth[source[1]] + 1)
    return depth


def cones(side: Side, labels: Labels) -> tuple[list[int], list[int]]:
    """A hash of everything before each node, and one of everything after it."""
    before, after = [0] * len(side), [0] * len(side)
    own = [hash(pair) for pair in zip(labels.kinds, labels.settings)]
    for index in side.order:
        sources = [_source_key(s, labels, before) for s in side.sources[index]]
        sources += [("inner", before[s[1]], s[2]) if s[0] == "n" else s[:1] for s in side.inner[index]]
        before[index] = hash((own[index], tuple(sources)))
    for index in reversed(side.order):
        readers = sorted((after[r], position, number) for r, position, number in side.readers[index])
        gives = sorted(map(str, ((w, labels.outputs[n] if w == "" else n, o) for w, n, o in side.gives[index])))
        after[index] = hash((own[index], tuple(readers), tuple(gives)))
    return before, after


def _source_key(source: Source | None, labels: Labels, before: list[int]) -> Any:
    if source is None:
        return None
    kind = source[0]
    if kind == "n":
        return before[source[1]], source[2]
    if kind == "w":
        return labels.weights[source[1]]
    if kind == "i":
        return "input", labels.inputs[source[1]]
    return ("body", *source[2:]) if kind == "b" else source
