"""Group N: loops (`dec`, `image`) and branches (`branch`)."""

from __future__ import annotations

from typing import Any

from tests.unit.metadata.edits import Edit, Fault, add, all_of, copied, drop, put
from tests.unit.metadata.faults_m import cell, literal

_ALIGNED = {"kind": "request_aligned", "axis": 0}
_LOOP, _CARRIED = "steps[0]", "steps[0].carried"
_ROUND = "steps[1].iteration"
_BRANCH, _JOIN = "steps[0]", "steps[0].outputs.feat"


def _round(**contract: Any) -> Edit:
    """The round of the image's loop, and the port that takes it, have another contract."""
    full = {"dtype": "int64", "rank": 0, "shape": []} | contract
    return all_of(put(f"{_ROUND}.contract", full), put("comp.den.ports.inputs.t", full))


def _bounded(limit: str) -> Edit:
    return all_of(put("state.k0.recurrence", {"kind": "bounded", "axis": 2, "max": limit}),
                  add("manifest.capabilities", "bounded_state_recurrence"))  # fmt: skip


def growing(**fields: str) -> Edit:
    """A history of the workflow's own, that grows."""
    growing = {"kind": "growing", "axis": 1, "increment": "one", "max": "limit"} | fields
    return all_of(
        literal("one", "int64", [], 1), literal("h0", "int64", ["batch", 0], 0, _ALIGNED),
        cell("h", "h0", rank=2, shape=["batch", 0]), put("state.h.recurrence", growing),
        add(_CARRIED, {"cell": "h", "next": "s.tok"}),
    )  # fmt: skip


_WIDE = literal("wide", "float32", ["batch", 2, "past", 8], 0.0, _ALIGNED)
_OTHER = {"kind": "invoke", "component": "blank", "inputs": {"ids": "text"}, "outputs": {"feat": "c.feat"}}
_OTHER_CASE = all_of(put(f"{_BRANCH}.cases.false", _OTHER), put(f"{_JOIN}.cases.false", "c.feat"))

# A loop of one round in the default of the branch, with a cell of the session.
_SESSION = all_of(
    literal("go", "bool", [], True), literal("n", "int64", [], 1),
    literal("m0", "float32", ["batch", "patch", 8], 0.0, _ALIGNED),
    put("state", {}), cell("mem", "m0", dtype="float32", rank=3, shape=["batch", "patch", 8]),
    put("state.mem.scope", "session"), add("manifest.capabilities", "session_state_lease"),
    put(f"{_BRANCH}.default", {
        "kind": "loop", "continue_when": "go", "max_iterations": "n", "carried": [{"cell": "mem", "next": "b.feat"}],
        "steps": [_OTHER | {"outputs": {"feat": "b.feat"}}]}),
)  # fmt: skip
_TIME = all_of(literal("time", "int64", [], 0), put("steps[1].steps[0].inputs.t", "time"))
_BLIND = put(f"{_BRANCH}.cases.true", _OTHER | {"outputs": {"feat": "a.feat"}})

