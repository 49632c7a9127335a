"""A decoder with a cache of fixed length.

Where the graph can be told the slot of each row (``cache_ports``), the workflow says every step: the cursor is a
state cell, policy graphs choose the token, move the cursor and end rows, and the cache is written by indexed scatter.
Where an operator finds the slot by itself in the mask, the runtime's decode loop runs the graph on buffers of that
length.
"""

from __future__ import annotations

from workbench.describe import spelled
from workbench.describe.builder import WorkflowBuilder
from workbench.describe.cache_ports import KV_LENGTHS, WRITE_INDICES, can_be_told, with_cache_ports
from workbench.describe.kinds import decoder
from workbench.describe.kinds.base import Kind
from workbench.describe.spelled import Spelled
from workbench.describe.subject import PAST, Subject

_ROOM = "Prompt and answer together have at most {} tokens: the slots of the cache."


def fits(subject: Subject) -> bool:
    """A decoder whose cache has a fixed length."""
    ends = decoder.is_decoder(subject) or is_told(subject)
    return ends and subject.graphs["model"].capacity(PAST[0]) is not None


def is_told(subject: Subject) -> bool:
    """Whether the graph has the ports already, as in a folder that was exported."""
    told = (WRITE_INDICES, KV_LENGTHS)
    return decoder.is_decoder(subject, told) and set(told) <= set(subject.graphs["model"].inputs)


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """By indexed scatter where the graph can be told the slot, else by the runtime's decode loop."""
    capacity, model = subject.graphs["model"].capacity(PAST[0]), subject.package.models["model"]
    assert capacity is not None
    if is_told(subject):
        Spelled(subject, builder, capacity, told=True).write()
    elif can_be_told(model):
        builder.models["model"] = with_cache_ports(model)
        builder.notes.append(f"The graph takes {WRITE_INDICES} and {KV_LENGTHS} in place of a mask and positions.")
        Spelled(subject.with_model("model", builder.models["model"]), builder, capacity, told=True).write()
    else:
        decoder.write(subject, builder, capacity=capacity)
    builder.notes.append(_ROOM.format(capacity))


def spell(subject: Subject, builder: WorkflowBuilder) -> None:
    """Every step, whoever finds the slot."""
    if is_told(subject) or can_be_told(subject.package.models["model"]):
        write(subject, builder)
    else:
        spelled.spell(subject, builder)
        builder.notes.append(_ROOM.format(subject.graphs["model"].capacity(PAST[0])))


KIND = Kind("static_cache", "text generation with a cache of fixed length", fits, write, spell)
