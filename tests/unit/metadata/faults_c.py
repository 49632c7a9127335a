"""Group C."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, all_of, drop, put, rename

_MAX = "generation.overrides.max_new_tokens"
_BARE = all_of(drop("pipeline"), drop("profiles"))

FAULTS = [
    Fault(17, "dec", rename(_MAX, " "), near=rename(_MAX, "top_k")),
    Fault(18, "dec", _BARE, near=put("generation.overrides", {})),
    Fault(19, "dec", put(f"{_MAX}.input", "nope"), near=drop(f"{_MAX}.constraint")),
    Fault(20, "dec", put(f"{_MAX}.input", "mask"), near=put(f"{_MAX}.input", "prompt")),
    Fault(21, "dec", put(f"{_MAX}.constraint.minimum", 129), near=put(f"{_MAX}.constraint.minimum", 128)),
]
