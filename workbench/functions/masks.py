"""Which slots may a new token look at: one node per kind of mask, bodies in standard operators.

Both take ``attention_mask [B, T]`` and ``position_ids [B, S]`` (any integer dtype) and give ``mask [B, 1, S, T]``
(bool). Slots are causal (new token ``s`` sits in slot ``T - S + s``), padding is what ``attention_mask`` says.
"""

from __future__ import annotations

from workbench.types import WB_DOMAIN, OpId

CAUSAL_MASK = OpId("CausalMask", WB_DOMAIN)
SLIDING_WINDOW_MASK = OpId("SlidingWindowMask", WB_DOMAIN)
PADDING_MASK = OpId("PaddingMask", WB_DOMAIN)
"""``PaddingMask(attention_mask [B, S]) -> mask [B, 1, S, S]``: every token sees every real one, as in encoders."""

_SEEN = """
  axis0 = Constant <value_ints: ints = [0]> ()
  axis1 = Constant <value_ints: ints = [1]> ()
  axes01 = Constant <value_ints: ints = [0, 1]> ()
  axes12 = Constant <value_ints: ints = [1, 2]> ()
  zero = Constant <value_int: int = 0> ()
  one = Constant <value_int: int = 1> ()
  S_1 = Shape <start = 1, end = 2> (position_ids)
  T_1 = Shape <start = 1, end = 2> (attention_mask)
  S = Squeeze (S_1, axis0)
  T = Squeeze (T_1, axis0)
  key_T = Range (zero, T, one)
  new_S = Range (zero, S, one)
  P = Sub (T, S)
  query_S = Add (new_S, P)
  key_1T = Unsqueeze (key_T, axis0)
  query_S1 = Unsqueeze (query_S, axis1)
  seen_ST = LessOrEqual (key_1T, query_S1)
  seen_11ST = Unsqueeze (seen_ST, axes01)
  valid_BT = Cast <to = 9> (attention_mask)
  valid_B11T = Unsqueeze (valid_BT, axes12)
"""

_SEEN_WITHOUT_SHAPE = """
  axis1 = Constant <value_ints: ints = [1]> ()
  along = Constant <value: tensor = int32 {1}> ()
  one = Constant <value: tensor = int32 {1}> ()
  mask_BT = Cast <to = 6> (attention_mask)
  zero_BT = Sub (mask_BT, mask_BT)
  ones_BT = Add (zero_BT, one)
  positions_BS = Cast <to = 6> (position_ids)
  zero_BS = Sub (positions_BS, positions_BS)
  ones_BS = Add (zero_BS, one)
  T_B1 = ReduceSum <keepdims = 1> (ones_BT, axis1)
  S_B1 = ReduceSum <keepdims = 1> (ones_BS, axis1)
  P_B1 = Sub (T_B1, S_B1)
  key_BT = CumSum (ones_BT, along)
  new_BS = CumSum (ones_BS, along)
  query_BS = Add (new_BS, P_B1)
  axes12 = Constant <value_ints: ints = [1, 2]> ()
  axes13 = Constant <value_ints: ints = [1, 3]> ()
  key_B11T = Unsqueeze (key_BT, axes12)
  query_B1S1 = Unsqueeze (query_BS, axes13)
  seen_B1ST = LessOrEqual (key_B11T, query_B1S1)
  valid_BT = Cast <to = 9> (attention_mask)
  valid_B11T = Unsqueeze (valid_BT, axes12)
"""

# The window counts real tokens, not slots: a row gives the same numbers alone, left padded or right padded. Hugging
# Face counts slots, so its own padded batches differ from the rows run alone.
_WINDOW = """
  axes13 = Constant <value_ints: ints = [1, 3]> ()
  along = Constant <value_int: int = 1> ()
  window = Constant <value_int: int = @window> ()
  ones_BT = Cast <to = 7> (attention_mask)
  count_BT = CumSum (ones_BT, along)
  key_BT = Sub (count_BT, along)
  positions_BS = Cast <to = 7> (position_ids)
  oldest_BS = Sub (positions_BS, window)
  key_B11T = Unsqueeze (key_BT, axes12)
  oldest_B1S1 = Unsqueeze (oldest_BS, axes13)
  near_B1ST = Greater (key_B11T, oldest_B1S1)
  real_B1ST = And (near_B1ST, valid_B11T)
"""

_WINDOW_WITHOUT_SHAPE = """
  window_64 = Constant <value_int: int = @window> ()
  window = Cast <to = 6> (window_64)
  count_BT = CumSum (mask_BT, along)
  real_BT = Sub (count_BT, one)
  real_B11T = Unsqueeze (real_BT, axes12)
  oldest_BS = Sub (positions_BS, window)
  oldest_B1S1 = Unsqueeze (oldest_BS, axes13)
  near_B1ST = Greater (real_B11T, oldest_B1S1)
  real_B1ST = And (near_B1ST, valid_B11T)
"""

BODIES = {
    CAUSAL_MASK: f"(attention_mask, position_ids) => (mask) {{ {_SEEN} mask = And (seen_11ST, valid_B11T) }}",
    SLIDING_WINDOW_MASK: f"<window> (attention_mask, position_ids) => (mask) {{ {_SEEN} {_WINDOW} "
    "mask = And (seen_11ST, real_B1ST) }",
    PADDING_MASK: """(attention_mask) => (mask) {
  axes12 = Constant <value_ints: ints = [1, 2]> ()
  axes13 = Constant <value_ints: ints = [1, 3]> ()
  valid_BS = Cast <to = 9> (attention_mask)
  key_B11S = Unsqueeze (valid_BS, axes12)
  query_B1S1 = Unsqueeze (valid_BS, axes13)
  any_B1S1 = Not (query_B1S1)
  all_B1S1 = Or (query_B1S1, any_B1S1)
  mask = And (key_B11S, all_B1S1) }""",
}
BODIES_WITHOUT_SHAPE = {
    CAUSAL_MASK: f"(attention_mask, position_ids) => (mask) {{ {_SEEN_WITHOUT_SHAPE} "
    "mask = And (seen_B1ST, valid_B11T) }",
    SLIDING_WINDOW_MASK: f"<window> (attention_mask, position_ids) => (mask) {{ {_SEEN_WITHOUT_SHAPE} "
    f"{_WINDOW_WITHOUT_SHAPE} mask = And (seen_B1ST, real_B1ST) }}",
}
