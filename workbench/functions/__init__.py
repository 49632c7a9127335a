"""Semantic functions: a node says what a subgraph means, its body says how in standard ONNX operators.

Components emit these nodes and rules match them, so that a fusion has one spelling to know. Portable graphs keep the
functions or inline them; *lowering is another body*: the overload ``without_shape`` computes the same in int32 without
a Shape node.
"""

from __future__ import annotations

import functools

import onnx_ir as ir

from workbench.functions import cache, contrib, lengths, masks, rope
from workbench.functions.cache import FIXED_CACHE_ATTENTION, LAST_TOKEN, TOKENS_IN_CACHE
from workbench.functions.lengths import KEY_LENGTHS, MASK_BIAS, SLOT_LENGTHS
from workbench.functions.masks import CAUSAL_MASK, PADDING_MASK, SLIDING_WINDOW_MASK
from workbench.functions.rope import DYNAMIC_ROPE_TABLES, LONG_ROPE_TABLE
from workbench.types import WB_DOMAIN, OpId

__all__ = [
    "CAUSAL_MASK",
    "DYNAMIC_ROPE_TABLES",
    "FIXED_CACHE_ATTENTION",
    "INDEXED",
    "KEY_LENGTHS",
    "LAST_TOKEN",
    "LONG_ROPE_TABLE",
    "MASK_BIAS",
    "OPSET",
    "PADDING_MASK",
    "SLIDING_WINDOW_MASK",
    "SLOT_LENGTHS",
    "TOKENS_IN_CACHE",
    "WITHOUT_IF",
    "WITHOUT_SHAPE",
    "ensure",
    "function",
    "proto",
    "has_shape_free_body",
]

OPSET = 24
"""ONNX opset of every graph and body that we build: the first with a stable Attention, RMSNormalization, Swish."""

WITHOUT_SHAPE = "without_shape"
"""Overload of a semantic function whose body has no Shape node."""

WITHOUT_IF = "without_if"
"""Overload of a semantic function whose body has no If node."""

INDEXED = "indexed"
"""Overload of a function on a cache that is told where new keys and values go."""

_BODIES = {
    "": {**masks.BODIES, **lengths.BODIES, **rope.BODIES, **cache.BODIES},
    WITHOUT_SHAPE: {**masks.BODIES_WITHOUT_SHAPE, **lengths.BODIES_WITHOUT_SHAPE},
    WITHOUT_IF: rope.BODIES_WITHOUT_IF,
    INDEXED: cache.BODIES_INDEXED,
}


def has_shape_free_body(use: OpId) -> bool:
    """Whether the overload ``without_shape`` exists."""
    return use in _BODIES[WITHOUT_SHAPE]


def needs_shape_free_body(use: OpId) -> bool:
    """Whether the plain body holds a Shape node."""
    return " Shape " in _BODIES[""].get(use, "")


@functools.lru_cache(maxsize=256)
def proto(use: OpId, opset: int, overload: str) -> object:
    """The body as ONNX's own ``FunctionProto``; not to be changed."""
    from onnx import parser

    header = f'<domain: "{WB_DOMAIN}", opset_import: ["" : {opset}]>'
    body = contrib.text(use, overload) if contrib.is_contrib(use) else _BODIES[overload][use]
    return parser.parse_function(f"{header} {use.op_type} {body}")


def function(use: OpId, opset: int = OPSET, overload: str = "") -> ir.Function:
    """A fresh ``ir.Function`` with the body of a semantic function.

    The opset must be the model's own: the inliner refuses to mix them.
    """
    made = ir.serde.deserialize_function(proto(use, opset, overload))  # type: ignore[arg-type]
    return ir.Function(use.domain, use.op_type, overload, graph=made.graph, attributes=list(made.attributes.values()))


def ensure(model: ir.Model, use: OpId, overload: str = "") -> None:
    """Register the body in a model that uses the function, with the opset import of its domain."""
    key = (use.domain, use.op_type, overload)
    if key not in model.functions:
        model.functions[key] = function(use, model.graph.opset_imports[""], overload)
    model.graph.opset_imports.setdefault(use.domain, 1)
