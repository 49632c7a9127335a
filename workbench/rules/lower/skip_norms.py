"""Norms with a skip input -> Add and norm, for graphs from elsewhere that hold them.

Every optional input and output is carried: ``bias`` is part of the sum, the sum may be read, and so may the statistics
where the standard's norm gives them.

Before::

    out, -, -, sum = SkipSimplifiedLayerNormalization | SkipLayerNormalization(x, skip, scale, ...)

After::

    sum = Add(x, skip)
    out = RMSNormalization | LayerNormalization(sum, scale, ...)
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, new, opset, outputs_used, required, use_of, value_in
from workbench.rules.norms import F32, NormSpelling
from workbench.types import MS_DOMAIN, OpId, Stage

SKIP_RMS, SKIP_LAYER = (OpId(f"Skip{word}LayerNormalization", MS_DOMAIN) for word in ("Simplified", ""))
ADD, RMS_NORM, LAYER_NORM = OpId("Add"), OpId("RMSNormalization"), OpId("LayerNormalization")
RMS_OPSET, LAYER_OPSET = 23, 17
"""The first versions of the standard that have these norms."""


def rewrite(site: Site) -> Rewrite:
    """``x + skip (+ bias)``, then the norm of the standard; primitives where the graph's opset has none."""
    node, layer = site.node, use_of(site.node) == SKIP_LAYER
    if not layer and (outputs_used(node, 1) or outputs_used(node, 2)):
        raise Refusal("somebody reads the mean or the deviation")
    sums = _sums(node, value_in(node, 4 if layer else 3))
    total = sums[-1].outputs[0]
    norm = _layer_norm(site, total) if layer else _rms_norm(site, total)
    replace = {node.outputs[0]: norm[-1].outputs[0]}
    replace |= {node.outputs[i]: norm[-1].outputs[i] for i in (1, 2) if outputs_used(node, i)}
    if outputs_used(node, 3):
        replace[node.outputs[3]] = total
    return Rewrite([*sums, *norm], replace)


def _sums(node: ir.Node, bias: ir.Value | None) -> list[ir.Node]:
    x, skip = required(node, 0), required(node, 1)
    found = [new(ADD, [x, skip], like=[x])]
    if bias is not None:
        found.append(new(ADD, [found[0].outputs[0], bias], like=[x]))
    return found


def _rms_norm(site: Site, total: ir.Value) -> list[ir.Node]:
    node, epsilon = site.node, attr(site.node, "epsilon", 1e-5)
    scale = required(node, 2)
    if opset(site.model) >= RMS_OPSET:
        return [new(RMS_NORM, [total, scale], like=[node.outputs[0]], axis=-1, epsilon=epsilon, stash_type=1)]
    norm = NormSpelling(total, -1, epsilon, opset(site.model))
    wide = norm.cast(total, F32, norm.shape)
    norm.scaled(norm.add("Div", [wide, norm.deviation(wide)], F32, norm.shape), scale, None, node.outputs[0])
    return norm.nodes


def _layer_norm(site: Site, total: ir.Value) -> list[ir.Node]:
    node = site.node
    if opset(site.model) < LAYER_OPSET:
        raise Refusal(f"the graph is of opset {opset(site.model)}, and the standard has the norm from {LAYER_OPSET} on")
    statistics = [(F32, None) if outputs_used(node, i) else None for i in (1, 2)]
    like: list[ir.Value | None] = [node.outputs[0], *([None, None] if any(statistics) else [])]
    made = new(
        LAYER_NORM, [total, required(node, 2), value_in(node, 3)], like=like,
        axis=-1, epsilon=attr(node, "epsilon", 1e-5), stash_type=1,
    )  # fmt: skip
    return [made]


RULE = Rule(
    name="lower/skip_norms",
    stage=Stage.LOWER,
    anchors=(SKIP_RMS, SKIP_LAYER),
    removes=frozenset({SKIP_RMS, SKIP_LAYER}),
    produces=frozenset({ADD, RMS_NORM, LAYER_NORM}),
    rewrite=rewrite,
    needs="nobody reads the statistics of a SkipSimplifiedLayerNormalization",
    pattern=f"out = {SKIP_RMS} | {SKIP_LAYER}(x, skip, scale)",
)
