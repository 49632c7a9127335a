"""Policy graphs of a decode loop: which token comes next, which rows go on, where the cache stands.

Shapes: ``B`` rows, ``S`` new tokens, ``V`` vocabulary, ``K`` key/value heads, ``C`` slots of a cache, ``D`` head size.
Each is one graph in standard operators, small enough to read in a viewer.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from workbench.analysis.graph_facts import Port
from workbench.errors import UnsupportedError
from workbench.functions import OPSET, TOKENS_IN_CACHE
from workbench.functions.cache import BODIES

_HEADER = '<ir_version: 11, opset_import: ["" : {opset}], producer_name: "ep-workbench">'
_TYPES = {
    ir.DataType.FLOAT: "float", ir.DataType.FLOAT16: "float16", ir.DataType.BFLOAT16: "bfloat16",
}  # fmt: skip


def float_of(port: Port) -> ir.DataType:
    """The dtype of logits or of a cache.

    Raises:
        UnsupportedError: it is no float of 16 or 32 bits.
    """
    if port.dtype is None or port.dtype not in _TYPES:
        raise UnsupportedError(
            f"A small graph reads or makes {port.name!r}, which is {port.dtype}; {', '.join(_TYPES.values())} are "
            "taken. Export the graph in one of them, or leave policy out."
        )
    return port.dtype


def _graph(text: str) -> ir.Model:
    return ir.from_onnx_text(f"{_HEADER.format(opset=OPSET)}\n{text}")


def greedy(dtype: ir.DataType, *, last: bool = False) -> ir.Model:
    """``logits [B, S, V], write_indices [B], kv_lengths [B] -> token [B, 1]``: the largest logit of each row's last
    real token, which is the ``kv_lengths - write_indices``-th of the new ones. Of equal logits the first. ``last``: the
    logits are those of the last real token alone, ``[B, 1, V]``."""
    at = (
        "last_B = Sub (kv_lengths, kv_lengths)"
        if last
        else """one = Constant <value_int: int = 1> ()
        new_B = Sub (kv_lengths, write_indices)
        last_B = Sub (new_B, one)"""
    )
    return _graph(f"""greedy ({_TYPES[dtype]}[B, {1 if last else "S"}, V] logits, int64[B] write_indices,
      int64[B] kv_lengths) => (int64[B, 1] token) {{
        axes12 = Constant <value_ints: ints = [1, 2]> ()
        {at}
        last_B11 = Unsqueeze (last_B, axes12)
        last_B1V = GatherND <batch_dims = 1> (logits, last_B11)
        wide_B1V = Cast <to = 1> (last_B1V)
        token = ArgMax <axis = 2, keepdims = 0> (wide_B1V)
      }}""")


def start(shape: tuple[int, int, int], dtype: ir.DataType) -> ir.Model:
    """``input_ids [B, S] -> write_indices [B], kv_lengths [B], empty_cache [B, K, C, D]``: where a prompt is written,
    how long the cache is then, and a cache of ``shape`` (K, C, D) that holds nothing."""
    K, C, D = shape
    return _graph(f"""start (int64[B, S] input_ids)
      => (int64[B] write_indices, int64[B] kv_lengths, {_TYPES[dtype]}[B, {K}, {C}, {D}] empty_cache) {{
        zero = Constant <value_int: int = 0> ()
        nothing = Constant <value_float: float = 0.0> ()
        rest = Constant <value_ints: ints = [{K}, {C}, {D}]> ()
        B_1 = Shape <start = 0, end = 1> (input_ids)
        S_1 = Shape <start = 1, end = 2> (input_ids)
        write_indices = Expand (zero, B_1)
        kv_lengths = Expand (S_1, B_1)
        size = Concat <axis = 0> (B_1, rest)
        empty = Expand (nothing, size)
        empty_cache = Cast <to = {int(dtype)}> (empty)
      }}""")


def positions() -> ir.Model:
    """``input_ids [B, S], write_indices [B], kv_lengths [B] -> attention_mask [B, T], position_ids [B, S]``: which of
    the ``T`` slots hold a token, where ``T`` is the longest length, and the positions of the new tokens."""
    body = BODIES[TOKENS_IN_CACHE].partition("{")[2]
    return _graph(f"""positions (int64[B, S] input_ids, int64[B] write_indices, int64[B] kv_lengths)
      => (int64[B, T] attention_mask, int64[B, S] position_ids) {{ {body}""")


def advance(capacity: int) -> ir.Model:
    """``cache_lengths [B], active [B] -> kv_lengths [B], next_lengths [B]``: lengths of the cache with the new token,
    and where the next one goes. A row that has ended stays where it is, always inside the ``capacity`` slots."""
    return _graph(f"""advance (int64[B] cache_lengths, bool[B] active)
      => (int64[B] kv_lengths, int64[B] next_lengths) {{
        one = Constant <value_int: int = 1> ()
        last = Constant <value_int: int = {capacity - 1}> ()
        kv_lengths = Add (cache_lengths, one)
        step_B = Cast <to = 7> (active)
        moved_B = Add (cache_lengths, step_B)
        next_lengths = Min (moved_B, last)
      }}""")


def termination(ends: Sequence[int], capacity: int) -> ir.Model:
    """``token [B, 1], cache_lengths [B], active [B] -> next_active [B], done [B], accepted_len [B]``: a row goes on
    unless its token is one of ``ends`` or there is no slot for another; an active row has accepted one token."""
    if ends:
        ended = f"""axis1 = Constant <value_ints: ints = [1]> ()
        ends = Constant <value_ints: ints = [{", ".join(map(str, ends))}]> ()
        equal_BE = Equal (token, ends)
        equal_int_BE = Cast <to = 7> (equal_BE)
        any_B = ReduceMax <keepdims = 0> (equal_int_BE, axis1)"""
    else:
        ended = "any_B = Sub (cache_lengths, cache_lengths)"
    return _graph(f"""termination (int64[B, 1] token, int64[B] cache_lengths, bool[B] active)
      => (bool[B] next_active, bool[B] done, int64[B] accepted_len) {{
        last = Constant <value_int: int = {capacity - 1}> ()
        {ended}
        ended_B = Cast <to = 9> (any_B)
        goes_on_B = Not (ended_B)
        room_B = Less (cache_lengths, last)
        may_B = And (goes_on_B, room_B)
        next_active = And (active, may_B)
        done = Not (next_active)
        accepted_len = Cast <to = 7> (active)
      }}""")


__all__ = ["advance", "float_of", "greedy", "positions", "start", "termination"]
