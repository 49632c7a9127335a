"""Group L."""

from __future__ import annotations

from typing import Any

from tests.unit.metadata.edits import Edit, Fault, add, all_of, copied, drop, put

_K0, _DONE = "state.k0", "state.done"
_LEASE = "session_state_lease"


def _session(**lease: Any) -> Edit:
    """The cell `done` lives as long as a session."""
    return all_of(
        put(f"{_DONE}.scope", "session"), put(f"{_DONE}.session", lease), add("manifest.capabilities", _LEASE)
    )


def _varies(**recurrence: Any) -> Edit:
    """The key cache varies."""
    return put(f"{_K0}.recurrence", {"max": "limit"} | recurrence)


def _growing(axis: int = 2, increment: str = "accepted") -> Edit:
    return _varies(kind="growing", axis=axis, increment=increment)


_BOUNDED = add("manifest.capabilities", "bounded_state_recurrence")
# A per-request length is no scalar, which rule 211 asks of an increment; the format wants both.
_ONE = all_of(
    put("in.one", {"contract": {"dtype": "int64", "rank": 0, "shape": []}, "role": {"kind": "opaque"},
                   "source": {"kind": "literal"}, "required": False, "default": 1}),
)  # fmt: skip
_OWNED = all_of(put("state.lat.management", "runtime"), put("state.lat.release_boundary", "row"))
_EMITTED = all_of(
    copied("out.picture", "out.latent"), copied("state.lat.contract", "out.latent.contract"),
    add("steps", {"kind": "emit", "value": "lat", "output": "latent", "mode": "replace"}),
)  # fmt: skip

FAULTS = [
    Fault(141, "dec", put(f"{_DONE}.session", {}), near=_session()),
    Fault(142, "dec", _session(policy="copy_on_write"), near=_session(policy="exclusive")),
    Fault(143, "dec", _session(ttl_seconds=60), near=_session(ttl_seconds=None)),
    Fault(144, "dec", _session(optimistic_metadata_version=True), near=_session(optimistic_metadata_version=False)),
    Fault(145, "image", all_of(_BOUNDED, put("state.lat.recurrence", {"kind": "bounded", "axis": 4, "max": "n"})),
          near=all_of(_BOUNDED, put("state.lat.recurrence", {"kind": "bounded", "axis": 3, "max": "n"}))),
    Fault(146, "dec", put(f"{_K0}.service_group", "zz"), near=put("groups.kv.layout", "zz")),
    Fault(147, "dec", put("groups.kv.sequence_axis", 4), near=put("groups.kv.sequence_axis", 3)),
    Fault(148, "dec", all_of(_BOUNDED, _varies(kind="bounded", axis=1)),
          near=all_of(_BOUNDED, _varies(kind="bounded", axis=2))),
    Fault(149, "dec", all_of(_BOUNDED, _varies(kind="bounded", axis=2), drop("groups.kv.sequence_axis")),
          near=drop("groups.kv.sequence_axis")),
    Fault(150, "dec", put(f"{_K0}.contract.batch_layout", {"kind": "shared"}),
          near=put(f"{_K0}.contract.batch_layout", {"kind": "request_expanded", "axis": 0, "factor": 1})),
    Fault(151, "dec", all_of(_ONE, _growing(increment="one")), near=all_of(_ONE, put("in.one.default", 2))),
    Fault(152, "image", all_of(_OWNED, _EMITTED), near=_OWNED),
    Fault(152, "image", all_of(_OWNED, copied("out.picture", "out.lat")), near=copied("out.picture", "out.lat")),
    Fault(153, "dec", put(f"{_K0}.management", "external"), near=put("state.v0.release_boundary", "row")),
    Fault(154, "dec", drop(f"{_K0}.release_boundary"), near=put(f"{_K0}.release_boundary", "row")),
    Fault(155, "dec", put(f"{_DONE}.release_boundary", "row"), near=put(f"{_DONE}.release_boundary", None)),
    Fault(156, "dec", put(f"{_K0}.release_boundary", "session"),
          near=all_of(put(f"{_K0}.release_boundary", "session"), put(f"{_K0}.scope", "session"),
                      add("manifest.capabilities", _LEASE))),
]  # fmt: skip
