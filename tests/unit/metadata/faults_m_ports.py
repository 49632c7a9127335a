"""Group M: the ports of a group."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, all_of, copied, drop, put
from tests.unit.metadata.faults_m import KV

_LM = f"{KV}.ports.lm"
_SECOND = all_of(
    *(edit for old, new in (("k0", "k1"), ("v0", "v1")) for edit in (
        copied(f"state.{old}", f"state.{new}"), copied(f"{_LM}.{old}", f"{_LM}.{new}"),
        put(f"{_LM}.{new}.layer", 1),
    )),
)  # fmt: skip
_BLIND = drop("comp.lm.ports.roles.ids")

FAULTS = [
    Fault(178, "dec", all_of(_SECOND, drop(f"{_LM}.k1.layer"), drop(f"{_LM}.v1.layer")), near=_SECOND),
    Fault(179, "dec", all_of(_SECOND, put(f"{_LM}.k1.layer", 0), put(f"{_LM}.v1.layer", 0)),
          near=all_of(_SECOND, put(f"{_LM}.k1.layer", 7), put(f"{_LM}.v1.layer", 7))),
    Fault(180, "dec", put(f"{_LM}.v0.layer", 1), near=drop(f"{_LM}.v0.layer")),
    Fault(180, "dec", drop(f"{_LM}.v0.role"), near=all_of(drop(f"{_LM}.k0.role"), drop(f"{_LM}.v0.role"))),
    Fault(181, "dec", _BLIND, near=all_of(_BLIND, copied("comp.lm", "comp.other"))),
    Fault(181, "dec", _BLIND, near=put("comp.lm.ports.roles.ids", "inputs_embeds")),
    Fault(184, "dec", put(f"{KV}.ports.zz", {}), near=put(f"{KV}.ports.policy", {})),
    Fault(185, "dec", put(f"{_LM}.done", {"input": "pk", "output": "nk"}),
          near=all_of(copied("state.v0", "state.v1"), put(f"{_LM}.v1", {"input": "pk", "output": "nk"}))),
    Fault(185, "dec", all_of(copied(KV, "groups.other"), put("groups.other.ports", {}),
                             put("state.v0.service_group", "other")),
          near=all_of(copied(KV, "groups.other"), put("groups.other.ports", {}))),
    Fault(186, "dec", put(f"{_LM}.zz", {"input": "pk", "output": "nk"}),
          near=all_of(copied("state.v0", "state.zz"), put(f"{_LM}.zz", {"input": "pk", "output": "nk"}))),
    Fault(187, "dec", put(f"{_LM}.k0.input", "zz"),
          near=all_of(put(f"{_LM}.k0.input", "zz"), drop("comp.lm.ports.inputs"), drop("comp.lm.ports.outputs"))),
    Fault(188, "dec", put(f"{_LM}.k0.output", "zz"), near=put(f"{_LM}.k0.output", "nv")),
    Fault(189, "dec", drop(f"{_LM}.k0.output"),
          near=all_of(drop(f"{_LM}.k0.output"), put(f"{_LM}.k0.access", "read_only"))),
]  # fmt: skip
