"""Counting for :mod:`workbench.analysis.rule_matrix`: each node of two graphs to its place, and to what made it."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

from workbench.analysis.layers import OUTSIDE, Layout, Spot, ranges
from workbench.analysis.rule_matrix import FOLD, INLINE, Cell, Mark, Ops, Place, RuleMatrix
from workbench.types import REPLACES_KEY, RULES_KEY, SCOPE_KEY

Form = tuple[Any, ...]


def rule_matrix(graphs: Mapping[str, tuple[ir.Model, ir.Model]]) -> RuleMatrix:
    """The matrix of execution providers: for each its generic graph and the graph made from it. Nothing is read or run.

    Args:
        graphs: ``{execution provider: (generic, made)}``.
    """
    scopes = (_scope(node) for pair in graphs.values() for model in pair for node in model.graph)
    layout = Layout(scopes)
    counted = {name: _count(layout, *pair) for name, pair in graphs.items()}
    spots = dict.fromkeys(spot for found in counted.values() for spot in found)
    places = _places(layout, list(spots), list(counted.values()))
    cells = [
        _cell(name, place, found.get(spot) or _Found())
        for name, found in counted.items()
        for place, spot in places.items()
    ]
    return RuleMatrix(tuple(graphs), tuple(places), tuple(cells))


@dataclasses.dataclass
class _Found:
    """What stands in one place of one provider's graph, and what stood there in the generic one."""

    generic: list[ir.Node] = dataclasses.field(default_factory=list)
    nodes: list[ir.Node] = dataclasses.field(default_factory=list)
    marks: tuple[Mark, ...] = ()
    form: Form = ()
    scope: str = ""


def _count(layout: Layout, generic: ir.Model, made: ir.Model) -> dict[Spot, _Found]:
    found: defaultdict[Spot, _Found] = defaultdict(_Found)
    for node in generic.graph:
        found[layout.spot(_scope(node))].generic.append(node)
    for node in made.graph:
        found[layout.spot(_scope(node))].nodes.append(node)
    gone = _gone(layout, generic, made)
    explained = {name for rules in gone.values() for names in rules.values() for name in names}
    for spot, here in found.items():
        here.scope = _scope((*here.generic, *here.nodes)[0])
        here.marks = _marks(here, gone[spot], explained, generic)
        here.form = (here.marks, _form(here.generic, spot, generic), _form(here.nodes, spot, made))
    return dict(found)


Gone = dict[str, dict[str, ir.Node]]


def _gone(layout: Layout, generic: ir.Model, made: ir.Model) -> defaultdict[Spot, Gone]:
    """For each place and rule the generic nodes that went for what the rule made there.

    What layers share (a mask) goes with its last reader; it counts where it stood, so that the last layer is like the
    others.
    """
    by_name = {node.name: node for node in generic.graph}
    gone: defaultdict[Spot, Gone] = defaultdict(dict)
    for node in made.graph:
        here, rule = layout.spot(_scope(node)), node.metadata_props.get(RULES_KEY, "")
        for name in (node.metadata_props.get(REPLACES_KEY) or "").split():
            if name in by_name:
                there = layout.spot(_scope(by_name[name]))
                shared = here.is_layer and not there.is_layer
                gone[there if shared else here].setdefault(rule, {})[name] = by_name[name]
    return gone


def _marks(here: _Found, gone: Gone, explained: set[str], generic: ir.Model) -> tuple[Mark, ...]:
    own = {node.name: node.op_type for node in here.generic}
    made: defaultdict[str, list[ir.Node]] = defaultdict(list)
    kept = set()
    for node in here.nodes:
        rule = node.metadata_props.get(RULES_KEY, "")
        if not rule and own.get(node.name) == node.op_type:
            kept.add(node.name)
        else:
            made[rule or INLINE].append(node)
    inlined = made.pop(INLINE, [])
    marks = [_mark(rule, made[rule], list(gone.get(rule, {}).values())) for rule in dict.fromkeys((*made, *gone))]
    rest = [node for node in here.generic if node.name not in kept and node.name not in explained]
    calls = [node for node in rest if inlined and node.op_identifier() in generic.functions]
    marks += [_mark(INLINE, inlined, calls)] if inlined else []
    folded = [node for node in rest if node not in calls]
    return tuple(marks + ([_mark(FOLD, [], folded)] if folded else []))