FAULTS = [
    Fault(206, "dec", all_of(literal("lot", "int64", [2], 1), put(f"{_LOOP}.max_iterations", "lot")),
          near=all_of(literal("lot", "int32", [], 1), put(f"{_LOOP}.max_iterations", "lot"))),
    Fault(206, "dec", put(f"{_LOOP}.max_iterations", "zero"), near=put("in.limit.contract.dtype", "uint8")),
    Fault(207, "image", _round(dtype="int32"), near=_round(rank=1, shape=["batch"])),
    Fault(207, "image", _round(rank=2, shape=[1, 1]), near=_round(rank=1, shape=[1])),
    # The contract of the port has the same mistake, which rule 101 tells there.
    Fault(208, "image", put(f"{_ROUND}.contract.shape", [1]), near=put(f"{_ROUND}.contract.shape", None)),
    Fault(209, "image", all_of(_round(rank=1, shape=[1]), put(f"{_ROUND}.contract.shape", [1, 1])),
          near=_round(rank=1, shape=[1])),
    Fault(210, "image", _round(rank=1, shape=None), near=_round(rank=1, shape=["rows"])),
    Fault(204, "image", all_of(_TIME, put(f"{_ROUND}.value", "go")),
          near=all_of(_TIME, put(f"{_ROUND}.value", "out.img"))),
    Fault(211, "dec", _bounded("zero"), near=_bounded("limit")),
    Fault(211, "dec", _bounded("n.accepted"), near=all_of(literal("m", "int64", [], 9), _bounded("m"))),
    # An increment is one number for all requests, though lengths are counted for each.
    Fault(211, "dec", growing(increment="zero"), near=growing()),
    Fault(212, "dec", put("state.done.initializer", "n.done"), near=put("state.done.initializer", "yes")),
    # A cell that no loop carries is no value, so nothing asks for what it starts from.
    Fault(212, "dec", put("state.done.initializer", "zz"), near=cell("idle", "zz")),
    Fault(213, "dec", put("state.done.initializer", "zero"), near=put("state.done.initializer", "yes")),
    Fault(213, "dec", all_of(_WIDE, put(f"{_CARRIED}[0].initial", "wide")),
          near=all_of(put("in.kv0.contract.shape[2]", 7), put(f"{_CARRIED}[0].initial", "kv0"))),
    Fault(213, "dec", all_of(put("in.kv0.contract.shape[2]", 7), put("state.k0.contract.shape[2]", 8)),
          near=all_of(put("in.kv0.contract.shape[2]", 7), put("state.k0.contract.shape[2]", 8), _bounded("limit"))),
    # Where a growing cell starts is declared: its axis is free in what comes next alone.
    Fault(213, "dec", all_of(growing(), put("in.h0.contract.shape[1]", 3)),
          near=all_of(growing(), put("comp.policy.ports.outputs.tok.shape[1]", 3))),
    Fault(214, "dec", put(f"{_LOOP}.continue_when", "n.active"), near=put(f"{_LOOP}.continue_when", "yes")),
    Fault(214, "dec", put(f"{_LOOP}.continue_when", "accepted"), near=put(f"{_LOOP}.continue_when", "done")),
    Fault(215, "dec", put(f"{_CARRIED}[3].next", "zz"), near=put(f"{_CARRIED}[3].next", "yes")),
    Fault(216, "dec", put(f"{_CARRIED}[3].next", "n.accepted"), near=put(f"{_CARRIED}[3].next", "n.active")),
    Fault(216, "dec", put("comp.lm.ports.outputs.nk.shape[3]", 8), near=put("comp.lm.ports.outputs.nk.shape[2]", 8)),
    # Several carries of one cell define its name twice.
    Fault(204, "dec", add(_CARRIED, {"cell": "done", "next": "n.done"}),
          near=all_of(copied("state.done", "state.over"), add(_CARRIED, {"cell": "over", "next": "n.done"}))),
    Fault(217, "branch", all_of(put(f"{_BRANCH}.predicate", "text"), _BLIND),
          near=all_of(literal("which", "int64", [1], 1), put(f"{_BRANCH}.predicate", "which"), _BLIND)),
    Fault(217, "branch", all_of(literal("which", "bool", ["batch"], True, _ALIGNED),
                                put(f"{_BRANCH}.predicate", "which"), _BLIND),
          near=_OTHER_CASE),
    Fault(218, "branch", all_of(put(f"{_BRANCH}.cases", {}), put(f"{_JOIN}.cases", {})),
          near=_OTHER_CASE),
    Fault(219, "branch", all_of(_SESSION, put(f"{_JOIN}.default", "m0")),
          near=all_of(_SESSION, put(f"{_JOIN}.default", "mem"))),
    Fault(220, "branch", put(f"{_BRANCH}.cases.false", _OTHER), near=_OTHER_CASE),
    Fault(221, "branch", put(f"{_JOIN}.cases.no", "b.feat"), near=_OTHER_CASE),
    Fault(222, "branch", drop(f"{_JOIN}.default"),
          near=all_of(_OTHER_CASE, drop(f"{_JOIN}.default"), drop(f"{_BRANCH}.default"))),
    Fault(222, "branch", all_of(_OTHER_CASE, drop(f"{_BRANCH}.default")),
          near=all_of(_OTHER_CASE, drop(f"{_BRANCH}.default"), drop(f"{_JOIN}.default"))),
    Fault(223, "branch", put(f"{_JOIN}.default", "a.feat"), near=_OTHER_CASE),
    Fault(223, "branch", put("comp.blank.ports.outputs.feat.dtype", "float16"),
          near=put("comp.blank.ports.outputs.feat.dtype", "fp32")),
    Fault(204, "branch", copied(_JOIN, f"{_BRANCH}.outputs.text"), near=copied(_JOIN, f"{_BRANCH}.outputs.texts")),
]  # fmt: skip
