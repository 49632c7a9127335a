"""RoPE and RMS norm spelled out, as text with names to fill in: graphs of older opsets have no operator for them."""

from __future__ import annotations


def positioned(tables: str = "cos_cache, sin_cache", positions: str = "positions_BS", half: str = "") -> str:
    """Rows of the tables for each token, ``cos_B1SR`` and ``sin_B1SR``, and the constants that rotating needs.

    ``half`` makes ``half_1 [1]``, the width of the tables, where it is not to be read off them.
    """
    cos, sin = tables.split(", ")
    half = half or f"half_1 = Shape <start = 1, end = 2> ({cos})"
    return f"""
  rotary_axis1 = Constant <value_ints: ints = [1]> ()
  rotary_last = Constant <value_ints: ints = [-1]> ()
  rotary_zero = Constant <value_ints: ints = [0]> ()
  rotary_end = Constant <value_ints: ints = [9223372036854775807]> ()
  {half}
  rotated_1 = Add (half_1, half_1)
  cos_BSR = Gather <axis = 0> ({cos}, {positions})
  sin_BSR = Gather <axis = 0> ({sin}, {positions})
  cos_B1SR = Unsqueeze (cos_BSR, rotary_axis1)
  sin_B1SR = Unsqueeze (sin_BSR, rotary_axis1)
"""


def rotated(x: str, out: str, interleaved: bool) -> str:
    """``x [B, H, S, D]`` rotated as ``out``; entries behind the rotated ones stay."""
    first, second = (f"{x}_odd", f"{x}_even") if interleaved else (f"{x}_low", f"{x}_high")
    text = f"""
  {x}_part = Slice ({x}, rotary_zero, rotated_1, rotary_last)
  {x}_rest = Slice ({x}, rotated_1, rotary_end, rotary_last)
"""
    if interleaved:
        text += f"""
  {x}_pairs_shape = Constant <value_ints: ints = [0, 0, 0, -1, 2]> ()
  {x}_joined_shape = Constant <value_ints: ints = [0, 0, 0, -1]> ()
  {x}_pairs = Reshape ({x}_part, {x}_pairs_shape)
  {x}_two = Constant <value_ints: ints = [1, 1]> ()
  {x}_odd_1, {x}_even_1 = Split <axis = -1> ({x}_pairs, {x}_two)
  {first} = Squeeze ({x}_odd_1, rotary_last)
  {second} = Squeeze ({x}_even_1, rotary_last)
"""
    else:
        text += f"""
  {first} = Slice ({x}_part, rotary_zero, half_1, rotary_last)
  {second} = Slice ({x}_part, half_1, rotated_1, rotary_last)
"""
    text += f"""
  {x}_a = Mul ({first}, cos_B1SR)
  {x}_b = Mul ({second}, sin_B1SR)
  {x}_c = Mul ({second}, cos_B1SR)
  {x}_d = Mul ({first}, sin_B1SR)
  {x}_real = Sub ({x}_a, {x}_b)
  {x}_imag = Add ({x}_c, {x}_d)
"""
    if not interleaved:
        return text + f"\n  {out} = Concat <axis = -1> ({x}_real, {x}_imag, {x}_rest)\n"
    return (
        text
        + f"""
  {x}_real_1 = Unsqueeze ({x}_real, rotary_last)
  {x}_imag_1 = Unsqueeze ({x}_imag, rotary_last)
  {x}_turned = Concat <axis = -1> ({x}_real_1, {x}_imag_1)
  {x}_flat = Reshape ({x}_turned, {x}_joined_shape)
  {out} = Concat <axis = -1> ({x}_flat, {x}_rest)
"""
    )


def normalised(x: str, weight: str, out: str, epsilon: str) -> str:
    """``x`` over the root of the mean of its squares, in float32, times ``weight``."""
    return f"""
  {x}_wide = Cast <to = 1> ({x})
  {x}_square = Mul ({x}_wide, {x}_wide)
  {x}_last = Constant <value_ints: ints = [-1]> ()
  {x}_mean = ReduceMean <keepdims = 1> ({x}_square, {x}_last)
  {x}_epsilon = Constant <value_float: float = @{epsilon}> ()
  {x}_sum = Add ({x}_mean, {x}_epsilon)
  {x}_root = Sqrt ({x}_sum)
  {x}_unit = Div ({x}_wide, {x}_root)
  {x}_narrow = CastLike ({x}_unit, {x})
  {out} = Mul ({x}_narrow, {weight})
"""
