"""Group P: `spec` proposes a block at a time, `fold` token by token with a folded carry."""

from __future__ import annotations

from tests.unit.metadata.edits import Edit, Fault, add, all_of, copied, drop, put
from tests.unit.metadata.faults_m import cell, literal

_EXEC, _DRAFT = "speculative.proposal_execution", "comp.draft.ports"
_SEED, _TABLE = f"{_EXEC}.folded_carry_seed", f"{_EXEC}.token_embedding"
_HIDDEN = "speculative.port_bindings.target_hidden_context"
_ALIGNED = {"kind": "request_aligned", "axis": 0}
_STATE = {"dtype": "float32", "rank": 2, "shape": ["batch", 6], "batch_layout": _ALIGNED}
_BINDING = {"state": "mind", "input": "h", "output": "nh"}
_BLOCK = drop(_EXEC)
_SAFETY = "effects.grammar.speculation_safety"


def _recurrent(*bindings: dict[str, str]) -> Edit:
    """The proposer of `fold` carries a state of its own as well, in a group of its own."""
    return all_of(
        literal("mind0", "float32", ["batch", 6], 0.0, _ALIGNED), cell("mind", "mind0", **_STATE),
        *(put(f"state.mind.{key}", value) for key, value in _RUNTIME.items()),
        put("groups.dh", _GROUP), put(f"{_DRAFT}.inputs.h", _STATE), put(f"{_DRAFT}.outputs.nh", _STATE),
        put("steps[0].steps[0].inputs.h", "mind"), put("steps[0].steps[0].outputs.nh", "n.mind"),
        add("steps[0].carried", {"cell": "mind", "next": "n.mind"}), add("speculative.rollback_state", "mind"),
        put(f"{_EXEC}.recurrent", list(bindings)),
    )  # fmt: skip


_RUNTIME = {"management": "runtime", "release_boundary": "invocation", "service_group": "dh"}
_GROUP = {
    "kind": "recurrent",
    "layout": "bh",
    "update": {"kind": "replace"},
    "capabilities": {"rollback_positions": 4},
    "ports": {"draft": {"mind": {"input": "h", "output": "nh"}}},
}
_ALIAS = "groups.dh.ports.draft.mind"
_CARRY = _recurrent(_BINDING)
_SECOND_PORT = copied(f"{_DRAFT}.inputs.e", f"{_DRAFT}.inputs.e2")
_SECOND_BOUND = put("steps[0].steps[0].inputs.e2", "emb0")
_DEEP = "groups.tkv.capabilities.rollback_positions"

