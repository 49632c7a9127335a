"""Group M: serving, and groups in themselves. `static` has buffers of a fixed capacity."""

from __future__ import annotations

from typing import Any

from tests.unit.metadata.edits import Edit, Fault, add, all_of, drop, put

KV, CACHE = "groups.kv", "groups.cache"
_ALIGNED = {"kind": "request_aligned", "axis": 0}
COUNT = {"dtype": "int64", "rank": 1, "shape": ["batch"], "batch_layout": _ALIGNED}


def cell(name: str, start: str, **contract: Any) -> Edit:
    """A cell of one whole number per request, unless told otherwise; no loop carries it."""
    return put(f"state.{name}", {"contract": COUNT | contract, "scope": "invocation", "initializer": start,
                                 "recurrence": {"kind": "invariant"}})  # fmt: skip


def literal(name: str, dtype: str, shape: list[Any], default: Any, layout: Any = None) -> Edit:
    contract = {"dtype": dtype, "rank": len(shape), "shape": shape, "batch_layout": layout or {"kind": "shared"}}
    return put(f"in.{name}", {"contract": contract, "role": {"kind": "opaque"}, "source": {"kind": "literal"},
                              "required": False, "default": default})  # fmt: skip


def advisory(name: str) -> Edit:
    return all_of(put(f"state.{name}.class", "advisory"), add("manifest.capabilities", "advisory_state"))


_BOUNDED = add("manifest.capabilities", "bounded_state_recurrence")
_VARIES = all_of(_BOUNDED, put("state.k0.recurrence", {"kind": "bounded", "axis": 2, "max": "limit"}))
_ONE = {"dtype": "int64", "rank": 0, "shape": [], "batch_layout": {"kind": "shared"}}
_HALF = {"dtype": "float32"}
_APPEND = put(f"{KV}.update", {"kind": "append"})
_REPLACE = all_of(put(f"{KV}.update", {"kind": "replace"}), drop(f"{KV}.sequence_axis"))
_OTHER_AXIS = {"kind": "request_expanded", "axis": 0, "factor": 1}

