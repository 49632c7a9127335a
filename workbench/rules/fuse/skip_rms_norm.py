"""RMSNormalization(Add(x, skip)) -> SkipSimplifiedLayerNormalization, the sum as its fourth output."""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, made_by, new, rank, required, value_in
from workbench.types import MS_DOMAIN, OpId, Stage

SKIP, RMS_NORM, ADD = OpId("SkipSimplifiedLayerNormalization", MS_DOMAIN), OpId("RMSNormalization"), OpId("Add")


def rewrite(site: Site) -> Rewrite:
    """Take the residual sum into the norm; whoever else reads the sum reads the fourth output."""
    node = site.node
    add = made_by(required(node, 0), ADD)
    if add is None:
        raise Refusal("another norm of the same sum has taken it already")
    x, skip, scale = required(add, 0), required(add, 1), required(node, 1)
    if x.shape is None or skip.shape is None or tuple(x.shape) != tuple(skip.shape) or rank(x) not in (2, 3):
        raise Refusal(f"the summands are not of one known shape of rank 2 or 3 ({x.shape} and {skip.shape})")
    if attr(node, "axis", -1) not in (-1, len(x.shape) - 1):
        raise Refusal("it does not normalise the last axis alone")
    if attr(node, "stash_type", 1) != ir.DataType.FLOAT:
        raise Refusal("stash_type is not float32, in which the kernel computes")
    if not (x.dtype == skip.dtype == scale.dtype == node.outputs[0].dtype):
        raise Refusal(f"summands, scale and output differ in dtype ({x.dtype}, {skip.dtype}, {scale.dtype})")
    total = add.outputs[0]
    fused = new(SKIP, [x, skip, scale], like=[node.outputs[0], None, None, total], epsilon=attr(node, "epsilon", 1e-5))
    for unused in fused.outputs[1:3]:
        unused.name = ""  # absent outputs have an empty name
    return Rewrite([fused], {node.outputs[0]: fused.outputs[0], total: fused.outputs[3]})


def _normalises_a_sum(node: ir.Node) -> bool:
    return made_by(value_in(node, 0), ADD) is not None


RULE = Rule(
    name="fuse/skip_rms_norm",
    stage=Stage.FUSE,
    anchors=(RMS_NORM,),
    looks_at=_normalises_a_sum,
    removes=frozenset({RMS_NORM, ADD}),
    produces=frozenset({SKIP}),
    rewrite=rewrite,
    needs="both summands have the shape and dtype of the sum",
)
