"""A folder as the kinds of ``describe`` look at one: its decoder under the names that they know, sizes from its config.

The graph's own names come back into the document at the end (``names``).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.analysis.graph_facts import GraphFacts, Port
from workbench.describe.subject import PAST, PRESENT, Subject
from workbench.errors import ConfigError, UnsupportedError, some
from workbench.export import subject as linted
from workbench.package import Package

if TYPE_CHECKING:
    import onnx_ir as ir

TOKENS = ("input_ids", "attention_mask", "position_ids")
_CACHES = (
    ("past_key_names", PAST[0]), ("past_value_names", PAST[1]),
    ("present_key_names", PRESENT[0]), ("present_value_names", PRESENT[1]),
)  # fmt: skip
Values = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What a config says of the model, in the words of Hugging Face; None where it is silent."""

    vocab_size: int
    max_position_embeddings: int
    head_dim: int | None
    num_attention_heads: int | None
    num_key_value_heads: int | None
    bos_token_id: int | None
    eos_token_id: tuple[int, ...]
    pad_token_id: int | None


@dataclasses.dataclass(frozen=True, eq=False)
class FolderSubject(Subject):
    """One decoder of a folder. ``names`` leads from the names that the kinds know to those of the graph."""

    facts: GraphFacts
    values: Values
    names: Mapping[str, str]
    file: str

    @functools.cached_property
    def graphs(self) -> Mapping[str, GraphFacts]:
        known = {name: own for own, name in self.names.items()}

        def under(ports: Mapping[str, Port]) -> dict[str, Port]:
            named = {known.get(name, name): port for name, port in ports.items()}
            return {name: self._sized(name, port) for name, port in named.items()}

        readers = {known.get(name, name): ops for name, ops in self.facts.readers.items()}
        facts = self.facts
        return {"model": GraphFacts(under(facts.inputs), under(facts.outputs), readers, facts.tables)}

    def _sized(self, name: str, port: Port) -> Port:
        """A port of the cache, with the numbers that the config knows and the graph leaves open."""
        if not _is_cache(name) or len(port.dims) != 4:
            return dataclasses.replace(port, name=name)
        heads, width = self.values.get(_HEADS), self.values.get(_WIDTH)
        dims = list(port.dims)
        for axis, size in ((1, heads), (3, width)):
            dims[axis] = size if size is not None and not isinstance(dims[axis], int) else dims[axis]
        return dataclasses.replace(port, name=name, dims=tuple(dims))

    @property
    def config(self) -> Any:
        """Sizes alone: the words of a whole model are not in such a folder."""
        cache = self.cache()
        return Sizes(
            vocab_size=self.values["model.vocab_size"],
            max_position_embeddings=self.values["model.context_length"],
            head_dim=self.values.get(_WIDTH) or cache[0].past.size(-1),
            num_attention_heads=self.values.get("model.decoder.num_attention_heads"),
            num_key_value_heads=self.values.get(_HEADS) or cache[0].past.size(1),
            bos_token_id=self.values.get("model.bos_token_id"),
            eos_token_id=tuple(self.values.get("model.eos_token_id", ())),
            pad_token_id=self.values.get("model.pad_token_id"),
        )

    def artifact(self, key: str) -> str:
        return self.file

    def window(self, layer: int, key: str = "model") -> int | None:
        """As the graph has it, else as the config says: an entry without layers is about all of them."""
        ops = self.graphs["model"].cache_ops(PAST[0]).get(layer, ())
        found = next((op.window for op in ops if op.window), None)
        listed = self.values.get("model.decoder.sliding_window.layers")
        said = self.values.get("model.decoder.sliding_window.window_size")
        return found or (said if not listed or layer in listed else None)

    def writes_in_place(self, key: str = "model") -> bool:
        """As far as the graph can; a config that keeps two buffers is believed."""
        return super().writes_in_place(key) and self.values.get("search.past_present_share_buffer") is not False


_WIDTH, _HEADS = "model.decoder.head_size", "model.decoder.num_key_value_heads"


def subject_of(found: linted.Subject, values: Values) -> FolderSubject:
    """The decoder of a folder whose config and files agree.

    Raises:
        ConfigError: names of the config lead to no port, or twice to one, or leave a port without a feed.
        UnsupportedError: the cache is not one of keys and values apart.
    """
    assert found.facts is not None
    names = dict(_names(found, found.facts))
    twice = [name for name in names.values() if list(names.values()).count(name) > 1]
    if twice:
        raise ConfigError(f"The config gives the port {twice[0]!r} to two things. Correct model.decoder.inputs.")
    _check_layers(names, values)
    _check_windows(values, len(names))
    fed = set(names.values())
    unfed = [name for name in found.facts.inputs if name not in fed]
    if unfed:
        raise ConfigError(
            f"{found.graph} takes {some(unfed, 3)} which the config does not name as tokens, mask, positions or cache; "
            "nobody would feed it. Export the model again, or build the graph without."
        )
    odd = next((name for known, name in names.items() if _is_cache(known) and len(_port(found, name).dims) != 4), None)
    if odd is not None:
        raise UnsupportedError(
            f"The cache of {found.graph} has ports of another rank than 4 ({odd!r}); only keys and values apart, "
            "[batch, heads, sequence, head size], are imported. Export the model in that form."
        )
    return FolderSubject(Package({}), found.facts, values, names, found.graph)


def _is_cache(known: str) -> bool:
    return known.startswith(("past_key_values.", "present."))


def _port(found: linted.Subject, name: str) -> Port:
    assert found.facts is not None
    return found.facts.inputs.get(name) or found.facts.outputs[name]


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


def with_graph(subject: FolderSubject, model: ir.Model) -> FolderSubject:
    """The same with the graph itself, for kinds that make another one of it."""
    return dataclasses.replace(subject, package=Package({"model": model}))


def _names(found: linted.Subject, facts: GraphFacts) -> Iterator[tuple[str, str]]:
    """Names that the kinds know, with the graph's own."""
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


def _check_layers(names: Mapping[str, str], values: Values) -> None:
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
