"""Group O. The emit of `image` publishes a value of the top level; `dec` is served, and emits one of its loop's."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, add, all_of, copied, put
from tests.unit.metadata.faults_m import literal

_ALIGNED, _SHARED = {"kind": "request_aligned", "axis": 0}, {"kind": "shared"}
_EMIT = {"kind": "emit", "value": "noise", "output": "latent", "mode": "replace"}
_LATENT = all_of(copied("out.picture", "out.latent"), copied("state.lat.contract", "out.latent.contract"))
_SECOND = all_of(copied("in.noise", "in.other"), add("steps", _EMIT), add("steps", _EMIT | {"value": "other"}))
_NOTE = {"kind": "emit", "value": "note", "output": "notes", "mode": "replace"}
_NOTES = all_of(literal("note", "int64", ["rows"], 0), copied("out.tokens", "out.notes"),
                copied("in.note.contract", "out.notes.contract"), add("steps", _NOTE))  # fmt: skip
_ONE = all_of(literal("note", "int64", [], 0), copied("out.tokens", "out.notes"),
              copied("in.note.contract", "out.notes.contract"), add("steps", _NOTE))  # fmt: skip

FAULTS = [
    Fault(233, "image", all_of(_LATENT, _SECOND, put("in.other.contract.batch_layout", _SHARED)),
          near=all_of(_LATENT, _SECOND)),
    Fault(234, "dec", put("out.tokens.contract.batch_layout", _SHARED),
          near=put("out.tokens.contract.batch_layout", {"kind": "request_expanded", "axis": 0, "factor": 1})),
    # One truth value for all requests is a guard like any other here.
    Fault(234, "image", all_of(put("out.picture.contract.batch_layout", _SHARED), put("steps[3].when", "go")),
          near=put("steps[3].when", "go")),
    Fault(235, "image", put("out.picture.contract.batch_layout", _SHARED),
          near=all_of(put("out.picture.contract.batch_layout", _SHARED),
                      put("comp.vae.ports.outputs.img.batch_layout", _SHARED))),
    Fault(235, "image", all_of(_LATENT, add("steps", _EMIT), put("in.noise.contract.batch_layout.axis", 1)),
          near=all_of(_LATENT, add("steps", _EMIT), put("in.noise.contract.batch_layout.axis", 1),
                      put("out.latent.contract.batch_layout.axis", 1))),
    # A scalar is what it is for all; and without serving there are no requests to share.
    Fault(236, "dec", _NOTES, near=_ONE),
    # And what all share does not lie as an output with an axis of requests does (235).
    Fault(236, "dec", all_of(_NOTES, put("out.notes.contract.batch_layout", _ALIGNED)), also=(235,), near=_ONE),
]  # fmt: skip