def _mark(rule: str, made: list[ir.Node], replaced: list[ir.Node]) -> Mark:
    return Mark(rule, len(made), len(replaced), _ops(made), _ops(replaced))


def _ops(nodes: list[ir.Node]) -> Ops:
    counts = Counter(node.op_type for node in nodes)
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


# --- layers that went alike -------------------------------------------------------------------------------------------
def _form(nodes: list[ir.Node], spot: Spot, model: ir.Model) -> Form:
    """What two layers must share to count as alike: all but names, values of weights, and who reads them."""
    start = f"{spot.stack}.{spot.layer}" if spot.stack else str(spot.layer)
    return tuple(sorted(_node_form(node, start, model) for node in nodes))


def _node_form(node: ir.Node, start: str, model: ir.Model) -> tuple[str, ...]:
    attributes = sorted(f"{a.name}={_attribute(a)}" for a in node.attributes.values())
    inputs = [_input(value, model) for value in node.inputs]
    rule = node.metadata_props.get(RULES_KEY, "")
    return (_scope(node).removeprefix(start), node.domain, node.op_type, rule, *attributes, *inputs)


def _attribute(attribute: ir.Attr) -> str:
    if attribute.is_ref():
        return str(attribute.ref_attr_name)
    if attribute.type == ir.AttributeType.TENSOR:
        return f"{attribute.value.dtype} {attribute.value.shape}"
    graphs = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
    return "graph" if attribute.type in graphs else str(attribute.value)


def _input(value: ir.Value | None, model: ir.Model) -> str:
    """Weights by shape, a mask by the function that makes it (a window or none), everything else alike."""
    if value is None:
        return "-"
    if value.is_initializer():
        return f"{value.dtype} {value.shape}"
    producer = value.producer()
    called = producer is not None and producer.op_identifier() in model.functions
    return producer.op_type if producer is not None and called else "value"


def _places(layout: Layout, spots: list[Spot], counted: list[dict[Spot, _Found]]) -> dict[Place, Spot]:
    """Places in the order of the graph, ``outside`` last; each with the spot that stands for it."""
    runs: dict[tuple[Any, ...], list[Spot]] = {}
    for spot in sorted(spots, key=lambda s: (s.stack, s.layer)) if layout.stacks else spots:
        forms = tuple(found[spot].form if spot in found else None for found in counted)
        runs.setdefault((spot.stack, forms) if spot.is_layer else (spot,), []).append(spot)
    first = {spot: i for i, spot in enumerate(spots)}
    ordered = sorted(runs.values(), key=lambda run: (run[0] == Spot(), first[run[0]]))
    return {_place(layout, run, counted): run[0] for run in ordered}


def _place(layout: Layout, run: list[Spot], counted: list[dict[Spot, _Found]]) -> Place:
    spot = run[0]
    if spot.is_layer:
        layers = tuple(sorted(s.layer for s in run))
        head = f"{spot.stack}." if spot.stack else ""
        name = layout.stack_name(spot.stack)
        return Place(f"{name}.{ranges(layers)}" if name else ranges(layers), f"{head}{layers[0]}", spot.stack, layers)
    scope = next(found[spot].scope for found in counted if spot in found)
    return Place(spot.part, layout.part_scope(scope)) if spot.part else Place(OUTSIDE)


def _cell(name: str, place: Place, found: _Found) -> Cell:
    return Cell(name, place.name, len(found.generic), len(found.nodes), found.marks)


def _scope(node: ir.Node) -> str:
    return node.metadata_props.get(SCOPE_KEY, "")
