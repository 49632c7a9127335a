"""A cache of fixed length, and the last real token of each row.

``FixedCacheAttention(query [B, S, H*D], key, value [B, S, K*D], mask [B, 1 or H, S, T], past_key, past_value
[B, K, C, D]) -> output [B, S, H*D], present_key, present_value [B, K, C, D]``: new keys and values are written into the
``C`` slots of the old ones behind the ``T - S`` that are taken. Inputs and attributes are those of the standard's
Attention, so that a fusion tells the two apart by their names alone.

Its overload ``indexed`` takes ``write_indices [B]`` as well: the slot where each row's new keys and values begin, for
whoever keeps the cache and says where they go. ``TokensInCache(input_ids [B, S], write_indices [B], kv_lengths [B]) ->
attention_mask [B, T], position_ids [B, S]`` tells the rest of such a graph what it needs: ``T`` is the longest length.

``LastToken(hidden [B, S, E], input_ids [B, S], attention_mask [B, T]) -> last [B, 1, E]``: what stands at the last new
token of each row that is no padding; of a row without any its last slot. Its body has no Shape, and no ArgMax: CUDA
has a kernel of that for floats alone.
"""

from __future__ import annotations

from workbench.types import WB_DOMAIN, OpId

FIXED_CACHE_ATTENTION = OpId("FixedCacheAttention", WB_DOMAIN)
LAST_TOKEN = OpId("LastToken", WB_DOMAIN)
TOKENS_IN_CACHE = OpId("TokensInCache", WB_DOMAIN)

BODIES = {
    FIXED_CACHE_ATTENTION: """<q_num_heads, kv_num_heads, scale: float, softcap: float>
  (query, key, value, mask, past_key, past_value) => (output, present_key, present_value) {
  axis0 = Constant <value_ints: ints = [0]> ()
  axis2 = Constant <value_ints: ints = [2]> ()
  kept = Constant <value_ints: ints = [0, 0]> ()
  rest = Constant <value_ints: ints = [-1]> ()
  merged = Constant <value_ints: ints = [0, 0, -1]> ()
  H = Constant <value_int: int = @q_num_heads> ()
  K = Constant <value_int: int = @kv_num_heads> ()
  H_1 = Unsqueeze (H, axis0)
  K_1 = Unsqueeze (K, axis0)
  by_query_head = Concat <axis = 0> (kept, H_1, rest)
  by_key_head = Concat <axis = 0> (kept, K_1, rest)
  query_BSHD = Reshape (query, by_query_head)
  key_BSKD = Reshape (key, by_key_head)
  value_BSKD = Reshape (value, by_key_head)
  query_BHSD = Transpose <perm = [0, 2, 1, 3]> (query_BSHD)
  key_BKSD = Transpose <perm = [0, 2, 1, 3]> (key_BSKD)
  value_BKSD = Transpose <perm = [0, 2, 1, 3]> (value_BSKD)
  B_1 = Shape <start = 0, end = 1> (query)
  S_1 = Shape <start = 1, end = 2> (query)
  T_1 = Shape <start = 3, end = 4> (mask)
  taken_1 = Sub (T_1, S_1)
  taken_B = Expand (taken_1, B_1)
  present_key = TensorScatter <axis = 2> (past_key, key_BKSD, taken_B)
  present_value = TensorScatter <axis = 2> (past_value, value_BKSD, taken_B)
  key_BKTD = Slice (present_key, axis0, T_1, axis2)
  value_BKTD = Slice (present_value, axis0, T_1, axis2)
  output_BHSD = Attention <scale: float = @scale, softcap: float = @softcap> (query_BHSD, key_BKTD, value_BKTD, mask)
  output_BSHD = Transpose <perm = [0, 2, 1, 3]> (output_BHSD)
  output = Reshape (output_BSHD, merged) }""",
    LAST_TOKEN: """(hidden, input_ids, attention_mask) => (last) {
  axis0 = Constant <value_ints: ints = [0]> ()
  axis1 = Constant <value_ints: ints = [1]> ()
  axis2 = Constant <value_ints: ints = [2]> ()
  end_1 = Constant <value_ints: ints = [9223372036854775807]> ()
  one = Constant <value: tensor = int32 {1}> ()
  ids_BS = Cast <to = 6> (input_ids)
  zero_BS = Sub (ids_BS, ids_BS)
  ones_BS = Add (zero_BS, one)
  S_B = ReduceSum <keepdims = 0> (ones_BS, axis1)
  S = ReduceMax <keepdims = 0> (S_B)
  back = Neg (S)
  back_64 = Cast <to = 7> (back)
  start_1 = Unsqueeze (back_64, axis0)
  mask_BT = Cast <to = 6> (attention_mask)
  new_BS = Slice (mask_BT, start_1, end_1, axis1)
  column = Constant <value: tensor = int32 {1}> ()
  number_BS = CumSum (ones_BS, column)
  real_BS = Mul (number_BS, new_BS)
  last_B1 = ReduceMax <keepdims = 1> (real_BS, axis1)
  before_B1 = Sub (last_B1, one)
  at_B1 = Cast <to = 7> (before_B1)
  at_B11 = Unsqueeze (at_B1, axis2)
  last = GatherND <batch_dims = 1> (hidden, at_B11) }""",
    TOKENS_IN_CACHE: """(input_ids, write_indices, kv_lengths) => (attention_mask, position_ids) {
  axis0 = Constant <value_ints: ints = [0]> ()
  axis1 = Constant <value_ints: ints = [1]> ()
  zero = Constant <value_int: int = 0> ()
  one = Constant <value_int: int = 1> ()
  S_1 = Shape <start = 1, end = 2> (input_ids)
  S = Squeeze (S_1, axis0)
  new_S = Range (zero, S, one)
  new_1S = Unsqueeze (new_S, axis0)
  write_B1 = Unsqueeze (write_indices, axis1)
  position_ids = Add (write_B1, new_1S)
  T = ReduceMax <keepdims = 0> (kv_lengths)
  slot_T = Range (zero, T, one)
  slot_1T = Unsqueeze (slot_T, axis0)
  length_B1 = Unsqueeze (kv_lengths, axis1)
  real_BT = Less (slot_1T, length_B1)
  attention_mask = Cast <to = 7> (real_BT) }""",
}
BODIES_INDEXED = {
    FIXED_CACHE_ATTENTION: BODIES[FIXED_CACHE_ATTENTION]
    .replace("past_value) =>", "past_value, write_indices) =>")
    .replace("  B_1 = Shape <start = 0, end = 1> (query)\n  S_1 = Shape <start = 1, end = 2> (query)\n", "")
    .replace("  taken_1 = Sub (T_1, S_1)\n  taken_B = Expand (taken_1, B_1)\n", "")
    .replace("taken_B", "write_indices"),
}
