"""Group H."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, all_of, put

_EXPANDED = {"kind": "request_expanded", "axis": 0}

FAULTS = [
    Fault(100, "image", put("in.noise.contract.batch_layout", _EXPANDED | {"factor": 0}),
          near=put("in.noise.contract.batch_layout", _EXPANDED | {"factor": 1})),
    Fault(101, "asr", put("comp.prep.ports.inputs.encoded.shape", ["bytes", 1]),
          near=put("comp.prep.ports.inputs.encoded.shape", ["octets"])),
    Fault(101, "dec", put("in.mask.contract.shape", ["batch"]), near=all_of(put("in.mask.contract.shape", None))),
    Fault(102, "dec", put("state.done.contract.dtype", "boolean"), near=put("model.dtype", "boolean"), also=()),
    Fault(102, "asr", put("comp.enc.ports.outputs.lens.dtype", "string"),
          near=put("preprocessing.audio.transforms[0].dtype", "string")),
]  # fmt: skip
