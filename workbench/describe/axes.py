"""Names for the axes that a decoder's graph leaves without one: those that its other ports give them, else our own.

Exporters name axes as they like (``batch``, ``N``, ``s0``), and some name none. A workflow speaks of an axis in
several places, and says the same in each only where its name is the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from workbench.analysis.graph_facts import GraphFacts, Port

PAST = ("past_key_values.%d.key", "past_key_values.%d.value")
PRESENT = ("present.%d.key", "present.%d.value")
BATCH, NEW, TOTAL, BEFORE = "batch_size", "sequence_length", "total_sequence_length", "past_sequence_length"
"""What our own graphs call rows, new tokens, tokens so far, and tokens in the cache."""
Sorts = tuple[str | None, ...]
_TOKENS: Mapping[str, Sorts] = {
    "input_ids": (BATCH, NEW), "attention_mask": (BATCH, TOTAL), "position_ids": (BATCH, NEW),
    "logits": (BATCH, NEW, None),
}  # fmt: skip
_CACHE: Mapping[str, Sorts] = {
    **dict.fromkeys(PAST, (BATCH, None, BEFORE, None)), **dict.fromkeys(PRESENT, (BATCH, None, TOTAL, None)),
}  # fmt: skip


def named(facts: GraphFacts) -> GraphFacts:
    """The same facts with a name for each axis of rows, of tokens, of the mask and of the cache.

    An axis that has a name or a number keeps it, and a graph that makes no logits of tokens is left as it is.
    """
    if "input_ids" not in facts.inputs or "logits" not in facts.outputs:
        return facts
    known = dict(_TOKENS)
    for template, sorts in _CACHE.items():
        known |= dict.fromkeys(facts.layers(template).values(), sorts)
    words = _words([*facts.inputs.values(), *facts.outputs.values()], known)
    sides = [
        {name: _filled(port, known, words) for name, port in side.items()} for side in (facts.inputs, facts.outputs)
    ]
    return dataclasses.replace(facts, inputs=sides[0], outputs=sides[1])


def _sorts(port: Port, known: Mapping[str, Sorts]) -> Sorts:
    """What each axis is; nothing of a port with more or fewer axes than it should have."""
    sorts = known.get(port.name, ())
    return sorts if len(sorts) == len(port.dims) else (None,) * len(port.dims)


def _words(ports: Iterable[Port], known: Mapping[str, Sorts]) -> dict[str, int | str]:
    """The graph's first name of each sort of axis, of rows also a number; our own where no port names it, unless the
    graph calls something else so."""
    words: dict[str, int | str] = {}
    taken: set[int | str | None] = set()
    for port in ports:
        taken |= set(port.dims)
        for sort, size in zip(_sorts(port, known), port.dims, strict=True):
            if sort is not None and (isinstance(size, str) or (sort == BATCH and size is not None)):
                words.setdefault(sort, size)
    return {sort: sort for sort in (BATCH, NEW, TOTAL, BEFORE) if sort not in taken} | words


def _filled(port: Port, known: Mapping[str, Sorts], words: Mapping[str, int | str]) -> Port:
    sorts = _sorts(port, known)
    dims = tuple(words.get(sort or "") if size is None else size for size, sort in zip(port.dims, sorts, strict=True))
    return dataclasses.replace(port, dims=dims)


__all__ = ["BATCH", "PAST", "PRESENT", "named"]
