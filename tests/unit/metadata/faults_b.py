"""Group B."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, add, all_of, drop, put

_CAPABILITIES = "manifest.capabilities"
_WORDS = (
    "workflow_ssa", "linear_effects", "nested_control_flow", "typed_emit", "serving_service_contract",
)  # fmt: skip
_ALONE = all_of(drop("pipeline"), drop("generation"), drop("profiles"))

FAULTS = [
    Fault(12, "dec", put("model.io", {"token_input": "ids"}), near=put("model.input_output", {"token_input": "ids"})),
    Fault(13, "dec", _ALONE, near=drop("generation")),
    Fault(14, "dec", drop(f"{_CAPABILITIES}[2]"), near=add(_CAPABILITIES, "vendor.thing")),
    Fault(14, "dec", put("steps[0].steps[2].mode", "event"),
          near=all_of(put("steps[0].steps[2].mode", "event"), add(_CAPABILITIES, "streaming_emit"))),
    Fault(15, "lora", drop(f"{_CAPABILITIES}[5]"), near=add(_CAPABILITIES, "kv_cache")),
    Fault(16, "dec", add("manifest.capabilities", "vendor.thing"), near=put("model.vocab_size", 259),
          options={"advertised": _WORDS}),
]  # fmt: skip
