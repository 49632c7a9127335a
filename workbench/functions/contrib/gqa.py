"""GroupQueryAttention in standard operators, as ONNX Runtime's kernels compute it.

``GroupQueryAttention(query [B, S, H*D], key, value [B, S, K*D], past_key, past_value [B, K, P, D], seqlens_k [B],
total_sequence_length [1], cos_cache, sin_cache, attention_bias, head_sink, q_norm_weight, k_norm_weight)
-> output [B, S, H*D], present_key, present_value [B, K, max(P, T), D]``

Row ``b`` has ``seqlens_k[b] + 1`` real tokens once the new ones are in. Its new keys are written behind the old ones:
at 0 when all tokens are new (``S == total_sequence_length``), else at ``seqlens_k[b] + 1 - S``. Slots behind the real
tokens hold what was there before; no query looks at them. A query sees the slots up to its own, and of a window the
last few.

Features: ``cache``, ``packed_qkv``, ``do_rotary``, ``interleaved``, ``softcap``, ``local_window``, ``attention_bias``,
``head_sink``, ``smooth_softmax``, ``qk_norm``; ``without_shape`` is the same body without a Shape node.
"""

from __future__ import annotations

from workbench.functions.contrib import rotate

FEATURES = (
    "cache", "packed_qkv", "do_rotary", "interleaved", "softcap", "local_window", "attention_bias",
    "head_sink", "smooth_softmax", "qk_norm", "without_shape",
)  # fmt: skip
INPUTS = {
    "query": 0, "key": 1, "value": 2, "past_key": 3, "past_value": 4, "seqlens_k": 5, "total_sequence_length": 6,
    "cos_cache": 7, "sin_cache": 8, "attention_bias": 10, "head_sink": 11, "q_norm_weight": 14, "k_norm_weight": 15,
}  # fmt: skip
"""Where the operator has what a body takes by name."""
_OF = {
    "cache": ("past_key", "past_value"), "do_rotary": ("cos_cache", "sin_cache"),
    "attention_bias": ("attention_bias",), "head_sink": ("head_sink",), "qk_norm": ("q_norm_weight", "k_norm_weight"),
}  # fmt: skip
_ATTRIBUTES = {
    "softcap": ("softcap: float",),
    "local_window": ("local_window_size",), "qk_norm": ("qk_norm_epsilon: float",),
}  # fmt: skip


def inputs(features: frozenset[str]) -> list[str]:
    """The inputs that a variant reads, in the operator's order."""
    named = {"query", "seqlens_k", "total_sequence_length", *(n for f in features for n in _OF.get(f, ()))}
    named |= set() if "packed_qkv" in features else {"key", "value"}
    return [name for name in INPUTS if name in named]


def attributes(features: frozenset[str]) -> list[str]:
    """The attributes that every call of a variant gives."""
    more = [a for f in FEATURES if f in features for a in _ATTRIBUTES.get(f, ())]
    if "without_shape" in features:
        more += ["head_size", *["rotary_half"] * ("do_rotary" in features)]
    return ["num_heads", "kv_num_heads", "scale: float", *more]


def text(features: frozenset[str]) -> str:
    """Signature and body of the variant with these features."""
    counts = "without_shape" in features
    parts = [
        _CONSTANTS,
        _given("head_size", "D_1") + _same("D_1", "head_1") if counts else "",
        _length("query", 1, "S_1", counts),
        "\n  S = Squeeze (S_1, axis0)\n",
        ("" if counts else _PACKED_SIZE) + _SPLIT if "packed_qkv" in features else "",
        _heads("query" if "packed_qkv" not in features else "query_part", "key", "value", "packed_qkv" in features),
        _NORM if "qk_norm" in features else _same("query_BSHD", "query_normal") + _same("key_BSKD", "key_normal"),
        _POSITIONS,
        _rotated("interleaved" in features, counts) if "do_rotary" in features else _TURN,
        _cache(counts) if "cache" in features else _NO_CACHE,
        _SCORES,
        _CAP if "softcap" in features else _same("raw_BHST", "capped_BHST"),
        _BIAS if "attention_bias" in features else _same("capped_BHST", "biased_BHST"),
        _MASK,
        _WINDOW if "local_window" in features else _same("seen_BST", "visible_BST"),
        _LOWEST,
        _softmax(features),
        _OUT,
    ]
    body = "".join(parts)
    signature = f"<{', '.join(attributes(features))}> ({', '.join(inputs(features))})"
    return f"{signature} => (output, present_key, present_value) {{ {body} }}"


def _same(before: str, after: str) -> str:
    return f"\n  {after} = Identity ({before})\n"


def _heads(query: str, key: str, value: str, packed: bool) -> str:
    key, value = ("key_part", "value_part") if packed else (key, value)
    return f"""
  query_BSHD = Reshape ({query}, by_query_head)
  key_BSKD = Reshape ({key}, by_key_head)
  value_BSKD = Reshape ({value}, by_key_head)
  value_BKSD = Transpose <perm = [0, 2, 1, 3]> (value_BSKD)
"""


