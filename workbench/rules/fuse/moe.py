"""A mixture of experts in its dense form -> MoE of com.microsoft, which computes the chosen experts only.

The kernel's softmax is over all experts and its best few are kept, as in the dense form. It wants the rows of gate and
up in turn, so the first weight is put into that order, when it is read.

Before::

    probabilities = Softmax(scores)
    best, chosen = TopK(probabilities)                       # best / sum(best), where the model does so
    weights = ScatterElements(0, chosen, best)
    gate, up = Split(MatMul(x, Transpose(gate_up)))
    out = ReduceSum(MatMul(gate * Sigmoid(gate) * up, Transpose(down)) * weights)

After::

    out = MoE(x, Reshape(scores), gate_up in turn, -, down)
"""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, is_constant, made_by, new, required, value_in
from workbench.types import MS_DOMAIN, OpId, Stage
from workbench.weights.lazy import derived

MOE = OpId("MoE", MS_DOMAIN)
REDUCE_SUM, MUL, UNSQUEEZE, TRANSPOSE, CAST = (OpId(n) for n in ("ReduceSum", "Mul", "Unsqueeze", "Transpose", "Cast"))
SCATTER, TOP_K, SOFTMAX, DIV = (OpId(n) for n in ("ScatterElements", "TopK", "Softmax", "Div"))
MATMUL, SPLIT, SIGMOID, RESHAPE = (OpId(n) for n in ("MatMul", "Split", "Sigmoid", "Reshape"))
CONSTANT = OpId("Constant")


@dataclasses.dataclass(frozen=True)
class _Router:
    scores: ir.Value
    k: int
    normalised: bool


@dataclasses.dataclass(frozen=True)
class _Experts:
    x: ir.Value
    gate_up: ir.Value
    down: ir.Value


