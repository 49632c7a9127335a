"""Checkpoint tensors to parameters by a family's weight table, lazily: nothing is read before somebody reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx_ir as ir

from workbench.config.parts import AnyConfig
from workbench.models.weight_table import Array, Entry, Target, WeightTable
from workbench.weights.lazy import derived

Tensors = Mapping[str, ir.TensorProtocol]
_PREFIX, _BARE = "model.", ("embed_tokens.", "layers.")
"""What most families put before the base model's names, and how those begin without it."""
_HEADS = ("lm_head.", "score.", "embed_out.")


def convert(tensors: Tensors, table: WeightTable, config: AnyConfig) -> dict[str, ir.TensorProtocol]:
    """Parameters by our names; sources that an entry lacks are left for ``bind`` to report as missing."""
    made: dict[str, ir.TensorProtocol] = {}
    consumed: set[str] = set()
    for entry in table:
        for layer, suffix in _places(entry, config):
            names = _sources(entry, layer, suffix, tensors)
            if names is None:
                continue
            consumed.update(names)
            for target in entry.targets:
                name = target.name.replace("{i}", str(layer)) + suffix
                made[name] = _derive(name, target, [tensors[n] for n in names], config)
    return {name: tensor for name, tensor in tensors.items() if name not in consumed} | made


def _places(entry: Entry, config: AnyConfig) -> Iterator[tuple[int, str]]:
    layers = config.num_hidden_layers if any("{i}" in source for source in entry.sources) else 1
    for layer in range(layers):
        for suffix in (".weight", ".bias", ""):
            yield layer, suffix


def _sources(entry: Entry, layer: int, suffix: str, tensors: Tensors) -> list[str] | None:
    found: list[str] = []
    for source in entry.sources:
        name = source.replace("{i}", str(layer)) + suffix
        if "{e}" not in name:
            numbered = [name] if name in tensors else []
        else:
            numbered, number = [], 0
            while (candidate := name.replace("{e}", str(number))) in tensors:
                numbered.append(candidate)
                number += 1
        if not numbered:
            return None
        found += numbered
    return found


def _derive(name: str, target: Target, sources: Sequence[ir.TensorProtocol], config: AnyConfig) -> ir.TensorProtocol:
    shapes = [tuple(tensor.shape.numpy()) for tensor in sources]
    shape, dtype = target.shape(shapes, config), sources[0].dtype

    def make() -> Array:
        return np.ascontiguousarray(target.make([tensor.numpy() for tensor in sources], config))

    return derived(name, dtype, shape, make)


def without(
    tensors: Tensors, patterns: Sequence[str], prefix: str = "", strip: str = ""
) -> dict[str, ir.TensorProtocol]:
    """Tensors whose names match none of the patterns, under the names of the family's usual class.

    ``strip`` is taken from the front of names; where some have it, those without belong to a head that the base model
    lacks, and go. Where none is under ``prefix`` (a bare base model), all but the head's are put there.
    """
    if strip and any(name.startswith(strip) for name in tensors):
        tensors = {name.removeprefix(strip): tensor for name, tensor in tensors.items() if name.startswith(strip)}
    kept = {name: t for name, t in tensors.items() if not any(re.search(p, name) for p in patterns)}
    bare = any(name.startswith(_BARE) for name in kept)
    prefix = prefix or (_PREFIX if bare else "")
    if prefix and kept and not any(name.startswith(prefix) for name in kept):
        return {name if name.startswith(_HEADS) else prefix + name: tensor for name, tensor in kept.items()}
    return kept
