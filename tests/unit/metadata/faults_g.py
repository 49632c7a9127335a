"""Group G. What follows from it, an unknown value of an unknown component, is not told."""

from __future__ import annotations

from tests.unit.metadata.edits import Fault, add, all_of, copied, put, rename

FAULTS = [
    Fault(98, "dec", put("steps[0].steps[1].component", "sampler"),
          near=all_of(rename("comp.policy", "sampler"), put("steps[0].steps[1].component", "sampler"))),
    Fault(99, "dec", add("steps[0].carried", {"cell": "ghost", "next": "n.done"}),
          near=all_of(copied("state.done", "state.ghost"),
                      add("steps[0].carried", {"cell": "ghost", "next": "n.done"}))),
]  # fmt: skip
