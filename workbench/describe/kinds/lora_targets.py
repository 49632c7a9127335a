"""Weights of a graph that an adapter may change: matrices that a MatMul multiplies by, alone or packed side by side."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import onnx_ir as ir

from workbench.rules.graph import value_in
from workbench.types import dtype_word

_NAME = re.compile(r"(?P<module>.+?)\.weight(?P<turned>\.T)?")
_LAYER = re.compile(r"\.(\d+)\.")
_ROLES = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "gate_proj": "gate", "up_proj": "up"}


@dataclasses.dataclass(frozen=True)
class Place:
    """A module's part of a weight ``[width_in, width_out]``: columns ``offset`` to ``offset + width``."""

    initializer: str
    node: str
    output: str
    dtype: str
    width_in: int
    width_out: int
    role: str
    offset: int
    width: int

    @property
    def is_part(self) -> bool:
        return self.width != self.width_out

    @property
    def layer(self) -> int | None:
        found = _LAYER.search(f".{self.initializer}")
        return int(found[1]) if found else None


def places(model: ir.Model) -> dict[str, Place]:
    """Places by module (``model.layers.0.self_attn.q_proj``)."""
    found: dict[str, Place] = {}
    for node in model.graph:
        weight = value_in(node, 1) if node.op_type == "MatMul" else None
        if weight is not None and weight.is_initializer() and node.name and node.outputs[0].name:
            for module, place in _of(node, weight):
                found.setdefault(module, place)
    return found


def _of(node: ir.Node, weight: ir.Value) -> Iterator[tuple[str, Place]]:
    named, shape = _NAME.fullmatch(weight.name or ""), weight.shape
    if named is None or shape is None or len(shape) != 2 or not all(isinstance(size, int) for size in shape):
        return
    sizes = [int(size) for size in shape.numpy()]
    above, _, last = named["module"].rpartition(".")
    parts = last.split("+")
    widths = _widths(node, parts, sizes[1])
    if weight.dtype is None or widths is None:
        return
    offset = 0
    for part, width in zip(parts, widths, strict=True):
        yield f"{above}.{part}" if above else part, Place(
            str(weight.name), str(node.name), str(node.outputs[0].name), dtype_word(weight.dtype),
            sizes[0], sizes[1], _ROLES.get(part, part), offset, width,
        )  # fmt: skip
        offset += width


def _widths(node: ir.Node, parts: list[str], total: int) -> list[int] | None:
    """Columns of each part of a packed weight; None where nothing tells."""
    if len(parts) == 1:
        return [total]
    if parts == ["q_proj", "k_proj", "v_proj"]:
        heads = _heads(node)
        return None if heads is None or total % sum(heads) else [total // sum(heads) * count for count in heads]
    return [total // len(parts)] * len(parts) if total % len(parts) == 0 and parts == ["gate_proj", "up_proj"] else None


def _heads(node: ir.Node) -> list[int] | None:
    """Heads of query, key and value of the attention that the packed projection ends in."""
    seen, front = set(), [node]
    while front:
        here = front.pop(0)
        if "num_heads" in here.attributes:
            query = here.attributes["num_heads"].as_int()
            shared = here.attributes.get("kv_num_heads")
            key = query if shared is None else shared.as_int()
            return [query, key, key]
        for output in here.outputs:
            for use in output.uses():
                if id(use.node) not in seen:
                    seen.add(id(use.node))
                    front.append(use.node)
    return None


__all__ = ["Place", "places"]
