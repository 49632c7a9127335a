"""Folders of ONNX Runtime GenAI with graphs as other builders make them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx

from tests.unit.export.folders import change_config, change_graph, config_of, set_in

NAMES = {
    "input_ids": "tokens", "attention_mask": "mask", "position_ids": "places", "logits": "scores",
    "past_key_values.%d.key": "old_k_%d", "past_key_values.%d.value": "old_v_%d", "present.%d.key": "new_k_%d",
    "present.%d.value": "new_v_%d",
}  # fmt: skip


def rename_ports(folder: Path, names: dict[str, str] = NAMES) -> Path:
    """The graph's ports, and the config's words for them, under other names."""
    for part in ("inputs", "outputs"):
        for key, name in config_of(folder)["model"]["decoder"][part].items():
            change_config(folder, set_in(f"model.decoder.{part}.{key}", names[name]))
    layers = range(config_of(folder)["model"]["decoder"]["num_hidden_layers"])
    every = {
        old % n if "%" in old else old: new % n if "%" in new else new for old, new in names.items() for n in layers
    }

    def change(model: onnx.ModelProto) -> None:
        for value in (*model.graph.input, *model.graph.output):
            value.name = every.get(value.name, value.name)
        for node in model.graph.node:
            node.input[:] = [every.get(name, name) for name in node.input]
            node.output[:] = [every.get(name, name) for name in node.output]

    return change_graph(folder, change)


def leave_sizes_open(model: onnx.ModelProto) -> None:
    """The last axis of the cache has a name alone, as in the graphs of ORT GenAI's builder."""
    for value in (*model.graph.input, *model.graph.output):
        dims = value.type.tensor_type.shape.dim
        if len(dims) == 4:
            dims[3].dim_param = "kv_cache_dim"


def attributes(path: Path, name: str) -> list[int]:
    """An attribute of every node that has it."""
    model = onnx.load(path, load_external_data=False)
    return [attribute.i for node in model.graph.node for attribute in node.attribute if attribute.name == name]


def dims(path: Path, keep: Callable[[str], bool]) -> dict[str, list[int | str]]:
    """Shapes of ports by name."""
    graph = onnx.load(path, load_external_data=False).graph
    return {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output) if keep(value.name)
    }  # fmt: skip
