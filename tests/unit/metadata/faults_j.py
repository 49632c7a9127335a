"""Group J. The scores of the asr base become sound: float32, or the bytes of a file."""

from __future__ import annotations

from typing import Any

from tests.unit.metadata.edits import Edit, Fault, all_of, drop, put

_OUT = "out.scores"
_WAV = {"container": "wav", "encoding": "pcm_s16_le", "sample_rate_hz": 16000, "channels": 1}


def _sound(**media: Any) -> Edit:
    return all_of(put(f"{_OUT}.role", "audio"), put(f"{_OUT}.media", _WAV | media))


def _without(word: str) -> Edit:
    return all_of(_sound(), drop(f"{_OUT}.media.{word}"))


def _everywhere(dtype: str) -> Edit:
    return all_of(put(f"{_OUT}.contract.dtype", dtype), put("comp.enc.ports.outputs.scores.dtype", dtype))


_INT16 = _everywhere("int16")

FAULTS = [
    Fault(113, "asr", put(f"{_OUT}.media", _WAV), near=_sound()),
    Fault(114, "asr", _sound(sample_rate_hz=0), near=_sound(sample_rate_hz=1)),
    Fault(115, "asr", _sound(source_sample_rate_hz=0), near=_sound(source_sample_rate_hz=1)),
    Fault(116, "asr", _sound(channels=0), near=_sound(channels=1)),
    Fault(117, "asr", _without("sample_rate_hz"), near=_sound(delivery="streaming")),
    Fault(118, "asr", _without("channels"), near=all_of(_sound(), drop(f"{_OUT}.media"))),
    Fault(119, "asr", all_of(_sound(), put(f"{_OUT}.stage", "post_adapter")),
          near=all_of(_sound(), put(f"{_OUT}.stage", "post_adapter"), _everywhere("uint8"))),
    Fault(120, "asr", all_of(_sound(), _INT16), near=all_of(_sound(container="raw"), _INT16)),
    Fault(121, "image", drop("out.picture.value_range"), near=put("out.picture.value_range", "zero_to_255")),
    Fault(122, "dec", put("out.tokens.value_range", "zero_to_one"), near=put("out.tokens.value_range", None)),
]  # fmt: skip
