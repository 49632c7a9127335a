"""A graph fitted to a document: sizes that the config knows written into its ports, caches that keep everything.

Clients of workflows take the sizes of a cache from the graph alone, and give it a cache that grows. Graphs of ONNX
Runtime GenAI's builder leave the last axis open (it makes the buffers itself), and some keep no more than a window.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from workbench.analysis.graph_facts import GraphFacts
from workbench.errors import some
from workbench.importing.ports import Names, Values, caches

if TYPE_CHECKING:
    import onnx_ir as ir

_BOUNDED = "sliding_window_cache"
_AXES = ((1, "model.decoder.num_key_value_heads"), (3, "model.decoder.head_size"))


@dataclasses.dataclass(frozen=True)
class Fitting:
    """What is to change: ``(port, axis, size)`` of open axes, and nodes whose cache holds a window alone."""

    sizes: tuple[tuple[str, int, int], ...]
    bounded: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.sizes or self.bounded)

    def notes(self, file: str) -> list[str]:
        """Sentences for whoever runs the package."""
        found = []
        if self.sizes:
            ports = some([port for port, _, _ in self.sizes], 2)
            sizes = ", ".join(f"axis {axis} is {size}" for axis, size in sorted({(a, s) for _, a, s in self.sizes}))
            found.append(f"{file} has sizes of the cache that the graph leaves open ({ports}): {sizes}.")
        if self.bounded:
            found.append(
                f"In {file} the cache of {some(self.bounded, 2)} is kept whole ({_BOUNDED} is 0): the window is "
                "masked there, and the answers are the same."
            )
        return found


def fitting_of(facts: GraphFacts, names: Names, values: Values) -> Fitting:
    """What a decoder needs to be what its document says."""
    sizes = [
        (port.name, axis, values[key])
        for _, port in caches(facts, names)
        for axis, key in _AXES
        if not isinstance(port.dims[axis], int) and key in values
    ]
    bounded = [op.node for ops in facts.readers.values() for op in ops if op.bounded]
    return Fitting(tuple(sizes), tuple(dict.fromkeys(bounded)))


def second_name(artifact: str) -> str:
    """Of several graphs in a folder the published client (0.1.0.dev6) takes the one of this name, or none."""
    path = PurePosixPath(artifact)
    return str(path.with_name("decoder.onnx" if path.name != "decoder.onnx" else "decoder.sized.onnx"))


def fitted(path: Path, fitting: Fitting) -> ir.Model:
    """The graph with the changes, if any; weights in files of their own stay there."""
    import onnx_ir as ir

    model = ir.load(path)
    ports = {value.name: value for value in (*model.graph.inputs, *model.graph.outputs)}
    for name, axis, size in fitting.sizes:
        shape = ports[name].shape
        assert shape is not None
        ports[name].shape = ir.Shape([size if place == axis else dim for place, dim in enumerate(shape)])
    for node in model.graph:
        if (node.name or node.op_type) in fitting.bounded and _BOUNDED in node.attributes:
            node.attributes[_BOUNDED] = ir.AttrInt64(_BOUNDED, 0)
    return model


def rename_ports(model: ir.Model, names: Names) -> None:
    """Give the ports the names that ``describe`` knows; values inside that have such a name step aside."""
    known = {own: name for name, own in names.items()}
    ports = [*model.graph.inputs, *model.graph.outputs]
    taken = set(known.values()) - {port.name for port in ports}
    for node in model.graph:
        for value in node.outputs:
            if value.name in taken and value not in ports:
                value.name = f"{value.name}.inside"
    for port in ports:
        port.name = known.get(port.name or "", port.name)
