"""Group N: steps, invocations and emits. Loops and branches have tables of their own."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, add, all_of, copied, drop, put, rename
from tests.unit.metadata.faults_m import literal

_ALIGNED = {"kind": "request_aligned", "axis": 0}
_LM, _POLICY, _EMIT = "steps[0].steps[0]", "steps[0].steps[1]", "steps[0].steps[2]"
_PREFIX = all_of(put(f"{_EMIT}.valid_length", "n.accepted"), add("manifest.capabilities", "emit_valid_length"))
_AGAIN = {"kind": "invoke", "component": "policy", "inputs": {"scores": "s.scores"},
          "outputs": {"tok": "t.tok", "go": "t.go", "end": "t.end", "n": "t.n"}}  # fmt: skip
_AFTER = _AGAIN | {"inputs": {"scores": "big"}}
_BIG = literal("big", "float32", ["batch", "seq", 258], 0.0, _ALIGNED)

FAULTS = [
    Fault(196, "dec", add("steps", {"kind": "sequence", "steps": []}), near=put("steps[0].setup", [])),
    Fault(196, "dec", put("steps[0].steps[0]", {"kind": "sequence", "steps": []}), also=(199, 215),
          near=all_of(add("steps[0].steps", {"kind": "sequence", "steps": [_AGAIN]}))),
    Fault(198, "dec", put(f"{_LM}.inputs.zz", "mask"),
          near=all_of(copied("comp.lm.ports.inputs.mask", "comp.lm.ports.inputs.zz"), put(f"{_LM}.inputs.zz", "mask"))),
    # A misspelt port is one mistake: that the right one has no value now is not told.
    Fault(198, "dec", rename(f"{_LM}.inputs.mask", "msk"),
          near=all_of(rename(f"{_LM}.inputs.mask", "msk"), rename("comp.lm.ports.inputs.mask", "msk"),
                      drop("comp.lm.ports.roles.mask"))),
    Fault(199, "dec", put(f"{_LM}.inputs.mask", "nope"), near=put(f"{_LM}.inputs.mask", "prompt")),
    Fault(199, "dec", put(f"{_LM}.inputs.ids", "s.tok"), near=put(f"{_LM}.inputs.ids", "mask")),
    Fault(199, "dec", put("steps[0].setup", [_AGAIN]), near=add("steps[0].steps", _AGAIN)),
    # A cell is no value before the loop that carries it.
    Fault(199, "dec", put("steps[0].max_iterations", "accepted"), near=put("steps[0].setup", [])),
    Fault(199, "dec", put("steps[0].carried[2].initial", "n.active"), near=put("steps[0].carried[2].initial", "no")),
    Fault(199, "dec", put(f"{_EMIT}.when", "zz"), near=put(f"{_EMIT}.when", "n.active")),
    Fault(200, "dec", put("comp.policy.ports.inputs.scores.dtype", "float16"),
          near=put("comp.policy.ports.inputs.scores.dtype", "fp32")),
    Fault(200, "dec", all_of(put("in.mask.contract.rank", 1), put("in.mask.contract.shape", ["batch"])),
          near=all_of(put("in.mask.contract.shape", None), put("in.mask.contract.batch_layout", {"kind": "shared"}))),
    Fault(201, "dec", put("comp.policy.ports.inputs.scores.shape[2]", 100),
          near=put("comp.policy.ports.inputs.scores.shape[2]", "words")),
    Fault(202, "dec", drop(f"{_LM}.inputs.mask"),
          near=all_of(drop(f"{_LM}.inputs.mask"), put("comp.lm.ports.inputs.mask.optional", True))),
    Fault(203, "dec", put(f"{_LM}.outputs.zz", "s.zz"),
          near=all_of(copied("comp.lm.ports.outputs.scores", "comp.lm.ports.outputs.zz"),
                      put(f"{_LM}.outputs.zz", "s.zz"))),
    Fault(204, "dec", put(f"{_LM}.outputs.scores", "prompt"), also=(199,),
          near=all_of(put(f"{_LM}.outputs.scores", "prompts"), put(f"{_POLICY}.inputs.scores", "prompts"))),
    # What a loop gives is a name of the scope around it; what its body defines is none.
    Fault(204, "dec", all_of(_BIG, add("steps", _AFTER | {"outputs": _AGAIN["outputs"] | {"n": "done"}})),
          near=all_of(_BIG, add("steps", _AFTER | {"outputs": _AGAIN["outputs"] | {"n": "n.done"}}))),
    Fault(205, "dec", copied("comp.policy.ports.outputs.n", "comp.policy.ports.outputs.more"),
          near=all_of(copied("comp.policy.ports.outputs.n", "comp.policy.ports.outputs.more"),
                      put("comp.policy.ports.outputs.more.optional", True))),
    Fault(224, "dec", put(f"{_EMIT}.value", "zz"), near=put(f"{_EMIT}.value", "prompt")),
    Fault(225, "dec", put(f"{_EMIT}.when", "n.accepted"), near=put(f"{_EMIT}.when", "done")),
    Fault(226, "dec", all_of(_PREFIX, put(f"{_EMIT}.valid_length", "active")), near=_PREFIX),
    Fault(227, "dec", all_of(literal("note", "int64", ["batch", "seq"], 0), put(f"{_EMIT}.value", "note")),
          near=all_of(literal("note", "int64", ["batch", "seq"], 0, _ALIGNED), put(f"{_EMIT}.value", "note"))),
    Fault(228, "dec", put(f"{_EMIT}.output", "zz"),
          near=all_of(copied("out.tokens", "out.zz"), put(f"{_EMIT}.output", "zz"))),
    Fault(229, "dec", put("out.tokens.contract.dtype", "int32"), near=put("out.tokens.contract.shape", None)),
    Fault(229, "dec", all_of(put("comp.policy.ports.outputs.tok.shape[1]", 2), put("out.tokens.contract.shape[1]", 1)),
          near=all_of(put("comp.policy.ports.outputs.tok.shape[1]", 2), put("out.tokens.contract.shape[1]", 2))),
    Fault(230, "dec", all_of(
        _PREFIX, literal("one", "int64", [], 1), put(f"{_EMIT}.valid_length", "one"), put(f"{_EMIT}.value", "one"),
        drop(f"{_EMIT}.when"), put("out.tokens.contract", {"dtype": "int64", "rank": 0, "shape": []})),
        near=all_of(_PREFIX, literal("one", "int64", [], 1), put(f"{_EMIT}.valid_length", "one"))),
    Fault(231, "dec", all_of(_PREFIX, put("out.tokens.contract.dtype", "int32")),
          near=all_of(_PREFIX, put("out.tokens.contract.shape[1]", 1))),
    # The last axis is what the prefix is taken of, whatever axis the emit names.
    Fault(232, "dec", all_of(_PREFIX, put("comp.policy.ports.outputs.tok.shape", [3, 5]),
                             put("out.tokens.contract.shape", [4, 6]), put(f"{_EMIT}.axis", 0)),
          near=all_of(_PREFIX, put("comp.policy.ports.outputs.tok.shape", [4, 5]),
                      put("out.tokens.contract.shape", [4, 6]), put(f"{_EMIT}.axis", 0))),
]  # fmt: skip
