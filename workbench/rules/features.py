"""What a node asks of a provider: its operator, and the features of it that the node uses.

Kernels differ in features more than in operators. The names here are those of ``Kernel.has``; a node that uses none of
them asks for the operator alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx_ir as ir

from workbench import functions
from workbench.functions import LONG_ROPE_TABLE
from workbench.rules.graph import attr, rank, use_of, value_in
from workbench.types import MS_DOMAIN, ROTARY_OFFSET_KEY, WB_DOMAIN, OpId

Asks = Callable[[ir.Node], bool]
SHAPE, IF = OpId("Shape"), OpId("If")


def _given(index: int) -> Asks:
    return lambda node: value_in(node, index) is not None


def _set(name: str) -> Asks:
    return lambda node: bool(attr(node, name, 0))


def _float_mask(node: ir.Node) -> bool:
    mask = value_in(node, 3)
    return mask is not None and mask.dtype is not None and mask.dtype.is_floating_point()


def _packed(node: ir.Node) -> bool:
    return value_in(node, 1) is None and value_in(node, 2) is None


FEATURES: Mapping[OpId, Mapping[str, Asks]] = {
    OpId("Attention"): {
        "cache": _given(4),
        "three_axes": lambda node: rank(value_in(node, 0)) == 3,
        "softcap": _set("softcap"),
        "float_mask": _float_mask,
    },
    OpId("GroupQueryAttention", MS_DOMAIN): {
        "do_rotary": _set("do_rotary"),
        "packed_qkv": _packed,
        "softcap": _set("softcap"),
        "local_window": lambda node: attr(node, "local_window_size", -1) > 0,
        "attention_bias": _given(10),
        "qk_norm": _given(14),
        "packed_qk_norm": lambda node: value_in(node, 14) is not None and _packed(node),
        "unrotated_qk_norm": lambda node: value_in(node, 14) is not None and not attr(node, "do_rotary", 0),
        "two_tables": lambda node: ROTARY_OFFSET_KEY in node.metadata_props,
        "window_cache": _set("sliding_window_cache"),
        "head_sink": _given(11),
        "smooth_softmax": lambda node: attr(node, "smooth_softmax", -1) == 1 and value_in(node, 11) is None,
    },
    OpId("MultiHeadAttention", MS_DOMAIN): {
        "bias": _given(3),
        "key_padding_mask": _given(4),
        "attention_bias": _given(5),
        "cache": _given(6),
    },
    OpId("Attention", MS_DOMAIN): {
        "mask": _given(3),
        "cache": _given(4),
        "attention_bias": _given(5),
    },
}
"""Features by operator, each with how a node shows that it uses it."""


def uses(node: ir.Node) -> frozenset[OpId]:
    """The operator of a node with the features that it uses; for a function of ours, what its body holds as well."""
    use = use_of(node)
    if use.domain == WB_DOMAIN:
        return frozenset({use, *_in_body(node, use)})
    asked = FEATURES.get(use, {})
    return frozenset({use, *(OpId(use.op_type, use.domain, name) for name, asks in asked.items() if asks(node))})


def _in_body(node: ir.Node, use: OpId) -> list[OpId]:
    if node.overload:
        return []
    found = [SHAPE] if functions.needs_shape_free_body(use) else []
    return [*found, IF] if use == LONG_ROPE_TABLE else found
