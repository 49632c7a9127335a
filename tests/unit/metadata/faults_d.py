"""Group D."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, all_of, drop, put

_DECODING = "profiles.words.decoding"
_VOCABULARY = f"{_DECODING}.vocabulary"
_FOLDING = {"kind": "folding", "version": "1", "outputs": {"x": "nope"}}
_IGNORED = _FOLDING | {"requirement": "ignorable"}

FAULTS = [
    Fault(22, "dec", put("profiles.fold", _FOLDING), near=put("profiles.fold", _IGNORED)),
    Fault(23, "dec", put("profiles.chat.outputs.tokens", "nope"), near=put("profiles.chat.outputs.text", "tokens")),
    Fault(24, "dec", all_of(drop("pipeline"), drop("generation")), near=put("profiles.chat.outputs", {})),
    Fault(25, "asr", drop(_DECODING), near=all_of(drop(_DECODING), put("profiles.words.kind", "reward"),
                                                 put("profiles.words.batch_invariance", "row_independent"))),
    Fault(26, "asr", drop(f"{_DECODING}.lengths"),
          near=all_of(drop(f"{_DECODING}.lengths"), put("profiles.words.batch_invariance", "row_independent"))),
    Fault(27, "asr", drop(f"{_DECODING}.blank_id"),
          near=all_of(drop(f"{_DECODING}.blank_id"), put(f"{_DECODING}.kind", "greedy_argmax"))),
    Fault(28, "asr", put(f"{_DECODING}.time_axis", 2), near=put(f"{_DECODING}.time_axis", 0)),
    Fault(29, "asr", put(f"{_DECODING}.lengths", "nope"), near=put(f"{_DECODING}.lengths", "logits")),
    Fault(30, "asr", put(f"{_VOCABULARY}.tokens", []),
          near=all_of(put(f"{_VOCABULARY}.tokens", []), put(f"{_VOCABULARY}.source", "tokenizer"))),
    Fault(31, "asr", put(f"{_VOCABULARY}.size", 4), near=drop(f"{_VOCABULARY}.size")),
    Fault(32, "asr", put(f"{_VOCABULARY}.word_delimiter", "_"), near=put(f"{_VOCABULARY}.word_delimiter", "A")),
    Fault(33, "asr", put(f"{_VOCABULARY}.ignored_tokens", ["<unk>"]), near=put(f"{_VOCABULARY}.ignored_tokens", ["A"])),
    Fault(34, "asr", put(f"{_DECODING}.blank_id", 3), near=put(f"{_DECODING}.blank_id", 2)),
]  # fmt: skip
