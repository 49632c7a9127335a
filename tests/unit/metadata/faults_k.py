"""Group K. The grammar of the spec base is an adapter with effects; `policy` of dec is a binding."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, all_of, copied, drop, put

_GRAMMAR, _LM = "comp.grammar", "comp.lm"
_REWIND = {"kind": "rewindable", "max_depth": 0}

FAULTS = [
    Fault(123, "dec", copied(_LM, "comp.a/b"), near=copied(_LM, "comp.a-b"), also=()),
    Fault(124, "asr", put("comp.enc.implementation.artifact", " "), near=put("comp.enc.implementation.artifact", "e")),
    Fault(125, "asr", put("manifest.adapter_abis", {}),
          near=put("manifest.adapter_abis.vendor", "9")),
    Fault(126, "dec", put("comp.policy.contract.version", ""), near=put("comp.policy.contract.version", "x")),
    Fault(127, "dec", put("comp.policy.contract.bindings", {"logits": "zz"}),
          near=put("comp.policy.contract.bindings", {"logits": "scores"})),
    Fault(127, "dec", put("comp.policy.contract.bindings", {"": "scores"}),
          near=all_of(drop("comp.lm.ports.inputs"), drop("comp.lm.ports.outputs"),
                      put("comp.lm.contract.bindings", {"logits": "zz"}))),
    Fault(128, "asr", put("comp.prep.contract", {"id": "onnx-genai.audio-preprocess", "version": "2"}),
          near=put("comp.prep.contract", {"id": "onnx-genai.audio-preprocess", "version": "1"})),
    Fault(129, "spec", put(f"{_GRAMMAR}.contract.parameters.action", "parse"),
          near=put("comp.draft.contract", {"id": "vendor.x", "version": "1", "parameters": {"action": "parse"}})),
    Fault(130, "spec", drop(f"{_GRAMMAR}.contract.bindings.tokens"),
          near=put(f"{_GRAMMAR}.contract.bindings.more", "tok")),
    Fault(131, "spec", put(f"{_GRAMMAR}.contract.bindings.state", "nst"),
          near=put(f"{_GRAMMAR}.contract.bindings.state", "tok")),
    Fault(132, "asr", put("comp.enc.application_overridable", True),
          near=all_of(put("comp.enc.application_overridable", True),
                      put("comp.enc.contract", {"id": "x", "version": "1"}))),
    Fault(133, "dec", put("comp.policy.application_overridable", True),
          near=put("comp.lm.application_overridable", True)),
    Fault(134, "dec", put("comp.policy.effects", [" "]), near=put("comp.policy.effects", []), also=(138,)),
    Fault(135, "spec", put(f"{_GRAMMAR}.effects", ["grammar", "other"]),
          near=all_of(put(f"{_GRAMMAR}.effects", ["grammar", "other"]), copied("effects.grammar", "effects.other"))),
    Fault(136, "spec", copied("effects.grammar", "effects. "), near=copied("effects.grammar", "effects.x")),
    Fault(137, "spec", put("effects.grammar.speculation_safety", _REWIND),
          near=put("effects.grammar.speculation_safety", _REWIND | {"max_depth": 5})),
    Fault(138, "spec", drop(f"{_GRAMMAR}.row_scope"), near=put("comp.draft.row_scope", {"axis": 0})),
    Fault(139, "spec", put(f"{_GRAMMAR}.row_scope.axis", 1), near=put(f"{_GRAMMAR}.row_scope.stateful", False)),
    Fault(140, "spec", put(f"{_GRAMMAR}.ports.inputs.tok.batch_layout.axis", 1),
          near=put(f"{_GRAMMAR}.ports.inputs.tok.batch_layout", {"kind": "shared"})),
]  # fmt: skip
