"""A norm of a residual sum: what the two fusions with a skip input have in common."""

from __future__ import annotations

import dataclasses

import onnx_ir as ir

from workbench.rules.base import Refusal
from workbench.rules.graph import attr, is_constant, made_by, rank, required, value_in
from workbench.types import OpId

ADD = OpId("Add")


@dataclasses.dataclass(frozen=True)
class Residual:
    """The sum, its summands, the norm's scale."""

    total: ir.Value
    x: ir.Value
    skip: ir.Value
    scale: ir.Value


def normalises_a_sum(node: ir.Node) -> bool:
    """Whether a norm reads a sum of two computed values; ``x + bias`` is a projection's end and no residual."""
    add = made_by(value_in(node, 0), ADD)
    return add is not None and not any(is_constant(value) for value in add.inputs)


def residual(node: ir.Node) -> Residual:
    """The residual sum that a norm over the last axis reads, if a kernel with a skip input computes the same.

    Raises:
        Refusal: shapes, dtypes or attributes differ from what such a kernel takes.
    """
    add = made_by(required(node, 0), ADD)
    if add is None:
        taken = required(node, 0)
        raise Refusal("another norm of the same sum has taken it already", at=taken.producer() or taken)
    x, skip, scale = required(add, 0), required(add, 1), required(node, 1)
    if x.shape is None or skip.shape is None or tuple(x.shape) != tuple(skip.shape) or rank(x) not in (2, 3):
        reason = f"the summands are not of one known shape of rank 2 or 3 ({x.shape} and {skip.shape})"
        raise Refusal(reason, at=add)
    if attr(node, "axis", -1) not in (-1, len(x.shape) - 1):
        raise Refusal("it does not normalise the last axis alone")
    if attr(node, "stash_type", 1) != ir.DataType.FLOAT:
        raise Refusal("stash_type is not float32, in which the kernel computes")
    if not (x.dtype == skip.dtype == scale.dtype == node.outputs[0].dtype):
        raise Refusal(f"summands, scale and output differ in dtype ({x.dtype}, {skip.dtype}, {scale.dtype})")
    check_vector("scale", scale)
    return Residual(add.outputs[0], x, skip, scale)


def check_vector(name: str, value: ir.Value) -> None:
    """Scale and bias of such a kernel have one axis; those of the standard's norms may have more.

    Raises:
        Refusal: this one has more, or nobody knows.
    """
    if rank(value) != 1:
        raise Refusal(f"{name} is not of rank 1 ({value.shape}), and the kernel takes no other", at=value)
