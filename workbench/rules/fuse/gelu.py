"""Arithmetic around an Erf or a Tanh that computes Gelu, in any spelling -> Gelu.

The spelling is not matched: what the nodes compute is evaluated at probe points and compared with the formula.

Before::

    inner = x / sqrt(2)            # or sqrt(2 / pi) * (x + 0.044715 * x ** 3)
    curve = Erf(inner)             # or Tanh(inner)
    out = 0.5 * x * (1 + curve)    # in any spelling

After::

    out = Gelu(x)
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.elementwise import Array, before, behind, evaluate, widens
from workbench.rules.graph import new, opset, use_of, value_in
from workbench.types import OpId, Stage

GELU, ERF, TANH = OpId("Gelu"), OpId("Erf"), OpId("Tanh")
GELU_OPSET = 20
"""The first version of the standard that has Gelu."""

PROBES = np.concatenate([np.linspace(-6, 6, 49), np.array([-0.7, -0.137, 1e-3, math.e, math.pi, 9.0])])
TOLERANCE = {ir.DataType.FLOAT16: 5e-4, ir.DataType.BFLOAT16: 4e-3}
"""What rounding the formula's constants to the dtype may change; 2e-6 in float32 (exact and tanh differ by 4.7e-4)."""

_erf = np.vectorize(math.erf, otypes=[float])
FORMULAS = {
    ERF: ("none", 0.5 * PROBES * (1 + _erf(PROBES / math.sqrt(2)))),
    TANH: ("tanh", 0.5 * PROBES * (1 + np.tanh(math.sqrt(2 / math.pi) * (PROBES + 0.044715 * PROBES**3)))),
}


@dataclasses.dataclass(frozen=True)
class _Reading:
    """``end`` as a function of ``start`` alone, at the probe points."""

    start: ir.Value
    end: ir.Value
    found: Array

    @property
    def like(self) -> ir.Value:
        """Whichever of the two says more about type and shape."""
        return self.end if self.end.type is not None else self.start

    def error(self, wanted: Array) -> float:
        if not np.isfinite(self.found).all():
            return math.inf
        return float(np.max(np.abs(self.found - wanted) / np.maximum(1, np.abs(PROBES))))


def rewrite(site: Site) -> Rewrite:
    """Replace every reading that is Gelu (two may share one Tanh); refuse with the closest that is not."""
    node = site.node
    approximate, wanted = FORMULAS[use_of(node)]
    readings = _readings(node)
    best = min(readings, key=lambda reading: reading.error(wanted))
    limit = TOLERANCE.get(best.like.dtype or site.dtype, 2e-6)
    if best.error(wanted) > limit:
        raise Refusal(_difference(best.found, wanted))
    if opset(site.model) < GELU_OPSET:
        raise Refusal(f"the graph is of opset {opset(site.model)}, and the standard has Gelu from {GELU_OPSET} on")
    found = _first_ends([reading for reading in readings if reading.error(wanted) <= limit])
    if any(widens(reading.end, reading.start) for reading in found):
        raise Refusal("a constant gives the result more axes than its input has", kind="unmatched")
    made = [new(GELU, [r.start], like=[r.like], approximate=approximate) for r in found]
    return Rewrite(made, {r.end: gelu.outputs[0] for r, gelu in zip(found, made, strict=True)})


def _first_ends(readings: list[_Reading]) -> list[_Reading]:
    """One reading for each result; none for what is only a copy of a result before it."""
    kept: dict[ir.Value, _Reading] = {}
    for reading in readings:
        if not any(evaluate(reading.end, {end: PROBES}) is not None for end in kept):
            kept[reading.end] = reading
    return list(kept.values())


def _difference(found: Array, wanted: Array) -> str:
    if not np.isfinite(found).all():
        return f"it is not finite at x = {PROBES[~np.isfinite(found)][0]:.4g}, where Gelu is"
    there = np.abs(wanted) > 1e-3
    ratio = found[there] / wanted[there]
    if np.ptp(ratio) < 1e-4 * abs(ratio[0]):
        return f"it computes {ratio[0]:.4g} times Gelu: a factor is missing, or one too many"
    at = int(np.argmax(np.abs(found - wanted) / np.maximum(1, np.abs(PROBES))))
    return f"it computes {found[at]:.5g} at x = {PROBES[at]:.4g}, where Gelu gives {wanted[at]:.5g}"


def _readings(node: ir.Node) -> list[_Reading]:
    """Results behind the anchor that depend on one value before it, and on that value beside the anchor too."""
    starts, anchor = list(before(value_in(node, 0))), node.outputs[0]
    readings = []
    for end in behind(anchor):
        for start in starts:
            beside = evaluate(end, {start: PROBES, anchor: np.full_like(PROBES, 0.37)})
            found = evaluate(end, {start: PROBES})
            if found is None or beside is None or np.ndim(beside) == 0 or np.ptp(beside) == 0:
                continue
            readings.append(_Reading(start, end, found))
    return readings


def _multiplies_its_input(node: ir.Node) -> bool:
    return bool(_readings(node))


PATTERN = """
inner = _(_)
curve = Erf | Tanh(inner)
"""

RULE = Rule(
    name="fuse/gelu",
    stage=Stage.FUSE,
    anchors=(ERF, TANH),
    looks_at=_multiplies_its_input,
    removes=frozenset({ERF, TANH}),
    produces=frozenset({GELU}),
    rewrite=rewrite,
    needs="arithmetic of one input that equals Gelu at every probe point",
    pattern=PATTERN,
)
