"""Graphs for the diff: tiny families as skeletons or with weights, and small ones made by hand."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from tests.families import Kind, hf_config
from workbench.build import recipe_for
from workbench.ep import get_ep
from workbench.recipe import Recipe

FLOAT = ir.DataType.FLOAT


@functools.cache
def recipe(family: str, kind: Kind = "exercise", **words: Any) -> Recipe:
    return recipe_for(hf_config(family, kind, **words), module_class=None, load_weights=False)


@functools.cache
def pair(family: str, execution_provider: str, kind: Kind = "exercise") -> tuple[ir.Model, ir.Model]:
    """The generic graph and the execution provider's, in float32 where the provider's default is not asked for."""
    ep = get_ep(execution_provider)
    package = recipe(family, kind).package(ep, ep.default_dtype)
    return next(iter(package.generic.values())), package.model


def filled(model: ir.Model, seed: int = 0) -> ir.Model:
    """A copy whose weights have values."""
    made, rng = model.clone(), np.random.default_rng(seed)
    for graph in made.graphs():
        for value in graph.initializers.values():
            if value.const_value is None or isinstance(value.const_value, ir.LazyTensor):
                shape = tuple(int(side) for side in value.shape or ())
                array = np.asarray(rng.standard_normal(shape)) * 4
                value.const_value = ir.Tensor(array.astype((value.dtype or FLOAT).numpy()), name=value.name)
    return made


def value(name: str, shape: Sequence[Any] = ("B", 4), dtype: ir.DataType = FLOAT) -> ir.Value:
    return ir.Value(name=name, type=ir.TensorType(dtype), shape=ir.Shape(shape))


def weight(name: str, array: Any) -> ir.Value:
    tensor = ir.Tensor(np.asarray(array), name=name)
    return ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=tensor.shape, const_value=tensor)


def node(op_type: str, inputs: Sequence[ir.Value | None], name: str = "", **options: Any) -> ir.Node:
    """A node whose outputs look like its first input."""
    like = next((v for v in inputs if v is not None), None)
    domain, count = options.pop("domain", ""), options.pop("outputs", 1)
    made = ir.node(op_type, inputs, options or None, domain=domain, num_outputs=count, name=name or None)
    for number, out in enumerate(made.outputs):
        out.name = f"{name or op_type}_out{number or ''}"
        if like is not None:
            out.type, out.shape = like.type, like.shape
    return made


def model(
    inputs: Sequence[ir.Value], outputs: Sequence[ir.Value], nodes: Sequence[ir.Node], weights: Sequence[ir.Value] = (),
    functions: Sequence[ir.Function] = (), opsets: dict[str, int] | None = None,
) -> ir.Model:  # fmt: skip
    graph = ir.Graph(
        inputs,
        outputs,
        nodes=nodes,
        initializers=weights,
        opset_imports=opsets or {"": 23, "com.microsoft": 1},
        name="g",
    )
    return ir.Model(graph, ir_version=10, functions=functions)


def chain(*ops: str, names: str = "") -> ir.Model:
    """``x`` through unary operators to ``y``."""
    x = value("x")
    current, nodes = x, []
    for i, op in enumerate(ops):
        nodes.append(node(op, [current], f"{names}{i}_{op}"))
        current = nodes[-1].outputs[0]
    current.name = "y"
    return model([x], [current], nodes)