def _given(attribute: str, name: str) -> str:
    """A size that the call gives as a number."""
    return f"""
  {name}_number = Constant <value_int: int = @{attribute}> ()
  {name} = Unsqueeze ({name}_number, axis0)
"""


def _length(x: str, axis: int, out: str, counts: bool) -> str:
    """The size of an axis as ``[1]``, read off or counted: one number of each slot is made 1, whatever it is."""
    if not counts:
        return f"\n  {out} = Shape <start = {axis}, end = {axis + 1}> ({x})\n"
    return f"""
  {out}_numbers = Slice ({x}, axis0, one_1, rest)
  {out}_bools = Cast <to = 9> ({out}_numbers)
  {out}_true = Equal ({out}_bools, {out}_bools)
  {out}_ones = Cast <to = 7> ({out}_true)
  {out}_sums = ReduceSum <keepdims = 0> ({out}_ones, axis{axis})
  {out}_sum = ReduceMax <keepdims = 0> ({out}_sums)
  {out} = Reshape ({out}_sum, one_1)
"""


_CONSTANTS = """
  zero = Constant <value_int: int = 0> ()
  one = Constant <value_int: int = 1> ()
  axis0 = Constant <value_ints: ints = [0]> ()
  axis1 = Constant <value_ints: ints = [1]> ()
  axis2 = Constant <value_ints: ints = [2]> ()
  axis3 = Constant <value_ints: ints = [3]> ()
  one_1 = Constant <value_ints: ints = [1]> ()
  rest = Constant <value_ints: ints = [-1]> ()
  kept = Constant <value_ints: ints = [0, 0]> ()
  merged = Constant <value_ints: ints = [0, 0, -1]> ()
  H = Constant <value_int: int = @num_heads> ()
  K = Constant <value_int: int = @kv_num_heads> ()
  H_1 = Unsqueeze (H, axis0)
  K_1 = Unsqueeze (K, axis0)
  G_1 = Div (H_1, K_1)
  by_query_head = Concat <axis = 0> (kept, H_1, rest)
  by_key_head = Concat <axis = 0> (kept, K_1, rest)
"""
_PACKED_SIZE = """
  width_1 = Shape <start = 2, end = 3> (query)
  twice_1 = Add (K_1, K_1)
  heads_1 = Add (H_1, twice_1)
  head_1 = Div (width_1, heads_1)
"""
_SPLIT = """
  query_width = Mul (H_1, head_1)
  key_width = Mul (K_1, head_1)
  widths = Concat <axis = 0> (query_width, key_width, key_width)
  query_part, key_part, value_part = Split <axis = 2> (query, widths)
"""
_NORM = rotate.normalised("query_BSHD", "q_norm_weight", "query_normal", "qk_norm_epsilon") + rotate.normalised(
    "key_BSKD", "k_norm_weight", "key_normal", "qk_norm_epsilon"
)
_POSITIONS = """
  lengths = Cast <to = 7> (seqlens_k)
  lengths_B = Reshape (lengths, rest)
  real_B = Add (lengths_B, one)
  total = Cast <to = 7> (total_sequence_length)
  T_1 = Reshape (total, rest)
  all_new = Equal (S_1, T_1)
  behind_B = Sub (real_B, S_1)
  none_B = Sub (behind_B, behind_B)
  past_B = Where (all_new, none_B, behind_B)
  past_B1 = Unsqueeze (past_B, axis1)
  new_S = Range (zero, S, one)
  new_1S = Unsqueeze (new_S, axis0)
  positions_BS = Add (past_B1, new_1S)
"""
_TURN = """
  query_BHSD = Transpose <perm = [0, 2, 1, 3]> (query_normal)
  key_BKSD = Transpose <perm = [0, 2, 1, 3]> (key_normal)
"""
_FLAT = """
  query_flat = Transpose <perm = [0, 2, 1, 3]> (query_normal)
  key_flat = Transpose <perm = [0, 2, 1, 3]> (key_normal)
"""


def _rotated(interleaved: bool, counts: bool) -> str:
    both = (("query_flat", "query_BHSD"), ("key_flat", "key_BKSD"))
    half = _given("rotary_half", "half_1") if counts else ""
    return _FLAT + rotate.positioned(half=half) + "".join(rotate.rotated(x, out, interleaved) for x, out in both)


_NO_CACHE = """
  used_1 = Identity (S_1)
  present_key = Identity (key_BKSD)
  present_value = Identity (value_BKSD)
  key_BKTD = Identity (key_BKSD)
  value_BKTD = Identity (value_BKSD)
"""


def _cache(counts: bool) -> str:
    size = "" if counts else "\n  D_1 = Shape <start = 3, end = 4> (past_key)\n"
    return _length("past_key", 2, "P_1", counts) + size + _CACHE


