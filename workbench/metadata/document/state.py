"""State cells, effects, and the contract with a serving runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from workbench.metadata.document.base import Bare, Closed, Flag, Names, Text, Uint
from workbench.metadata.document.tensor import TensorContract

Aliasing = Literal["permitted", "required", "forbidden"]
StateScope = Literal["invocation", "session"]


class Invariant(Bare):
    kind: Literal["invariant"]


class Growing(Closed):
    kind: Literal["growing"]
    axis: Uint
    increment: str
    max: str


class Bounded(Closed):
    kind: Literal["bounded"]
    axis: Uint
    max: str


Recurrence = Annotated[Invariant | Growing | Bounded, Field(discriminator="kind")]


class SessionLease(Closed):
    policy: Literal["exclusive", "copy_on_write"] = "exclusive"
    ttl_seconds: Uint | None = None
    optimistic_metadata_version: Flag = False


class StateCell(Closed):
    contract: TensorContract
    state_class: Annotated[Literal["semantic", "advisory"], Field(alias="class")] = "semantic"
    scope: StateScope
    initializer: str
    recurrence: Recurrence
    management: Literal["workflow", "runtime", "external"] = "workflow"
    release_boundary: Literal["invocation", "session", "row"] | None = None
    service_group: str | None = None
    session: SessionLease | None = None

    @property
    def varying_axis(self) -> int | None:
        """The axis that grows or is bounded; None for an invariant cell."""
        return None if isinstance(self.recurrence, Invariant) else self.recurrence.axis


class SafetyNone(Bare):
    kind: Literal["none"] = "none"


class SafetyClonable(Bare):
    kind: Literal["clonable"]


class SafetyRewindable(Closed):
    kind: Literal["rewindable"]
    max_depth: Uint


SpeculationSafety = Annotated[SafetyNone | SafetyClonable | SafetyRewindable, Field(discriminator="kind")]


class Effect(Closed):
    retry: Literal["pure", "idempotent", "transactional", "non_retryable"]
    speculation_safety: SpeculationSafety = SafetyNone()


class Append(Bare):
    kind: Literal["append"]


class Replace(Bare):
    kind: Literal["replace"]


class IndexedScatter(Closed):
    kind: Literal["indexed_scatter"]
    write_indices: Text
    capacity: Text
    write_indices_ports: Mapping[str, str] = {}
    kv_length_ports: Mapping[str, str] = {}


StateUpdate = Annotated[Append | Replace | IndexedScatter, Field(discriminator="kind")]


class Reuse(Closed):
    prefix_reusable: Flag = False
    evictable_prefix: Flag = False


class GroupCapabilities(Closed):
    rollback_positions: Uint | None = None
    snapshot: Flag = False
    fork: Flag = False
    cascade: Names = ()


class Checkpoint(Closed):
    adapter: Text
    version: Text


class PortAlias(Closed):
    """One cell of a group as a component sees it: past in, present out."""

    input: str
    output: str | None = None
    access: Literal["read_write", "read_only"] = "read_write"
    role: Literal["key", "value", "combined"] | None = None
    layer: Uint | None = None


class StateGroup(Closed):
    kind: Literal[
        "full_attention", "sliding_attention", "multi_latent_attention", "recurrent", "cross_attention", "encoder"
    ]
    sequence_axis: Uint | None = None
    layout: str
    logical_lengths: str | None = None
    aliasing: Aliasing = "forbidden"
    update: StateUpdate | None = None
    total_length: str | None = None
    reuse: Reuse = Reuse()
    capabilities: GroupCapabilities = GroupCapabilities()
    checkpoint: Checkpoint | None = None
    ports: Mapping[str, Mapping[str, PortAlias]] = {}


class StateService(Closed):
    groups: Mapping[str, StateGroup] = {}


class Serving(Closed):
    active: str
    done: str
    accepted_len: str | None = None
    state_service: StateService