FAULTS = [
    Fault(157, "dec", put(f"{KV}.layout", " "), near=put(f"{KV}.layout", "anything")),
    Fault(158, "dec", put(f"{KV}.logical_lengths", "zz"), near=put(f"{KV}.logical_lengths", "accepted")),
    Fault(159, "dec", all_of(cell("how", "kv0", **_HALF), put(f"{KV}.logical_lengths", "how")),
          near=all_of(cell("how", "zero", dtype="uint8"), put(f"{KV}.logical_lengths", "how"))),
    Fault(159, "dec", all_of(cell("how", "kv0", rank=2, shape=["batch", 1]), put(f"{KV}.logical_lengths", "how")),
          near=all_of(cell("how", "zero"), put(f"{KV}.logical_lengths", "how"))),
    Fault(160, "dec", all_of(cell("how", "zero", **_ONE), put(f"{KV}.logical_lengths", "how")),
          near=cell("how", "zero", **_ONE)),
    Fault(161, "dec", all_of(cell("how", "zero"), put(f"{KV}.logical_lengths", "how"), advisory("how")),
          near=all_of(cell("how", "zero"), advisory("how"))),
    Fault(162, "dec", put(f"{KV}.total_length", "limit"), near=put(f"{KV}.total_length", "accepted")),
    Fault(163, "dec", all_of(_APPEND, drop(f"{KV}.sequence_axis")), near=_APPEND),
    Fault(164, "dec", put(f"{KV}.update", {"kind": "replace"}), near=_REPLACE),
    Fault(165, "dec", all_of(_REPLACE, _VARIES), near=all_of(_APPEND, _VARIES)),
    Fault(166, "static", drop(f"{CACHE}.logical_lengths"),
          near=all_of(cell("how", "zero"), put(f"{CACHE}.logical_lengths", "how"))),
    Fault(167, "static", put(f"{CACHE}.update.write_indices", "zz"),
          near=put(f"{CACHE}.update.write_indices", "accepted")),
    Fault(168, "static", all_of(cell("at", "buf", **_HALF), put(f"{CACHE}.update.write_indices", "at")),
          near=all_of(cell("at", "zero", dtype="int32"), put(f"{CACHE}.update.write_indices", "at"))),
    Fault(169, "static", all_of(cell("at", "zero", **_ONE), put(f"{CACHE}.update.write_indices", "at")),
          near=cell("at", "zero", **_ONE)),
    Fault(170, "static", all_of(cell("at", "zero"), put(f"{CACHE}.update.write_indices", "at"), advisory("at")),
          near=all_of(cell("at", "zero"), advisory("at"))),
    Fault(171, "static", put(f"{CACHE}.update.capacity", "s"), near=put(f"{CACHE}.update.capacity", "limit")),
    Fault(172, "static", put(f"{CACHE}.update.capacity", "accepted"),
          near=all_of(cell("room", "cap", **_ONE), put(f"{CACHE}.update.capacity", "room"))),
    Fault(172, "static", put("in.cap.contract.shape[0]", 2), near=put("in.cap.contract.dtype", "uint32")),
    Fault(173, "static", put(f"{CACHE}.update.write_indices_ports.lm", "zz"),
          near=put(f"{CACHE}.update.write_indices_ports.lm", "len")),
    Fault(173, "static", put(f"{CACHE}.update.kv_length_ports.lm", "scores"),
          near=put(f"{CACHE}.update.kv_length_ports.lm", "at")),
    Fault(174, "static", put(f"{CACHE}.update.kv_length_ports.zz", "len"),
          near=put(f"{CACHE}.update.kv_length_ports.policy", "scores")),
    Fault(175, "static", drop(f"{CACHE}.update.write_indices_ports"),
          near=put(f"{CACHE}.update.write_indices_ports.policy", "scores")),
    Fault(176, "static", drop(f"{CACHE}.update.kv_length_ports.lm"),
          near=all_of(drop(f"{CACHE}.update.kv_length_ports"), drop(f"{CACHE}.ports.lm.kc.role"),
                      drop(f"{CACHE}.ports.lm.vc.role"))),
    Fault(177, "static", all_of(_BOUNDED, put("state.kc.recurrence", {"kind": "bounded", "axis": 1, "max": "cap"})),
          near=all_of(_BOUNDED, put("state.tok.recurrence", {"kind": "bounded", "axis": 1, "max": "cap"}))),
    Fault(182, "dec", put(f"{KV}.capabilities.cascade", ["zz"]), near=put(f"{KV}.capabilities.cascade", ["kv"])),
    Fault(183, "dec", put(f"{KV}.capabilities.rollback_positions", 0),
          near=put(f"{KV}.capabilities.rollback_positions", 1)),
    Fault(190, "dec", all_of(put("groups", {}), *(drop(f"state.{n}.service_group") for n in ("k0", "v0"))),
          near=put(f"{KV}.ports", {})),
    Fault(191, "dec", drop("serving.accepted_len"), near=put("serving.accepted_len", "zero")),
    Fault(192, "dec", put("serving.active", "n.active"), near=put("serving.active", "yes")),
    Fault(192, "dec", put("serving.accepted_len", "zz"), near=put("serving.accepted_len", "zero")),
    Fault(193, "dec", put("serving.done", "accepted"), near=put("serving.done", "active")),
    Fault(193, "dec", all_of(literal("flags", "bool", ["batch", 1], True, _ALIGNED), put("serving.done", "flags")),
          near=all_of(literal("flag", "bool", [], True), put("serving.done", "flag"))),
    Fault(194, "dec", put("serving.accepted_len", "active"),
          near=all_of(literal("one", "int64", [], 1), put("serving.accepted_len", "one"))),
    Fault(195, "dec", all_of(literal("flat", "bool", ["batch"], True), put("serving.active", "flat")),
          near=all_of(literal("wide", "bool", ["batch"], True, _OTHER_AXIS), put("serving.active", "wide"))),
]  # fmt: skip