FAULTS = [
    Fault(237, "spec", drop("pipeline"), near=drop("speculative")),
    Fault(238, "spec", put("speculative.proposer", "zz"), near=put("speculative.proposer", "grammar")),
    Fault(238, "spec", put("speculative.target", "zz"), near=put("speculative.target", "grammar")),
    Fault(239, "fold", put(f"{_EXEC}.token_embedding_input", "zz"), near=_BLOCK),
    Fault(240, "fold", put(f"{_EXEC}.logits_output", "zz"), near=put(f"{_EXEC}.logits_output", "prop")),
    Fault(241, "fold", drop(f"{_EXEC}.folded_carry_output"),
          near=all_of(_CARRY, drop(f"{_EXEC}.folded_carry_output"))),
    Fault(242, "fold", put(f"{_EXEC}.folded_carry_output", "zz"), near=put(f"{_EXEC}.folded_carry_output", "prop")),
    Fault(243, "fold", drop(_HIDDEN), near=all_of(drop(_HIDDEN), _CARRY, drop(f"{_EXEC}.folded_carry_output"))),
    Fault(244, "fold", put(_HIDDEN, "zz"), near=put("speculative.port_bindings.other", "zz")),
    Fault(245, "fold", all_of(_SECOND_PORT, _SECOND_BOUND, put(_HIDDEN, "e2")),
          near=all_of(_SECOND_PORT, _SECOND_BOUND, put(_HIDDEN, "e2"), put(f"{_EXEC}.token_embedding_input", "e2"))),
    Fault(246, "fold", drop(_SEED), near=all_of(drop(_SEED), _CARRY, drop(f"{_EXEC}.folded_carry_output"))),
    Fault(247, "fold", put(f"{_SEED}.component", "zz"), near=put(f"{_SEED}.output", "tok")),
    Fault(248, "fold", put(f"{_SEED}.output", "zz"), near=put(f"{_SEED}.output", "n")),
    Fault(249, "fold", all_of(put(f"{_SEED}.component", "draft"), put(f"{_SEED}.output", "proj")),
          near=put(f"{_SEED}.output", "nk")),
    Fault(250, "fold", drop(_TABLE), near=all_of(drop(_TABLE), _CARRY, drop(f"{_EXEC}.folded_carry_output"))),
    Fault(251, "fold", put(f"{_TABLE}.component", "zz"), near=put(f"{_TABLE}.table", "zz")),
    Fault(252, "fold", put(f"{_TABLE}.component", "draft"), near=put(f"{_TABLE}.table", "draft")),
    Fault(253, "fold", put("comp.verify.implementation", {"kind": "binding"}),
          near=put("comp.draft.implementation", {"kind": "binding"})),
    Fault(254, "fold", put(f"{_TABLE}.table", " "), near=put(f"{_TABLE}.table", "t")),
    Fault(255, "fold", _recurrent(_BINDING, _BINDING), near=_CARRY),
    Fault(256, "fold", all_of(_CARRY, add(f"{_EXEC}.recurrent", _BINDING | {"state": "zz"})), near=_recurrent()),
    Fault(257, "fold", all_of(_CARRY, put("speculative.rollback_state", ["k0", "v0", "gram"])),
          near=all_of(_CARRY, put("speculative.rollback_state", ["mind"]))),
    Fault(258, "fold", all_of(_CARRY, put(f"{_EXEC}.recurrent[0].input", "zz")),
          near=all_of(_CARRY, *(drop(f"{_DRAFT}.{side}") for side in ("inputs", "outputs")))),
    Fault(259, "fold", all_of(_CARRY, put(f"{_EXEC}.recurrent[0].output", "zz")),
          near=all_of(_CARRY, *(drop(f"{_DRAFT}.{side}") for side in ("inputs", "outputs")))),
    Fault(260, "fold", all_of(_CARRY, drop(_ALIAS)), near=all_of(_CARRY, put(f"{_ALIAS}.layer", 3))),
    Fault(261, "fold", all_of(_CARRY, put(f"{_ALIAS}.access", "read_only")),
          near=all_of(_CARRY, put(f"{_ALIAS}.access", "read_write"))),
    Fault(262, "fold", all_of(_CARRY, put(f"{_ALIAS}.input", "e")),
          near=all_of(_CARRY, put(f"{_ALIAS}.input", "e"), put(f"{_EXEC}.recurrent[0].input", "e"))),
    Fault(263, "fold", all_of(_CARRY, put(f"{_ALIAS}.output", "proj")),
          near=all_of(_CARRY, put(f"{_ALIAS}.output", "proj"), put(f"{_EXEC}.recurrent[0].output", "proj"))),
    # What is only read gives nothing back either (261).
    Fault(264, "fold", all_of(_CARRY, drop(f"{_ALIAS}.output"), put(f"{_ALIAS}.access", "read_only")), also=(261,),
          near=_CARRY),
    # A port that writes and gives nothing back is wrong wherever it stands (189).
    Fault(264, "fold", all_of(_CARRY, drop(f"{_ALIAS}.output")), also=(189,), near=_CARRY),
    Fault(265, "spec", add("speculative.rollback_state", "zz"), near=add("speculative.rollback_state", "done")),
    # The cascade is wrong with and without a proposal (182).
    Fault(266, "spec", put("groups.tkv.capabilities.cascade", ["zz"]), also=(182,),
          near=put("groups.tkv.capabilities.cascade", ["tkv"])),
    Fault(267, "spec", drop(_DEEP), near=all_of(drop(_DEEP), put("speculative.rollback_state", ["gram"]))),
    Fault(267, "fold", all_of(_CARRY, put("speculative.rollback_state", ["mind"]), drop(_DEEP),
                              put("groups.dh.capabilities.cascade", ["tkv"])),
          near=all_of(_CARRY, put("speculative.rollback_state", ["mind"]), drop(_DEEP))),
    Fault(268, "spec", put(_DEEP, 3), near=put(_DEEP, 5)),
    Fault(269, "spec", put(_SAFETY, {"kind": "none"}), near=put(_SAFETY, {"kind": "clonable"})),
    Fault(269, "spec", drop(_SAFETY), near=all_of(drop(_SAFETY),
                                                  drop("speculative"))),
    Fault(270, "spec", put(f"{_SAFETY}.max_depth", 3), near=put(f"{_SAFETY}.max_depth", 5)),
]  # fmt: skip
