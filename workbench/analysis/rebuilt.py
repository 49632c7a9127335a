"""A graph out of a recording: the nodes of one moment with their wiring, without weights and types."""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.recording import RecordedNode, Recording
from workbench.types import SCOPE_KEY


def rebuilt(recording: Recording, index: int) -> ir.Graph:
    """The main graph after a step. What no node makes is an initializer if the recording says so, else an input."""
    live = recording.at(index)
    values: dict[str, ir.Value] = {}
    for name in (name for node in live for name in (*node.inputs, *node.outputs) if name):
        values.setdefault(name, ir.Value(name=name))
    made = {name for node in live for name in node.outputs}
    loose = [value for name, value in values.items() if name not in made]
    nodes = [_node(node, values) for node in live]
    return ir.Graph(
        [value for value in loose if value.name not in recording.constants],
        [values[name] for name in recording.outputs if name in values],
        nodes=nodes,
        initializers=[value for value in loose if value.name in recording.constants],
    )


def _node(record: RecordedNode, values: dict[str, ir.Value]) -> ir.Node:
    node = ir.Node(
        record.domain,
        record.op_type,
        [values.get(name) for name in record.inputs],
        outputs=[values[name] if name else ir.Value(name="") for name in record.outputs],
        overload=record.overload,
        name=record.name,
    )
    if record.scope != record.name:
        node.metadata_props[SCOPE_KEY] = record.scope
    return node
