"""MultiHeadAttention and Attention of com.microsoft in standard operators.

No cache: every query sees every key that the mask leaves.

``MultiHeadAttention(query [B, S, H*D], key, value [B, T, H*D], bias [3*H*D], key_padding_mask [B, T],
attention_bias [B or 1, H or 1, S, T]) -> output [B, S, H*D]``.
Features: ``bias``, ``key_padding_mask``, ``attention_bias``.

``Attention(input [B, S, E], weights [E, 3*H*D], bias [3*H*D], mask_index [B, T], attention_bias) -> output``: the same
on one projection, split into three. Features: ``mask``, ``attention_bias``.
"""

from __future__ import annotations

FEATURES = ("bias", "key_padding_mask", "attention_bias")
PACKED_FEATURES = ("mask", "attention_bias")
PACKED_INPUTS = {"input": 0, "weights": 1, "bias": 2, "mask_index": 3, "attention_bias": 5}
INPUTS = {"query": 0, "key": 1, "value": 2, "bias": 3, "key_padding_mask": 4, "attention_bias": 5}


def inputs(features: frozenset[str]) -> list[str]:
    """The inputs that a variant reads, in the operator's order."""
    return [name for name in INPUTS if name in ("query", "key", "value") or name in features]


def text(features: frozenset[str]) -> str:
    """Signature and body of the variant with these features."""
    whole = "bias" in features
    padding = "key_padding_mask" if "key_padding_mask" in features else ""
    body = _SIZES + (_BIAS if whole else _BARE) + _scores("query", padding, features)
    return f"<num_heads, scale: float> ({', '.join(inputs(features))}) => (output) {{ {body} }}"


def packed_inputs(features: frozenset[str]) -> list[str]:
    """The inputs of com.microsoft's Attention that a variant reads."""
    named = {"input", "weights", "bias", "attention_bias" if "attention_bias" in features else ""}
    named |= {"mask_index"} if "mask" in features else set()
    return [name for name in PACKED_INPUTS if name in named]


def packed_text(features: frozenset[str]) -> str:
    """Signature and body of a variant of com.microsoft's Attention."""
    body = _SIZES + _PROJECTED + _scores("input", "mask_index" if "mask" in features else "", features)
    return f"<num_heads, scale: float> ({', '.join(packed_inputs(features))}) => (output) {{ {body} }}"


def _scores(like: str, padding: str, features: frozenset[str]) -> str:
    added = _ADD if "attention_bias" in features else "  biased_BHST = Identity (raw_BHST)"
    padded = _PADDED.format(like=like, mask=padding) if padding else "  masked_BHST = Identity (biased_BHST)"
    return f"{_SCORES.format(like=like)}\n{added}\n{padded}\n{_OUT}"


_SIZES = """
  axis0 = Constant <value_ints: ints = [0]> ()
  kept = Constant <value_ints: ints = [0, 0]> ()
  rest = Constant <value_ints: ints = [-1]> ()
  merged = Constant <value_ints: ints = [0, 0, -1]> ()
  H = Constant <value_int: int = @num_heads> ()
  H_1 = Unsqueeze (H, axis0)
  by_head = Concat <axis = 0> (kept, H_1, rest)
"""
_BIAS = """
  query_bias, key_bias, value_bias = Split <axis = 0, num_outputs = 3> (bias)
  query_part = Add (query, query_bias)
  key_part = Add (key, key_bias)
  value_part = Add (value, value_bias)
"""
_BARE = """
  query_part = Identity (query)
  key_part = Identity (key)
  value_part = Identity (value)
"""
_PROJECTED = """
  product = MatMul (input, weights)
  projected = Add (product, bias)
  query_part, key_part, value_part = Split <axis = 2, num_outputs = 3> (projected)
"""
_SCORES = """
  query_BSHD = Reshape (query_part, by_head)
  key_BTHD = Reshape (key_part, by_head)
  value_BTHD = Reshape (value_part, by_head)
  query_BHSD = Transpose <perm = [0, 2, 1, 3]> (query_BSHD)
  key_BHDT = Transpose <perm = [0, 2, 3, 1]> (key_BTHD)
  value_BHTD = Transpose <perm = [0, 2, 1, 3]> (value_BTHD)
  scale_f = Constant <value_float: float = @scale> ()
  scale = CastLike (scale_f, {like})
  scaled_BHSD = Mul (query_BHSD, scale)
  raw_BHST = MatMul (scaled_BHSD, key_BHDT)
"""
_ADD = "  biased_BHST = Add (raw_BHST, attention_bias)"
_PADDED = """
  leading = Constant <value_ints: ints = [1, 2]> ()
  real_BT = Cast <to = 9> ({mask})
  real_B11T = Unsqueeze (real_BT, leading)
  lowest_f = Constant <value_float: float = -10000.0> ()
  lowest = CastLike (lowest_f, {like})
  masked_BHST = Where (real_B11T, biased_BHST, lowest)
"""
_OUT = """
  weights_BHST = Softmax <axis = -1> (masked_BHST)
  out_BHSD = MatMul (weights_BHST, value_BHTD)
  out_BSHD = Transpose <perm = [0, 2, 1, 3]> (out_BHSD)
  output = Reshape (out_BSHD, merged)
"""
