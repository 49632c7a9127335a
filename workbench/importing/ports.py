"""Which port of a graph is what, by the names in a config: each port once, each layer whole, none without a feed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.analysis.graph_facts import GraphFacts, Port
from workbench.describe.subject import PAST, PRESENT
from workbench.errors import ConfigError, UnsupportedError, some
from workbench.export.subject import Subject

TOKENS = ("input_ids", "attention_mask", "position_ids")
_CACHES = (
    ("past_key_names", PAST[0]), ("past_value_names", PAST[1]),
    ("present_key_names", PRESENT[0]), ("present_value_names", PRESENT[1]),
)  # fmt: skip
Values = Mapping[str, Any]
Names = Mapping[str, str]
"""From the names that ``describe`` knows to those of the graph."""


def names_of(found: Subject, values: Values) -> Names:
    """The graph's own name of every port, by the name that ``describe`` knows it under.

    Raises:
        ConfigError: names of the config lead to no port, or twice to one, or leave a port without a feed.
        UnsupportedError: the cache is not one of keys and values apart.
    """
    assert found.facts is not None
    names = dict(_pairs(found, found.facts))
    twice = [name for name in names.values() if list(names.values()).count(name) > 1]
    if twice:
        raise ConfigError(f"The config gives the port {twice[0]!r} to two things. Correct model.decoder.inputs.")
    _check_layers(names, values)
    _check_windows(values, len(names))
    unfed = [name for name in found.facts.inputs if name not in names.values()]
    if unfed:
        raise ConfigError(
            f"{found.graph} takes {some(unfed, 3)} which the config does not name as tokens, mask, positions or cache; "
            "nobody would feed it. Export the model again, or build the graph without."
        )
    _check_ranks(found.graph, dict(caches(found.facts, names)))
    return names


def caches(facts: GraphFacts, names: Names) -> Iterator[tuple[str, Port]]:
    """The ports of the cache, by the names that ``describe`` knows."""
    for known, name in names.items():
        if known.startswith("past_key_values."):
            yield known, facts.inputs[name]
        elif known.startswith("present."):
            yield known, facts.outputs[name]


def _pairs(found: Subject, facts: GraphFacts) -> Iterator[tuple[str, str]]:
    for key in TOKENS:
        if (name := found.name(key)) in facts.inputs:
            yield key, name
    if (name := found.name("logits")) in facts.outputs:
        yield "logits", name
    for key, template in _CACHES:
        side = facts.inputs if key.startswith("past") else facts.outputs
        for layer, name in sorted(facts.layers(found.name(key)).items()):
            if name in side:
                yield template % layer, name


def _check_layers(names: Names, values: Values) -> None:
    """Each layer needs keys and values, both read and written."""
    layers = values.get("model.decoder.num_hidden_layers")
    held = [[layer for layer in range(len(names)) if template % layer in names] for _, template in _CACHES]
    wanted = list(range(layers)) if layers is not None else max(held, key=len)
    for (key, _), found in zip(_CACHES, held, strict=True):
        if found != wanted:
            side = "inputs" if key.startswith("past") else "outputs"
            missing = sorted(set(wanted) - set(found)) or found
            raise ConfigError(
                f"model.decoder.{side}.{key} leads to no {side[:-1]} of the graph for layer "
                f"{some(map(str, missing), 3)} of {len(wanted)}. Write the graph's own names with %d for the layer."
            )


def _check_windows(values: Values, most: int) -> None:
    layers, size = (values.get(f"model.decoder.sliding_window.{word}") for word in ("layers", "window_size"))
    count = values.get("model.decoder.num_hidden_layers", most)
    odd = [str(layer) for layer in layers or () if layer >= count]
    if odd:
        raise ConfigError(
            f"model.decoder.sliding_window.layers has {some(odd, 3)}; the model has {count} layers (0 to {count - 1}). "
            "Correct the list."
        )
    if layers and size is None:
        raise ConfigError(
            "model.decoder.sliding_window lists layers and no window_size. Write the number of tokens, or remove it."
        )


def _check_ranks(graph: str, ports: Mapping[str, Port]) -> None:
    odd = next((port.name for port in ports.values() if len(port.dims) != 4), None)
    if odd is not None:
        raise UnsupportedError(
            f"The cache of {graph} has ports of another rank than 4 ({odd!r}); only keys and values apart, "
            "[batch, heads, sequence, head size], are imported. Export the model in that form."
        )
