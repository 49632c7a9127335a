"""More outputs for a graph: values inside it that a client is to give, such as the ends of layers."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import onnx_ir as ir

from workbench.errors import ArgumentError, unknown, wrong_type
from workbench.passes.cleanup import in_order


def with_outputs(model: ir.Model, names: Sequence[str]) -> ir.Model:
    """A clone that also gives the values of these names; tensors are shared.

    Raises:
        UnknownNameError: the graph makes no value of that name.
        ArgumentError: no list of names, or a value without a known dtype.
    """
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise wrong_type("outputs", names, "a list of names of the graph's values")
    with in_order(model):
        clone = model.clone()
    made = {value.name or "": value for node in clone.graph for value in node.outputs if value.name}
    given = {value.name for value in clone.graph.outputs}
    for name in dict.fromkeys(names):
        if name not in made:
            near = difflib.get_close_matches(name, made, n=5, cutoff=0.3) or list(made)[:5]
            raise unknown("value of the graph", name, near, f"These are the nearest of {len(made)}.")
        if made[name].dtype is None:
            raise ArgumentError(f"The value {name!r} has no known dtype and cannot be an output. Take its neighbour.")
        if name not in given:
            clone.graph.outputs.append(made[name])
    return clone
