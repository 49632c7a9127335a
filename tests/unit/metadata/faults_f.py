"""Group F, the section, its targets and overlays. Artifacts stand in faults_f_artifacts.py."""

from __future__ import annotations

from typing import Any

from tests.unit.metadata.edits import Edit, Fault, all_of, copied, drop, put

_TARGET = "adapters.target_manifest.targets[0]"
_SLICE = f"{_TARGET}.output_slice"
_BARE = all_of(
    drop("pipeline"), drop("generation"), drop("profiles"), put(f"{_TARGET}.component", "model"),
)  # fmt: skip


def _second_target(**changes: Any) -> Edit:
    def edit(document: Any) -> None:
        targets = document["adapters"]["target_manifest"]["targets"]
        targets.append(targets[0] | {"id": "k0", "initializer": "k.weight"} | changes)

    return edit


def _overlay(**parameters: str) -> Edit:
    """A component that overlays one parameter, as it must be declared."""
    port = {"dtype": "float32", "rank": 1, "shape": ["n"]}
    return all_of(
        put("manifest.adapter_abis", {"onnx-genai.parameter-overlay": "1"}),
        put("comp.over", {
            "implementation": {"kind": "adapter", "abi": "onnx-genai.parameter-overlay", "version": "1"},
            "ports": {"inputs": {"i": port}, "outputs": {"o": port}},
            "contract": {"id": "onnx-genai.parameter-overlay", "version": "1",
                         "bindings": {"input": "i", "output": "o"}, "parameters": {"action": "apply", **parameters}},
        }),
    )  # fmt: skip


_GOOD = _overlay(component="lm", parameter="q.weight")

FAULTS = [
    Fault(46, "lora", put("adapters.application_capability", " "), near=put("adapters.portable_fallback", False)),
    Fault(47, "lora", put("adapters.application_capability", "onnx-genai.adapters@2"),
          near=put("adapters.discovery_fallback", "tooling_only")),
    Fault(48, "lora", put("adapters.cache.max_entries", 0), near=put("adapters.cache.max_entries", 1)),
    Fault(49, "lora", put("adapters.selection.max_adapters", 0),
          near=all_of(put("adapters.selection.max_adapters", 1), put("in.seg.contract.shape[1]", 1),
                      put("in.scl.contract.shape[1]", 1))),
    Fault(50, "lora", put("adapters.artifacts", {}), near=put("adapters.planning", {})),
    Fault(51, "lora", put("in.seg.contract.shape[1]", 3),
          near=put("in.seg.source", {"kind": "application", "name": "segments"})),
    Fault(51, "lora", put("in.cnt.contract.dtype", "int32"), near=drop("adapters.selection.active")),
    Fault(51, "lora", put("in.scl.contract.batch_layout.axis", 1), near=put("in.scl.externally_suppliable", True)),
    Fault(51, "lora", put("in.act.role.version", "1.1"), near=put("in.prompt.role.version", "1.1")),
    Fault(51, "lora", all_of(put("in.act.required", False), put("in.act.default", True)),
          near=all_of(put("in.mask.required", False), put("in.mask.default", 1))),
    Fault(52, "lora", put("adapters.selection.scales", "nope"),
          near=all_of(copied("in.scl", "in.other"), put("adapters.selection.scales", "other"))),
    # Without a workflow there is no pipeline either.
    Fault(53, "lora", all_of(_BARE, put("adapters.selection.scales", "")), near=put("adapters.planning", {}),
          also=(13,)),
    Fault(54, "lora", put(f"{_TARGET}.node_name", " "), near=drop(f"{_TARGET}.layer_index")),
    Fault(55, "lora", _second_target(id="q0"), near=_second_target()),
    Fault(56, "lora", _second_target(initializer="q.weight"),
          near=all_of(_second_target(initializer="q.weight", output_slice=None))),
    Fault(57, "lora", put(f"{_TARGET}.input_features", 0), near=put(f"{_TARGET}.input_features", 1)),
    Fault(57, "lora", put(f"{_TARGET}.output_features", 0), near=put(f"{_TARGET}.output_features", 65)),
    Fault(58, "lora", put(f"{_TARGET}.activation_dtype", "int8"), near=put(f"{_TARGET}.activation_dtype", "bf16")),
    Fault(59, "lora", put(f"{_TARGET}.rank", 0), near=drop(f"{_TARGET}.rank")),
    Fault(60, "lora", put(f"{_TARGET}.alpha", 0), near=drop(f"{_TARGET}.alpha")),
    Fault(60, "lora", put(f"{_TARGET}.alpha", float("inf")), near=put(f"{_TARGET}.alpha", None)),
    Fault(61, "lora", put(f"{_SLICE}.offset", 1), near=all_of(put(f"{_SLICE}.offset", 1), put(f"{_SLICE}.width", 63))),
    Fault(61, "lora", put(f"{_SLICE}.role", ""), near=put(f"{_SLICE}.role", "key")),
    Fault(61, "lora", put(f"{_SLICE}.rank", 0), near=put(f"{_SLICE}.rank", 4)),
    Fault(62, "lora", put(f"{_TARGET}.graph_inputs.b", "q.lora_a"), near=drop(f"{_TARGET}.graph_inputs.scale")),
    Fault(63, "lora", put(f"{_TARGET}.component", "other"), near=put(f"{_TARGET}.component", "policy")),
    Fault(64, "lora", all_of(_BARE, put(f"{_TARGET}.component", "lm")), near=drop(f"{_TARGET}.graph_inputs")),
    Fault(65, "lora", put("adapters.target_manifest.targets", []), near=_second_target()),
    Fault(95, "lora", _overlay(parameter="q.weight"), near=_GOOD),
    Fault(96, "lora", _overlay(component="lm", parameter=" "), near=_GOOD),
    Fault(97, "lora", _overlay(component="lm", parameter="zz"), near=_GOOD),
]  # fmt: skip
