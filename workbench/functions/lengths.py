"""What GroupQueryAttention wants instead of a mask: lengths of the rows, and a bias where lengths are not enough.

``KeyLengths(attention_mask [B, T]) -> seqlens_k [B], total_sequence_length []`` (int32): rows are padded on the right
only, so row ``b`` holds its ``seqlens_k[b] + 1`` real tokens at the front. ``SlotLengths`` counts every slot
(``seqlens_k[b] = T - 1``) and leaves padding to ``MaskBias``, which turns a bool mask into one added to the scores.

The bias is of the given ``dtype`` (ONNX's number of it).

``T`` is counted in columns: the largest row sum would be too small when every row of a batch is padded.
"""

from __future__ import annotations

from workbench.types import WB_DOMAIN, OpId

KEY_LENGTHS = OpId("KeyLengths", WB_DOMAIN)
SLOT_LENGTHS = OpId("SlotLengths", WB_DOMAIN)
MASK_BIAS = OpId("MaskBias", WB_DOMAIN)

_COUNT = """
  axis1 = Constant <value_ints: ints = [1]> ()
  one = Constant <value: tensor = int32 {1}> ()
  mask_BT = Cast <to = 6> (attention_mask)
  zero_BT = Sub (mask_BT, mask_BT)
  ones_BT = Add (zero_BT, one)
  columns_B = ReduceSum <keepdims = 0> (ones_BT, axis1)
"""

BODIES = {
    KEY_LENGTHS: """(attention_mask) => (seqlens_k, total_sequence_length) {
  axis0 = Constant <value_ints: ints = [0]> ()
  axis1 = Constant <value_ints: ints = [1]> ()
  one = Constant <value: tensor = int32 {1}> ()
  mask_BT = Cast <to = 6> (attention_mask)
  count_B = ReduceSum <keepdims = 0> (mask_BT, axis1)
  seqlens_k = Sub (count_B, one)
  T_1 = Shape <start = 1, end = 2> (attention_mask)
  T = Squeeze (T_1, axis0)
  total_sequence_length = Cast <to = 6> (T) }""",
    SLOT_LENGTHS: f"""(attention_mask) => (seqlens_k, total_sequence_length) {{ {_COUNT}
  seqlens_k = Sub (columns_B, one)
  total_sequence_length = ReduceMax <keepdims = 0> (columns_B) }}""",
    MASK_BIAS: """<lowest: float, dtype> (mask) => (bias) {
  zero_f = Constant <value_float: float = 0.0> ()
  lowest_f = Constant <value_float: float = @lowest> ()
  zero = Cast <to: int = @dtype> (zero_f)
  low = Cast <to: int = @dtype> (lowest_f)
  bias = Where (mask, zero, low) }""",
}
BODIES_WITHOUT_SHAPE = {
    KEY_LENGTHS: f"""(attention_mask) => (seqlens_k, total_sequence_length) {{ {_COUNT}
  count_B = ReduceSum <keepdims = 0> (mask_BT, axis1)
  seqlens_k = Sub (count_B, one)
  total_sequence_length = ReduceMax <keepdims = 0> (columns_B) }}""",
}