# A slot holds an old token, a new one, or what nobody looks at; each is somewhere in past and new side by side.
_CACHE = """
  slots_1 = Max (P_1, T_1)
  both_1 = Add (P_1, S_1)
  last_1 = Sub (both_1, one_1)
  slots = Squeeze (slots_1, axis0)
  slot_T = Range (zero, slots, one)
  slot_1T = Unsqueeze (slot_T, axis0)
  old_1T = Min (slot_1T, last_1)
  shifted_1T = Add (slot_1T, P_1)
  fresh_BT = Sub (shifted_1T, past_B1)
  end_B1 = Add (past_B1, S_1)
  after_BT = GreaterOrEqual (slot_1T, past_B1)
  before_BT = Less (slot_1T, end_B1)
  is_new_BT = And (after_BT, before_BT)
  source_BT = Where (is_new_BT, fresh_BT, old_1T)
  leading = Constant <value_ints: ints = [1, 3]> ()
  source_B1T1 = Unsqueeze (source_BT, leading)
  wide = Concat <axis = 0> (one_1, K_1, one_1, D_1)
  source_BKTD = Expand (source_B1T1, wide)
  keys = Concat <axis = 2> (past_key, key_BKSD)
  values = Concat <axis = 2> (past_value, value_BKSD)
  present_key = GatherElements <axis = 2> (keys, source_BKTD)
  present_value = GatherElements <axis = 2> (values, source_BKTD)
  used_1 = Identity (T_1)
  key_BKTD = Slice (present_key, axis0, T_1, axis2)
  value_BKTD = Slice (present_value, axis0, T_1, axis2)
"""
_SCORES = """
  by_group = Concat <axis = 0> (one_1, one_1, G_1, one_1, one_1)
  flat = Concat <axis = 0> (axis0, H_1, used_1, rest)
  key_BK1TD = Unsqueeze (key_BKTD, axis2)
  value_BK1TD = Unsqueeze (value_BKTD, axis2)
  key_BKGTD = Expand (key_BK1TD, by_group)
  value_BKGTD = Expand (value_BK1TD, by_group)
  key_BHTD = Reshape (key_BKGTD, flat)
  value_BHTD = Reshape (value_BKGTD, flat)
  key_BHDT = Transpose <perm = [0, 1, 3, 2]> (key_BHTD)
  scale_f = Constant <value_float: float = @scale> ()
  scale = CastLike (scale_f, query)
  scaled_BHSD = Mul (query_BHSD, scale)
  raw_BHST = MatMul (scaled_BHSD, key_BHDT)
"""
_CAP = """
  cap_f = Constant <value_float: float = @softcap> ()
  cap = CastLike (cap_f, query)
  share_BHST = Div (raw_BHST, cap)
  bent_BHST = Tanh (share_BHST)
  capped_BHST = Mul (bent_BHST, cap)
"""
_BIAS = """
  biased_BHST = Add (capped_BHST, attention_bias)
"""
_MASK = """
  leading_axes = Constant <value_ints: ints = [0, 1]> ()
  keys_end = Squeeze (used_1, axis0)
  key_T = Range (zero, keys_end, one)
  key_11T = Unsqueeze (key_T, leading_axes)
  position_BS1 = Unsqueeze (positions_BS, axis2)
  seen_BST = LessOrEqual (key_11T, position_BS1)
"""
_WINDOW = """
  window = Constant <value_int: int = @local_window_size> ()
  oldest_BS1 = Sub (position_BS1, window)
  near_BST = Greater (key_11T, oldest_BS1)
  visible_BST = And (seen_BST, near_BST)
"""
_LOWEST = """
  visible_B1ST = Unsqueeze (visible_BST, axis1)
  lowest_f = Constant <value_float: float = -65504.0> ()
  lowest = CastLike (lowest_f, query)
  masked_BHST = Where (visible_B1ST, biased_BHST, lowest)
"""
_OUT = """
  out_BHSD = MatMul (weights_BHST, value_BHTD)
  out_BSHD = Transpose <perm = [0, 2, 1, 3]> (out_BHSD)
  output = Reshape (out_BSHD, merged)
"""
# One more column takes its share of each row's weight and has no value.
_SINK = """
  column_BHS1 = Slice (masked_BHST, axis0, one_1, axis3)
  nothing_BHS1 = Sub (column_BHS1, column_BHS1)
  {sink}
  wider = Concat <axis = 3> (masked_BHST, sink_BHS1)
  shares = Softmax <axis = -1> (wider)
  weights_BHST = Slice (shares, axis0, used_1, axis3)
"""
_SINKS = {
    "head_sink": "around = Constant <value_ints: ints = [0, 2, 3]> ()\n  sink_1H11 = Unsqueeze (head_sink, around)\n"
    "  sink_BHS1 = Add (nothing_BHS1, sink_1H11)",
    "smooth_softmax": "sink_BHS1 = Identity (nothing_BHS1)",
}


def _softmax(features: frozenset[str]) -> str:
    for name, sink in _SINKS.items():
        if name in features:
            return _SINK.format(sink=sink)
    return "\n  weights_BHST = Softmax <axis = -1> (masked_BHST)\n"
