"""Norms, activations and rotation of com.microsoft in a few standard operators each.

Features: of norms ``beta``, ``bias``, ``sum``; of FastGelu ``bias``; of RotaryEmbedding ``spelled``, ``interleaved``,
``three_axes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.functions.contrib import rotate


def _skip_rms_norm(features: frozenset[str]) -> str:
    return _skip(features, "RMSNormalization", "total, gamma", "input, skip, gamma")


def _skip_layer_norm(features: frozenset[str]) -> str:
    beta = ", beta" if "beta" in features else ""
    return _skip(features, "LayerNormalization", f"total, gamma{beta}", f"input, skip, gamma{beta}")


def _skip(features: frozenset[str], norm: str, of: str, inputs: str) -> str:
    """``norm(input + skip (+ bias))``; the sum is a second output of the function where somebody reads it."""
    whole = "bias" in features
    inputs, outputs = inputs + (", bias" if whole else ""), "output, sum" if "sum" in features else "output"
    total = "both = Add (input, skip)\n  total = Add (both, bias)" if whole else "total = Add (input, skip)"
    return f"""<epsilon: float> ({inputs}) => ({outputs}) {{
  {total}
  output = {norm} <axis = -1, epsilon: float = @epsilon, stash_type = 1> ({of})
  {"sum = Identity (total)" if "sum" in features else ""} }}"""


def _rotary(features: frozenset[str]) -> str:
    """The standard's operator; ``spelled`` for opsets that have none."""
    if "spelled" not in features:
        return """<interleaved, rotary_embedding_dim, num_heads> (x, positions, cos, sin) => (y) {
  y = RotaryEmbedding <interleaved: int = @interleaved, rotary_embedding_dim: int = @rotary_embedding_dim,
    num_heads: int = @num_heads> (x, cos, sin, positions) }"""
    turned = rotate.rotated("x_BHSD", "y_BHSD", "interleaved" in features)
    body = rotate.positioned("cos, sin", "positions") + (_APART if "three_axes" in features else _AS_IT_IS)
    joined = _JOINED if "three_axes" in features else "\n  y = Identity (y_BHSD)\n"
    return f"<num_heads> (x, positions, cos, sin) => (y) {{ {body} {turned} {joined} }}"


_AS_IT_IS = "\n  x_BHSD = Identity (x)\n"
_APART = """
  heads = Constant <value_int: int = @num_heads> ()
  heads_1 = Unsqueeze (heads, rotary_zero)
  kept = Constant <value_ints: ints = [0, 0]> ()
  by_head = Concat <axis = 0> (kept, heads_1, rotary_last)
  x_BSHD = Reshape (x, by_head)
  x_BHSD = Transpose <perm = [0, 2, 1, 3]> (x_BSHD)
"""
_JOINED = """
  y_BSHD = Transpose <perm = [0, 2, 1, 3]> (y_BHSD)
  merged = Constant <value_ints: ints = [0, 0, -1]> ()
  y = Reshape (y_BSHD, merged)
"""


def _gelu(features: frozenset[str]) -> str:
    return "(x) => (y) { y = Gelu (x) }"


def _bias_gelu(features: frozenset[str]) -> str:
    return "(x, bias) => (y) { biased = Add (x, bias)\n  y = Gelu (biased) }"


def _fast_gelu(features: frozenset[str]) -> str:
    if "bias" in features:
        return '(x, bias) => (y) { biased = Add (x, bias)\n  y = Gelu <approximate = "tanh"> (biased) }'
    return '(x) => (y) { y = Gelu <approximate = "tanh"> (x) }'


TEXTS: Mapping[str, Callable[[frozenset[str]], str]] = {
    "SkipSimplifiedLayerNormalization": _skip_rms_norm,
    "SkipLayerNormalization": _skip_layer_norm,
    "RotaryEmbedding": _rotary,
    "Gelu": _gelu,
    "BiasGelu": _bias_gelu,
    "FastGelu": _fast_gelu,
}
