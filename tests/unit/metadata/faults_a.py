"""Group A, what an edit of data can break; texts that are no data stand in test_reading.py."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, all_of, drop, put

_IO = {"optional_inputs": {"a": {"presence": "", "absent": {"kind": "zeros", "shape": [0]}}}}
_NAMED_IO = {"optional_inputs": {"a": {"presence": "b", "absent": {"kind": "zeros", "shape": [0]}}}}
_FILE = {"kind": "artifact", "path": "mask.bin"}
_BARE = drop("pipeline")

FAULTS = [
    Fault(2, "dec", put("scheduler", {}), near=put("hardware_requirements", {})),
    Fault(3, "dec", put("steps[0].phase", "decode"), near=put("model.phase", "decode")),
    Fault(3, "dec", put("serving.state_service.groups.kv.page", 16), near=put("generation.defaults.page", 16)),
    Fault(
        3, "dec", put("in.prompt.source.name", "x"), near=put("in.mask.source.name", "x"), severity="warning"
    ),  # fmt: skip
    Fault(4, "dec", drop("state.done.initializer"), near=drop("model.vocab_size")),
    Fault(4, "dec", drop("in.prompt.source.kind"), near=drop("package.tokenizer")),
    Fault(5, "dec", put("groups.kv.aliasing", "maybe"), near=put("groups.kv.aliasing", "required")),
    Fault(6, "dec", put("steps[0].steps[0].kind", "transfer"), near=put("in.mask.source", _FILE)),
    Fault(7, "dec", put("required_capabilities", "kv_cache"), near=put("required_capabilities", ["kv_cache"])),
    Fault(7, "dec", put("model.vocab_size", 258.5), near=put("model.vocab_size", 259)),
    Fault(7, "dec", put("model.vocab_size", True), near=put("generation.defaults.temperature", 1)),
    Fault(8, "dec", put("in.prompt.contract.shape[1]", -1), near=put("in.prompt.contract.shape[1]", 0)),
    Fault(9, "dec", put("in.prompt.contract.shape[1]", ""), near=put("in.prompt.contract.shape[1]", " ")),
    Fault(
        10, "dec", all_of(_BARE, put("model.io", _IO)),
        near=put("model.io_of_old_packages", _NAMED_IO),
    ),
    Fault(11, "dec", put("steps[0].steps[2].row_ids", "x"), near=put("steps[0].steps[2].axis", 1)),
    Fault(11, "dec", put("package.slot_ids", "x"), near=put("package.constraint_languages", [])),
]  # fmt: skip
