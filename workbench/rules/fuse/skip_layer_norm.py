"""LayerNormalization(Add(x, skip)) -> SkipLayerNormalization, the sum as its fourth output.

Before::

    sum = Add(x, skip)
    out = LayerNormalization(sum, scale, bias)

After::

    out, -, -, sum = SkipLayerNormalization(x, skip, scale, bias)
"""

from __future__ import annotations

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, new, outputs_used, value_in
from workbench.rules.residual import ADD, check_vector, normalises_a_sum, residual
from workbench.types import MS_DOMAIN, OpId, Stage

SKIP, LAYER_NORM = OpId("SkipLayerNormalization", MS_DOMAIN), OpId("LayerNormalization")


def rewrite(site: Site) -> Rewrite:
    """Take the residual sum into the norm; its bias, where it has one, is the kernel's ``beta``."""
    node, found, beta = site.node, residual(site.node), value_in(site.node, 2)
    if beta is not None:
        if beta.dtype != found.scale.dtype:
            raise Refusal(f"scale and bias differ in dtype ({found.scale.dtype} and {beta.dtype})")
        check_vector("bias", beta)
    if outputs_used(node, 1) or outputs_used(node, 2):
        raise Refusal("somebody reads the mean or the deviation, which the kernels do not give")
    fused = new(
        SKIP, [found.x, found.skip, found.scale, beta], like=[node.outputs[0], None, None, found.total],
        epsilon=attr(node, "epsilon", 1e-5),
    )  # fmt: skip
    for unused in fused.outputs[1:3]:
        unused.name = ""  # absent outputs have an empty name
    return Rewrite([fused], {node.outputs[0]: fused.outputs[0], found.total: fused.outputs[3]})


PATTERN = """
sum = Add(x, skip)
out = LayerNormalization(sum, scale, bias?)
"""

RULE = Rule(
    name="fuse/skip_layer_norm",
    stage=Stage.FUSE,
    anchors=(LAYER_NORM,),
    looks_at=normalises_a_sum,
    removes=frozenset({LAYER_NORM, ADD}),
    produces=frozenset({SKIP}),
    rewrite=rewrite,
    needs="both summands are computed and have the shape and dtype of the sum; scale and bias have one axis",
    pattern=PATTERN,
)
