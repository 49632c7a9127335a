"""Fold: weights that a graph turns or joins become one initializer each, read lazily; what is dead goes.

A Transpose or Concat of initializers costs every session its time and a second copy of the weight. The folded weight
holds no data: it is made from the others when somebody reads it, so a package never keeps two copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
from onnx_ir.passes import common

from workbench.passes.calls import inlinable
from workbench.passes.repeated import merge_repeated
from workbench.rules.discard import Discard
from workbench.rules.recorder import Tell, quiet
from workbench.types import WB_DOMAIN
from workbench.weights.join import joined
from workbench.weights.lazy import derived, transposed

Array = npt.NDArray[Any]
Compute = Callable[[list[Array]], Array]


def fold(model: ir.Model, *, inline: bool, tell: Tell = quiet) -> None:
    """Inline semantic functions where none may stay, fold weights, drop what is dead, in place.

    Only our own functions are inlined: bodies of com.microsoft operators stand for kernels. ``tell`` is
    called after each step.
    """
    merge_repeated(model)
    tell("fold/repeated", fold)
    if inline and any(function.domain == WB_DOMAIN for function in model.functions.values()):
        fit = inlinable(model)
        common.InlinePass(criteria=lambda f: f.domain == WB_DOMAIN and f.identifier() in fit)(model)
        common.NameFixPass()(model)
    tell("fold/inline", fold)
    discard = Discard(model.graph)
    for node in list(model.graph):
        if node.domain == "" and node.op_type in _FOLDS:
            _fold_node(discard, node)
    discard.flush()
    tell("fold/weights", _fold_node)
    common.RemoveUnusedNodesPass()(model)
    common.RemoveUnusedFunctionsPass()(model)  # type: ignore[no-untyped-call]
    common.RemoveUnusedOpsetsPass()(model)
    tell("fold/unused", fold)


def _fold_node(discard: Discard, node: ir.Node) -> None:
    """Replace a node over initializers by one initializer, if nobody else reads those."""
    graph = discard.graph
    inputs = [value for value in node.inputs if value is not None]
    own = all(v.is_initializer() and len(v.uses()) == 1 and not v.is_graph_input() for v in inputs)
    out = node.outputs[0]
    if not own or not inputs or out.is_graph_output() or not _fits(node, inputs):
        return
    compute, shape = _FOLDS[node.op_type](node, inputs)
    name = _name(node, inputs)
    if name in graph.initializers:
        return
    folded = ir.Value(name=name, shape=ir.Shape(shape), type=inputs[0].type)
    tensors = [v.const_value for v in inputs]
    if all(tensor is not None for tensor in tensors):
        whole = [tensor for tensor in tensors if tensor is not None]
        in_order = _read_in_order(node, name, whole)
        folded.const_value = in_order if in_order is not None else _tensor(name, shape, whole, compute)
    graph.initializers.add(folded)
    discard.replace({out: folded})
    discard.dead(node)
    for value in inputs:
        del graph.initializers[value.name or ""]


def _fits(node: ir.Node, inputs: Sequence[ir.Value]) -> bool:
    """Whether shapes are known and the node does what its operator allows; what is not valid is left as it is."""
    ranks = {_rank(value) for value in inputs}
    if len(ranks) != 1 or None in ranks or len({value.dtype for value in inputs}) != 1:
        return False
    rank = next(iter(ranks)) or 0
    if node.op_type == "Transpose":
        given = node.attributes.get("perm")
        return given is None or sorted(given.as_ints()) == list(range(rank))
    axis = node.attributes["axis"].as_int() if "axis" in node.attributes else rank
    others = {tuple(s for i, s in enumerate(_sizes(value)) if i != axis % max(1, rank)) for value in inputs}
    return -rank <= axis < rank and len(others) == 1


def _read_in_order(node: ir.Node, name: str, tensors: Sequence[ir.TensorProtocol]) -> ir.TensorProtocol | None:
    """The folded weight as one that is written piece by piece, where there is such a form."""
    if node.op_type == "Concat":
        return joined(name, tensors, node.attributes["axis"].as_int())
    return transposed(tensors[0], name) if len(tensors[0].shape) == 2 and not _keeps_order(node) else None


def _keeps_order(node: ir.Node) -> bool:
    given = node.attributes.get("perm")
    return given is not None and list(given.as_ints()) == [0, 1]


def _tensor(
    name: str, shape: Sequence[int], tensors: Sequence[ir.TensorProtocol], compute: Compute
) -> ir.TensorProtocol:
    return derived(name, tensors[0].dtype, shape, lambda: compute([tensor.numpy() for tensor in tensors]))


def _rank(value: ir.Value) -> int | None:
    shape = value.shape
    return len(shape) if shape is not None and all(isinstance(d, int) for d in shape) else None


def _sizes(value: ir.Value) -> list[int]:
    return [int(d) for d in value.shape or ()]  # type: ignore[arg-type]


def _transpose(node: ir.Node, inputs: Sequence[ir.Value]) -> tuple[Compute, list[int]]:
    sizes = _sizes(inputs[0])
    given = node.attributes.get("perm")
    perm = list(given.as_ints()) if given is not None else list(reversed(range(len(sizes))))
    return (lambda arrays: np.ascontiguousarray(arrays[0].transpose(perm))), [sizes[i] for i in perm]


def _concat(node: ir.Node, inputs: Sequence[ir.Value]) -> tuple[Compute, list[int]]:
    axis, sizes = node.attributes["axis"].as_int(), _sizes(inputs[0])
    sizes[axis] = sum(_sizes(v)[axis] for v in inputs)
    return (lambda arrays: np.concatenate(arrays, axis=axis)), sizes


_FOLDS: dict[str, Callable[[ir.Node, Sequence[ir.Value]], tuple[Compute, list[int]]]] = {
    "Transpose": _transpose,
    "Concat": _concat,
}


def _name(node: ir.Node, inputs: Sequence[ir.Value]) -> str:
    """``x.weight`` turned: ``x.weight.T``; ``q_proj.weight`` and ``k_proj.weight`` joined: ``q_proj+k_proj.weight``."""
    names = [value.name or "" for value in inputs]
    if node.op_type == "Transpose":
        return names[0].removesuffix(".T") if names[0].endswith(".T") else f"{names[0]}.T"
    parts = [name.split(".") for name in names]
    if len({len(p) for p in parts}) > 1:
        return "+".join(names)
    return ".".join(p[0] if len(set(p)) == 1 else "+".join(p) for p in zip(*parts, strict=True))
