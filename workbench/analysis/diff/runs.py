"""Layers that differ in the same way, found by the numbers in scopes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.analysis.diff.result import Entry, Group, LayerRun, NodeInfo

_LAYER = re.compile(r"^(.+?)\.(\d+)(?=\.|$)")


def layer_of(scope: str) -> tuple[str, int] | None:
    """``model.layers.3.self_attn`` -> ``("model.layers", 3)``; None where no number stands in a scope."""
    found = _LAYER.match(scope)
    return (found[1], int(found[2])) if found and len(found[2]) < 9 else None


def layer_runs(entries: Sequence[Entry], infos: Sequence[NodeInfo], groups: Sequence[Group]) -> tuple[LayerRun, ...]:
    """Runs of every prefix that has at least two layers, the layers of each alike but for their number."""
    layers: dict[tuple[str, int], list[object]] = {}
    for entry, info in zip(entries, infos):
        layer = layer_of(info.scope)
        if layer is not None:
            rest = info.scope[len(f"{layer[0]}.{layer[1]}") :]
            layers.setdefault(layer, []).append(_abstract(entry, info, rest, groups, layer[1]))
    alike: dict[tuple[str, tuple[object, ...]], list[int]] = {}
    for (prefix, index), found in layers.items():
        alike.setdefault((prefix, tuple(sorted(found, key=repr))), []).append(index)
    prefixes = [prefix for prefix, _ in layers]
    runs = [LayerRun(p, tuple(sorted(i))) for (p, _), i in alike.items() if prefixes.count(p) > 1]
    return tuple(sorted(runs, key=lambda run: (prefixes.index(run.prefix), run.indices)))


def _abstract(entry: Entry, info: NodeInfo, rest: str, groups: Sequence[Group], index: int) -> object:
    """An entry without the number of its layer."""
    changes = tuple((c.what, c.where, _plain(c.before), _plain(c.after)) for c in entry.changes)
    rule = groups[entry.group].rule if entry.group >= 0 else ""
    return (rest, info.op, entry.status, changes, rule)


def _plain(text: str) -> str:
    """Names of values hold numbers of layers and counters, which make no difference; sizes and settings do."""
    return re.sub(r"\d+", "*", text) if re.search(r"[A-Za-z_/]", text) and "[" not in text else text
