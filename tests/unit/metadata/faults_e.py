"""Group E. An adapter that is not invoked, or twice, breaks rules of the scope walk too where a value is read."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, add, all_of, copied, drop, put, rename

_OUT = "preprocessing.audio.outputs[0]"
_ENCODED = "comp.prep.ports.inputs.encoded"
_SECOND = {"kind": "invoke", "component": "prep", "inputs": {"encoded": "clip"}, "outputs": {"wave": "audio.again"}}
_OTHER = all_of(copied("comp.enc", "comp.copy"), add("steps", {
    "kind": "invoke", "component": "copy", "inputs": {"wave": "audio.wave"},
    "outputs": {"scores": "c.scores", "lens": "c.lens"},
}))  # fmt: skip
_WAVE = "comp.prep.ports.outputs.wave"

FAULTS = [
    Fault(35, "asr", drop("preprocessing.audio"), near=drop("preprocessing.audio.transforms")),
    Fault(36, "asr", all_of(copied("comp.prep", "comp.copy")), near=_OTHER),
    Fault(37, "asr", all_of(put(f"{_ENCODED}.dtype", "int8"), put("in.clip.contract.dtype", "int8")),
          near=put(f"{_ENCODED}.shape[0]", "octets")),
    Fault(38, "asr", all_of(rename(_ENCODED, "coded"), rename("steps[0].inputs.encoded", "coded")),
          near=put(f"{_ENCODED}.optional", True)),
    Fault(39, "asr", add("steps", _SECOND), near=add("steps", _SECOND | {
        "component": "enc", "inputs": {"wave": "audio.wave"}, "outputs": {"scores": "x.scores", "lens": "x.lens"}})),
    Fault(40, "asr", put(f"{_OUT}.optional", True), near=put(f"{_OUT}.optional", False)),
    Fault(41, "asr", drop(f"{_OUT}.contract"), near=put(f"{_OUT}.contract.optional", False)),
    Fault(42, "asr", put(f"{_OUT}.dtype", "fp32"),
          near=all_of(put(f"{_OUT}.dtype", "fp32"), put(f"{_OUT}.contract.dtype", "fp32"))),
    Fault(43, "asr", put(f"{_OUT}.name", "audio.other"),
          near=put("preprocessing.audio.transforms[0].name", "audio.other")),
    # The invocation binds a port that is not there (203) and leaves the one that is (205).
    Fault(44, "asr", rename(_WAVE, "w2"), also=(203,),
          near=all_of(rename(_WAVE, "w2"), rename("steps[0].outputs.wave", "w2"))),
    Fault(45, "asr", put(f"{_OUT}.contract.shape[1]", 16000),
          near=all_of(put(f"{_OUT}.contract.shape[1]", "ticks"), put(f"{_WAVE}.shape[1]", "ticks"))),
    Fault(45, "image", put("preprocessing.image.outputs[0].contract.batch_layout.axis", 1),
          near=put("preprocessing.image.transforms[1].size", {"width": 32, "height": 32})),
]  # fmt: skip
