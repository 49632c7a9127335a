"""Group F, rules 66 to 94: artifacts, weights and bindings."""

from __future__ import annotations

from typing import Any

from tests.unit.metadata.edits import Edit, Fault, all_of, drop, put

_RED = "adapters.artifacts.red"
_TARGET = "adapters.target_manifest.targets[0]"
_WEIGHT, _BINDING = f"{_RED}.weights[0]", f"{_RED}.bindings[0]"
_SAFE = {
    "location": "adapters/red/b.safetensors", "loader_capability": "onnx-genai.adapters.safetensors@1",
    "scale_encoding": "alpha_over_rank", "format": "safetensors",
}  # fmt: skip
_ORT = {
    "location": "adapters/red/a.onnx_adapter", "loader_capability": "onnxruntime.lora-adapter@1",
    "scale_encoding": "baked", "format": "ort_genai",
}  # fmt: skip


def _blue(**changes: Any) -> Edit:
    """A second adapter, beside the first in everything."""

    def edit(document: Any) -> None:
        artifacts = document["adapters"]["artifacts"]
        weights = [_SAFE | {"location": "adapters/blue/b.safetensors"}]
        blue = artifacts["red"] | {"index": 1, "identity": "demo.blue", "weights": weights}
        artifacts["blue"] = blue | changes

    return edit


def _weights(*weights: dict[str, Any]) -> Edit:
    return put(f"{_RED}.weights", list(weights))


def _second_binding(**changes: Any) -> Edit:
    """A second target, and a binding of it."""

    def edit(document: Any) -> None:
        targets = document["adapters"]["target_manifest"]["targets"]
        targets.append(targets[0] | {"id": "k0", "initializer": "k.weight"})
        document["adapters"]["artifacts"]["red"]["bindings"].append({"target": "k0", "weight_key": "k"} | changes)

    return edit


FAULTS = [
    Fault(66, "lora", put(f"{_RED}.identity", ""), near=put(f"{_RED}.identity", "x")),
    Fault(67, "lora", put(f"{_RED}.provenance.source", " "), near=drop(f"{_RED}.provenance")),
    Fault(68, "lora", _blue(index=0), near=_blue()),
    Fault(69, "lora", _blue(identity="demo.red"), near=_blue(identity="demo.red", version="2")),
    Fault(70, "lora", put(f"{_RED}.rank", 0), near=all_of(put(f"{_RED}.rank", 8), drop(f"{_TARGET}.rank"))),
    Fault(71, "lora", put(f"{_RED}.alpha", -8), near=all_of(put(f"{_RED}.alpha", 1), drop(f"{_TARGET}.alpha"))),
    Fault(72, "lora", put(f"{_RED}.dtype", "int4"), near=put(f"{_RED}.dtype", "fp16")),
    Fault(73, "lora", put(f"{_RED}.weights", []), near=_weights(_SAFE)),
    Fault(74, "lora", _weights(_SAFE, _SAFE), near=_weights(_SAFE, _ORT)),
    Fault(75, "lora", put(f"{_WEIGHT}.location", "adapters/blue/a.safetensors"),
          near=put(f"{_WEIGHT}.location", "adapters/red/deep/a.safetensors")),
    Fault(75, "lora", put(f"{_WEIGHT}.location", "adapters/red/../red/a.safetensors"),
          near=put(f"{_WEIGHT}.location", "adapters/red/..a.safetensors")),
    Fault(75, "lora", put(f"{_WEIGHT}.location", "/adapters/red/a.safetensors"),
          near=put(f"{_WEIGHT}.location", "adapters/red/./a.safetensors")),
    Fault(76, "lora", put(f"{_WEIGHT}.loader_capability", ""), near=_weights(_ORT)),
    Fault(77, "lora", put(f"{_WEIGHT}.loader_capability", _SAFE["loader_capability"]), near=_weights(_SAFE)),
    Fault(78, "lora", put(f"{_WEIGHT}.scale_encoding", "baked"), near=_weights(_SAFE | {"scale_encoding": "baked"})),
    Fault(79, "lora", _weights(_ORT | {"scale_encoding": "alpha_over_rank"}), near=_weights(_ORT)),
    Fault(80, "lora", drop(f"{_WEIGHT}.config_location"), near=_weights(_SAFE)),
    Fault(80, "lora", _weights(_SAFE | {"config_location": "adapters/red/c.json"}), near=_weights(_SAFE)),
    Fault(81, "lora", put(f"{_WEIGHT}.config_location", "/etc/c.json"),
          near=put(f"{_WEIGHT}.config_location", "adapters/red/etc/c.json")),
    Fault(82, "lora", put(f"{_RED}.bindings", []), near=_second_binding()),
    Fault(83, "lora", put(f"{_BINDING}.weight_key", ""), near=put(f"{_BINDING}.weight_key", ".")),
    Fault(84, "lora", _second_binding(weight_key="q"), near=_second_binding()),
    Fault(85, "lora", put(f"{_BINDING}.target", "zz"),
          near=all_of(put(f"{_BINDING}.target", "zz"), put(f"{_TARGET}.id", "zz"))),
    Fault(86, "lora", all_of(_weights(_ORT), drop(f"{_TARGET}.graph_inputs")),
          near=all_of(_weights(_SAFE), drop(f"{_TARGET}.graph_inputs"))),
    Fault(87, "lora", put(f"{_BINDING}.rank", 0), near=put(f"{_BINDING}.rank", 4)),
    Fault(88, "lora", put(f"{_BINDING}.alpha", -2), near=put(f"{_BINDING}.alpha", 8)),
    Fault(89, "lora", put(f"{_BINDING}.rank", 5), near=all_of(put(f"{_BINDING}.rank", 5), put(f"{_TARGET}.rank", 5))),
    Fault(90, "lora", put(f"{_BINDING}.alpha", 2), near=all_of(put(f"{_BINDING}.alpha", 2), drop(f"{_TARGET}.alpha"))),
    Fault(91, "lora", put(f"{_TARGET}.output_slice.rank", 2), near=put(f"{_TARGET}.output_slice.rank", 4)),
    Fault(92, "lora", put(f"{_TARGET}.output_slice.alpha", 2), near=put(f"{_TARGET}.output_slice.alpha", 8)),
    Fault(93, "lora", _second_binding(target="q0"), near=_second_binding()),
    Fault(94, "lora", put(f"{_RED}.index", 1), near=all_of(_blue(index=0), put(f"{_RED}.index", 1))),
]  # fmt: skip
