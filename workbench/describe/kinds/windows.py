"""A decoder some of whose layers attend to the last tokens alone: a state group for these, one for the others.

The graph itself masks what lies before a window and its cache is kept whole, so both groups grow alike; the group's
kind tells a runtime that a layer never looks further back.
"""

from __future__ import annotations

from workbench.describe import spelled
from workbench.describe.builder import WorkflowBuilder
from workbench.describe.kinds import decoder
from workbench.describe.kinds.base import Kind
from workbench.describe.subject import Subject


def fits(subject: Subject) -> bool:
    """A decoder with a growing cache and at least one layer that slides."""
    return decoder.grows(subject) and decoder.SLIDING in decoder.kinds_of_attention(subject, subject.cache())


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """The decoder's loop, and the windows for whoever runs it."""
    decoder.write(subject, builder)
    say_windows(subject, builder)


def spell(subject: Subject, builder: WorkflowBuilder) -> None:
    """Every step, and the windows for whoever runs it."""
    spelled.spell(subject, builder)
    say_windows(subject, builder)


def say_windows(subject: Subject, builder: WorkflowBuilder) -> None:
    """A note about how far the layers look."""
    layers = {pair.layer: subject.window(pair.layer) for pair in subject.cache()}
    windows = sorted({window for window in layers.values() if window})
    sliding = sum(window is not None for window in layers.values())
    builder.notes.append(
        f"{sliding} of {len(layers)} layers attend to the last {' or '.join(map(str, windows))} tokens; the graph "
        "masks the rest, and the cache keeps it."
    )


KIND = Kind("windows", "text generation with sliding windows in some or all layers", fits, write, spell)
