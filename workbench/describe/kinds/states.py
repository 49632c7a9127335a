"""State that a loop carries from step to step: cells, their constants to begin with, and the groups that own them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.contracts import contract
from workbench.describe.state_ports import StatePort
from workbench.metadata.document.state import Append, Bounded, Replace, Reuse
from workbench.metadata.document.tensor import TensorContract

MAX_CONTEXT = "package.max_context"
LONGEST = 2**31 - 1
_LAYOUTS = {2: "bd", 3: "bch", 4: "bhfv"}
"""Words for a state without a sequence, by rank. Source: the reference's own examples of recurrent groups."""
Contracts = Mapping[str, TensorContract]


def seed(builder: WorkflowBuilder, made: TensorContract) -> str:
    """The name of a constant of zeros like this; one for all cells of the same shape."""
    wanted = (made.dtype, made.shape)
    found = next(
        (name for name, entry in builder.inputs.items()
         if name.startswith("package.no_state") and (entry.contract.dtype, entry.contract.shape) == wanted), None,
    )  # fmt: skip
    count = sum(name.startswith("package.no_state") for name in builder.inputs)
    return found or builder.literal(f"package.no_state.{count}", made, 0.0)


def up_to_context(builder: WorkflowBuilder, axis: int, longest: int = LONGEST) -> Bounded:
    """An axis that gets longer with the text, up to ``longest`` tokens of prompt and answer.

    It is not ``growing``: an increment is a constant from before the loop (rule 211), and the first step of a decode
    loop takes the whole prompt while each later one takes a token.
    """
    if MAX_CONTEXT not in builder.inputs:
        builder.literal(MAX_CONTEXT, contract("int64", 1, batch=None), longest)
    return Bounded(kind="bounded", axis=axis, max=MAX_CONTEXT)


def add_cache(
    builder: WorkflowBuilder, component: str, ports: Iterable[StatePort], inputs: Contracts,
    *, group: str = "full_attention", kind: str = "full_attention", prefix: str = "", **words: Any,
) -> dict[str, str]:  # fmt: skip
    """Keys and values that grow by what a step reads; the cell of each input port."""
    said = {"reuse": Reuse(prefix_reusable=True), **words}
    builder.group(group, kind, "bnsh", sequence_axis=2, update=Append(kind="append"), **said)
    cells = {}
    for port in ports:
        made = inputs[port.input]
        cell = builder.cell(
            f"{prefix}cache.{port.layer or 0}.{port.role}", made, seed(builder, made), group=group,
            recurrence=up_to_context(builder, 2),
        )  # fmt: skip
        builder.alias(group, component, cell, port.input, port.output, role=port.role, layer=port.layer or 0)
        cells[port.input] = cell
    return cells


def add_recurrent(
    builder: WorkflowBuilder, component: str, ports: Iterable[StatePort], inputs: Contracts,
    *, prefix: str = "", **words: Any,
) -> dict[str, str]:  # fmt: skip
    """States that every step replaces as a whole, a group for each sort; the cell of each input port."""
    cells = {}
    for port in ports:
        sort, made = prefix + sort_of(port), inputs[port.input]
        if sort not in builder.groups:
            layout = _LAYOUTS.get(made.rank, "b" + "x" * max(made.rank - 1, 0))
            builder.group(sort, "recurrent", layout, update=Replace(kind="replace"), **words)
        layer = "" if port.layer is None else f".{port.layer}"
        cell = builder.cell(f"{sort}{layer}", made, seed(builder, made), group=sort)
        builder.alias(sort, component, cell, port.input, port.output, layer=port.layer)
        cells[port.input] = cell
    return cells


def sort_of(port: StatePort) -> str:
    """The word for a state: its name without the layer and without what says that it is of the past."""
    words = [word for word in re.split(r"[._]", port.input) if word not in ("past", "key", "values", "in")]
    return "_".join(word for word in words if not word.isdigit()) or "state"


__all__ = ["LONGEST", "MAX_CONTEXT", "add_cache", "add_recurrent", "seed", "sort_of", "up_to_context"]