def rewrite(site: Site) -> Rewrite:
    """The router's scores and the experts' weights, or which part of the form is another."""
    node = site.node
    summed = made_by(required(node, 0), MUL)
    scattered = _scattered(node)
    if summed is None or scattered is None:
        raise Refusal("the weighed sum of experts is not recognised", kind="unmatched")
    router, experts = _router(scattered), _experts(required(summed, 0))
    count, rows, width = _sizes(experts.gate_up, 3)
    if _sizes(experts.down, 3) != (count, width, rows // 2) or rows % 2:
        raise Refusal("the sizes of the experts' weights do not fit together", kind="unmatched", at=experts.down)
    shape = new(CONSTANT, [], like=[(ir.DataType.INT64, [2])], value=ir.tensor(np.array([-1, count], np.int64)))
    dtype = router.scores.dtype or site.dtype
    flat = new(RESHAPE, [router.scores, shape.outputs[0]], like=[(dtype, [None, count])])
    first = _in_turn(experts.gate_up, count, rows, width)
    fused = new(
        MOE, [experts.x, flat.outputs[0], first, None, experts.down], like=[node.outputs[0]],
        k=router.k, activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=int(router.normalised),
        activation_alpha=1.0, activation_beta=0.0,
    )  # fmt: skip
    return Rewrite([shape, flat, fused], {node.outputs[0]: fused.outputs[0]}, initializers=[first])


def _scattered(node: ir.Node) -> ir.Node | None:
    """Where a sum over experts has its weights from, if it is one."""
    product = made_by(value_in(node, 0), MUL)
    column = made_by(value_in(product, 1), UNSQUEEZE) if product else None
    turned = made_by(value_in(column, 0), TRANSPOSE) if column else None
    weights = value_in(turned, 0) if turned else None
    cast = made_by(weights, CAST)
    return made_by(value_in(cast, 0) if cast else weights, SCATTER)


def _router(scattered: ir.Node) -> _Router:
    """Softmax, the best few, divided by their sum or not."""
    share, best = required(scattered, 2), made_by(value_in(scattered, 1), TOP_K)
    if best is None or attr(scattered, "axis", 0) != -1 or attr(scattered, "reduction", "none") != "none":
        raise Refusal("the chosen experts are not those of a TopK", kind="unmatched", at=scattered)
    zeros = made_by(value_in(scattered, 0), MUL)
    zero = _number(value_in(zeros, 1)) if zeros else None
    if zero != 0.0:
        raise Refusal("experts that are not chosen have another weight than 0", at=scattered)
    softmax = made_by(value_in(best, 0), SOFTMAX)
    if softmax is None or attr(softmax, "axis", -1) not in (-1, 2):
        maker = required(best, 0).producer()
        made = maker.op_type if maker else "a graph input"
        raise Refusal(f"the experts' probabilities are made by {made}, and the kernel computes a softmax", at=best)
    if not attr(best, "largest", 1):
        raise Refusal("the smallest probabilities are chosen, and the kernel takes the largest", at=best)
    scores, k = required(softmax, 0), _number(value_in(best, 1))
    cast = made_by(scores, CAST)
    if k is None:
        raise Refusal("nobody knows how many experts are chosen", kind="unmatched", at=best)
    return _Router(required(cast, 0) if cast else scores, int(k), _normalised(share, best))


def _normalised(share: ir.Value, best: ir.Node) -> bool:
    if share is best.outputs[0]:
        return False
    divided = made_by(share, DIV)
    total = made_by(value_in(divided, 1), REDUCE_SUM) if divided else None
    if divided is None or total is None or {value_in(divided, 0), value_in(total, 0)} != {best.outputs[0]}:
        raise Refusal("the chosen weights are changed in another way than by dividing by their sum", at=share)
    return True


def _experts(out: ir.Value) -> _Experts:
    """``x`` through gate and up, SiLU of one times the other, and back."""
    down = made_by(out, MATMUL)
    product = made_by(value_in(down, 0), MUL) if down else None
    if down is None or product is None:
        raise Refusal("an expert is not a product of gate and up and a weight", kind="unmatched", at=out)
    gated = made_by(value_in(product, 0), MUL)
    split = made_by(value_in(product, 1), SPLIT)
    sigmoid = made_by(value_in(gated, 1), SIGMOID) if gated else None
    if gated is None or sigmoid is None or split is None:
        maker = required(product, 0).producer()
        made = maker.op_type if maker else "a graph input"
        raise Refusal(f"gates are opened by {made}, and the fused kernel does so by SiLU", at=maker or out)
    gate, up = split.outputs[0], split.outputs[1]
    if {gated.inputs[0], sigmoid.inputs[0]} != {gate} or product.inputs[1] is not up:
        raise Refusal("gate and up are not the two halves of one product", kind="unmatched", at=split)
    first = made_by(value_in(split, 0), MATMUL)
    row = made_by(value_in(first, 0), UNSQUEEZE) if first else None
    if first is None or row is None:
        raise Refusal("the experts' input is not one for all", kind="unmatched", at=split)
    return _Experts(required(row, 0), _stored(first), _stored(down))


def _stored(matmul: ir.Node) -> ir.Value:
    turned = made_by(value_in(matmul, 1), TRANSPOSE)
    weight = value_in(turned, 0) if turned else None
    if turned is None or weight is None or list(attr(turned, "perm", ())) != [0, 2, 1] or not weight.is_initializer():
        raise Refusal("the experts' weights are not stored [N, out, in]", kind="unmatched", at=matmul)
    return weight


def _sizes(weight: ir.Value, axes: int) -> tuple[int, ...]:
    sizes = tuple(weight.shape) if weight.shape is not None else ()
    if len(sizes) != axes or not all(isinstance(size, int) for size in sizes):
        raise Refusal("the sizes of the experts' weights are not known", kind="unmatched", at=weight)
    return sizes  # type: ignore[return-value]


def _in_turn(weight: ir.Value, count: int, rows: int, width: int) -> ir.Value:
    """Rows of gate and up in turn; made from the stored weight when somebody reads it, so that no copy is kept."""
    name = f"{weight.name}.in_turn"
    made = ir.Value(name=name, type=weight.type, shape=ir.Shape([count, rows, width]))
    stored = weight.const_value
    if stored is not None:

        def turned() -> np.ndarray:
            halves = stored.numpy().reshape(count, 2, rows // 2, width)
            return np.ascontiguousarray(halves.transpose(0, 2, 1, 3)).reshape(count, rows, width)

        made.const_value = derived(name, stored.dtype, [count, rows, width], turned)
    return made


def _number(value: ir.Value | None) -> float | None:
    """The one number that a constant holds."""
    if value is None or not is_constant(value):
        return None
    maker = value.producer()
    tensor = value.const_value if maker is None else attr(maker, "value", None)
    array = None if tensor is None else np.asarray(tensor.numpy()).reshape(-1)
    return float(array[0]) if array is not None and array.size == 1 else None


def _sums_experts(node: ir.Node) -> bool:
    return _scattered(node) is not None


RULE = Rule(
    name="fuse/moe",
    stage=Stage.FUSE,
    anchors=(REDUCE_SUM,),
    looks_at=_sums_experts,
    removes=frozenset(),
    produces=frozenset({MOE}),
    rewrite=rewrite,
    needs="softmax over all experts, the largest kept, SiLU gates, weights of all experts in one tensor",
    pattern="""
? scores = Cast(router)
probabilities = Softmax(scores)
zeros = Mul(probabilities, _)
weights = ScatterElements(zeros, _, _)
? narrow = Cast(weights)
turned = Transpose(narrow)
column = Unsqueeze(turned, _)
weighed = Mul(_, column)
out = ReduceSum(weighed, _)
""",
)
