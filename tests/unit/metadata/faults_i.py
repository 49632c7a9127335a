"""Group I. In the branch base `picture` may be absent and `has_picture` says whether it is there."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, add, all_of, copied, drop, put

_PICTURE = "in.picture"
_LOOK = {"kind": "invoke", "component": "see", "inputs": {"bytes": "picture"}, "outputs": {"feat": "c.feat"}}
_OPTIONAL = all_of(put("in.mask.required", False), put("in.mask.default", 1))
_INNER = {"kind": "sequence", "steps": [_LOOK]}

FAULTS = [
    Fault(103, "dec", put("in.prompt.role", {"kind": "opaque"}),
          near=all_of(put("in.prompt.role", {"kind": "opaque"}),
                      put("in.prompt.source", {"kind": "application", "name": "p"}))),
    Fault(104, "dec", put("in.mask.required", False), near=_OPTIONAL),
    Fault(105, "branch", drop(f"{_PICTURE}.required"), near=put(f"{_PICTURE}.role.version", "2")),
    Fault(106, "branch", put(f"{_PICTURE}.default", 0), near=put(f"{_PICTURE}.default", None)),
    Fault(107, "branch", put(f"{_PICTURE}.source", {"kind": "artifact", "path": "p.bin"}),
          near=put(f"{_PICTURE}.source", {"kind": "application", "name": "p"})),
    Fault(108, "branch", put(f"{_PICTURE}.role.role", "seed"), near=put(f"{_PICTURE}.role.role", "constraint")),
    Fault(109, "branch", put(f"{_PICTURE}.present_as", " "),
          near=all_of(put(f"{_PICTURE}.present_as", "it"), put("steps[0].predicate", "it"))),
    Fault(110, "branch", put(f"{_PICTURE}.present_as", "text"),
          near=all_of(put(f"{_PICTURE}.present_as", "texts"), put("steps[0].predicate", "texts"))),
    Fault(111, "branch", add("steps", _LOOK),
          near=put("steps[0].cases.true", {"kind": "sequence", "steps": [
              {**_LOOK, "outputs": {"feat": "a.feat"}}, _INNER]})),
    Fault(112, "branch", put("steps[0].outputs.pic", {"cases": {"true": "picture"}, "default": "picture"}),
          near=all_of(copied("in.text", "in.other"),
                      put("steps[0].outputs.pic", {"cases": {"true": "text"}, "default": "other"}))),
]  # fmt: skip
