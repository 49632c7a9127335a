"""RoPE tables that depend on how long a sequence is.

``LongRopeTable<original>(position_ids [B, S], short, long) -> table``: ``long`` once a position reaches ``original``,
``short`` before (all three of one shape). Its body is an If, which costs nothing; the other body a Where.

``DynamicRopeTables<theta, factor, power, original>(position_ids, exponents [D/2]) -> cos, sin [N, D/2]``: the base
grows once a sequence is longer than ``original``; ``N`` is the largest position plus one, at least
``S``: onnxruntime wants no fewer rows than new tokens, although none reads beyond the largest position.

Source: transformers 5.24, ``modeling_rope_utils.py`` (``longrope_frequency_update`` and
``_compute_dynamic_ntk_parameters``).
"""

from __future__ import annotations

from workbench.types import WB_DOMAIN, OpId

LONG_ROPE_TABLE = OpId("LongRopeTable", WB_DOMAIN)
DYNAMIC_ROPE_TABLES = OpId("DynamicRopeTables", WB_DOMAIN)

_IS_LONG = """
  original_64 = Constant <value_int: int = @original> ()
  positions = Cast <to = 7> (position_ids)
  last = ReduceMax <keepdims = 0> (positions)
  is_long = GreaterOrEqual (last, original_64)
"""

BODIES = {
    LONG_ROPE_TABLE: f"""<original> (position_ids, short, long) => (table) {{ {_IS_LONG}
  table = If (is_long) <
    then_branch = long_branch () => (long_table) {{ long_table = Identity (long) }},
    else_branch = short_branch () => (short_table) {{ short_table = Identity (short) }}
  > }}""",
    DYNAMIC_ROPE_TABLES: """<theta: float, factor: float, power: float, original: float>
  (position_ids, exponents) => (cos, sin) {
  zero = Constant <value_float: float = 0.0> ()
  one = Constant <value_float: float = 1.0> ()
  theta_f = Constant <value_float: float = @theta> ()
  factor_f = Constant <value_float: float = @factor> ()
  power_f = Constant <value_float: float = @power> ()
  original_f = Constant <value_float: float = @original> ()
  positions = Cast <to = 1> (position_ids)
  last = ReduceMax <keepdims = 0> (positions)
  length = Add (last, one)
  longest = Max (length, original_f)
  times = Mul (longest, factor_f)
  ratio = Div (times, original_f)
  less = Sub (factor_f, one)
  growth = Sub (ratio, less)
  grown = Pow (growth, power_f)
  base = Mul (theta_f, grown)
  slowness = Pow (base, exponents)
  speed = Reciprocal (slowness)
  axis1 = Constant <value_ints: ints = [1]> ()
  nothing = Sub (positions, positions)
  ones = Add (nothing, one)
  columns = ReduceSum <keepdims = 0> (ones, axis1)
  width = ReduceMax <keepdims = 0> (columns)
  rows = Max (length, width)
  steps = Range (zero, rows, one)
  steps_N1 = Unsqueeze (steps, axis1)
  angles = Mul (steps_N1, speed)
  cos = Cos (angles)
  sin = Sin (angles) }""",
}
BODIES_WITHOUT_IF = {
    LONG_ROPE_TABLE: f"""<original> (position_ids, short, long) => (table) {{ {_IS_LONG}
  table = Where (is_long, long, short) }}""",
}
