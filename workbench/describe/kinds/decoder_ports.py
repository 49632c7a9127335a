"""Whether the ports of a decoder are such as a decode loop can feed and read: kinds of numbers, axes, layers."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from workbench.analysis.graph_facts import GraphFacts, Port
from workbench.describe.subject import CachePair
from workbench.errors import UnsupportedError, some
from workbench.types import dtype_word

_WHOLE = (ir.DataType.INT64, ir.DataType.INT32)
_FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE)
_UNTOLD = (None, ir.DataType.UNDEFINED)
"""What has no name in a contract, and is refused where one is written."""
_RANKS = {"input_ids": (2,), "attention_mask": (2,), "position_ids": (2, 3), "logits": (2, 3)}
_AXES = {
    "input_ids": "[rows, tokens]", "attention_mask": "[rows, tokens so far]", "position_ids": "[rows, tokens]",
    "logits": "[rows, tokens, vocabulary]",
}  # fmt: skip


def check_ports(facts: GraphFacts, pairs: Sequence[CachePair]) -> None:
    """Hold the ports of a decoder against what its loop does with them.

    Raises:
        UnsupportedError: a port of another rank or dtype, ports of two numbers of rows, a layer without keys or values,
            a cache that comes back as another, caches of several lengths.
    """
    ports = {**facts.inputs, "logits": facts.outputs["logits"]}
    for name, ranks in _RANKS.items():
        if name in ports and len(ports[name].dims) not in ranks:
            raise _other(ports[name], _AXES[name])
    for name, allowed, word in (("input_ids", _WHOLE, "int64 or int32"), ("logits", _FLOATS, "a float")):
        if ports[name].dtype not in (*allowed, *_UNTOLD):
            raise _other(ports[name], word)
    for pair in pairs:
        if len(pair.past.dims) != 4:
            raise _other(pair.past, "[rows, heads, tokens, head size]")
    _check_rows([*(ports[name] for name in _RANKS if name in ports and len(ports[name].dims) == 2),
                 *(pair.past for pair in pairs)])  # fmt: skip
    _check_layers(pairs)
    _check_returned(pairs)
    _check_lengths(pairs)


def check_spelled(facts: GraphFacts) -> None:
    """Hold mask and positions against what policy graphs make: int64, a row for each row of tokens.

    Raises:
        UnsupportedError: a port of another rank or dtype.
    """
    for name in ("attention_mask", "position_ids"):
        port = facts.inputs.get(name)
        if port is not None and (port.dtype not in (*_WHOLE, *_UNTOLD) or len(port.dims) != 2):
            raise _other(port, f"int64 {_AXES[name]}")


def _other(port: Port, allowed: str) -> UnsupportedError:
    word = dtype_word(port.dtype) if port.dtype is not None else "of no dtype"
    shape = f"[{', '.join('?' if size is None else str(size) for size in port.dims)}]" if port.dims else "of no shape"
    return UnsupportedError(
        f"The graph's {port.name} is {word} {shape}, and a decode loop works with {allowed} there. Export the graph in "
        "that form, with the shapes of its inputs and outputs."
    )


def _check_rows(ports: Sequence[Port]) -> None:
    fixed = [port for port in ports if port.size(0) is not None]
    other = next((port for port in fixed if port.size(0) != fixed[0].size(0)), None)
    if other is not None:
        raise UnsupportedError(
            f"The rows of the graph's {fixed[0].name} are {fixed[0].size(0)}, those of its {other.name} "
            f"{other.size(0)}; a decode loop feeds as many to each. Export the graph with one name, or one number, "
            "for the rows of all ports."
        )


def _check_returned(pairs: Sequence[CachePair]) -> None:
    for pair in pairs:
        past, present = pair.past, pair.present
        ranks = not present.dims or len(present.dims) == len(past.dims)
        sizes = all(None in (now := (past.size(i), present.size(i))) or now[0] == now[1] for i in (0, 1, 3))
        if not ranks or not sizes or (past.dtype != present.dtype and present.dtype not in _UNTOLD):
            raise UnsupportedError(
                f"The cache comes in as {_told(past)} and leaves as {_told(present)}; what leaves comes in again in "
                "the next round, longer on its axis of tokens at most. Export the graph with one form for both."
            )


def _told(port: Port) -> str:
    word = dtype_word(port.dtype) if port.dtype is not None else "no dtype"
    return f"{port.name} {word} [{', '.join('?' if size is None else str(size) for size in port.dims)}]"


def _check_layers(pairs: Sequence[CachePair]) -> None:
    roles: dict[int, list[str]] = {}
    for pair in pairs:
        roles.setdefault(pair.layer, []).append(pair.role)
    odd = [str(layer) for layer, found in roles.items() if len(found) != 2]
    if odd:
        missing = "value" if roles[int(odd[0])] == ["key"] else "key"
        raise UnsupportedError(
            f"The cache of layer {some(odd)} has no {missing} that comes in and leaves. Export the graph with both, "
            "past_key_values.N.key and .value, present.N.key and .value."
        )


def _check_lengths(pairs: Sequence[CachePair]) -> None:
    sizes = dict.fromkeys(pair.past.size(2) for pair in pairs)
    if len(sizes) > 1 or 0 in sizes:
        told = some(["any number of" if size is None else str(size) for size in sizes])
        raise UnsupportedError(
            f"The caches of the graph have room for {told} tokens; a decode loop works with one length for all layers, "
            "or with caches that grow. Export the graph so."
        )


__all__ = ["check_ports", "check_spelled"]
