"""Tensor contracts: dtype, rank, shape, and how the entries of several requests lie in one tensor."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict

from workbench.metadata.document.base import Bare, Closed, Flag, Text, Uint


class Shared(Bare):
    """The same for all requests."""

    kind: Literal["shared"] = "shared"


class RequestAligned(Closed):
    """One entry per request on an axis."""

    kind: Literal["request_aligned"]
    axis: Uint


class RequestExpanded(Closed):
    """A block of ``factor`` entries per request on an axis."""

    kind: Literal["request_expanded"]
    axis: Uint
    factor: Uint


class TokenPacked(Closed):
    """Ragged: the tokens of all requests in a row, with offsets and an owner per item."""

    kind: Literal["token_packed"]
    offsets: str
    owner: str
    axis: Uint


class RuntimeSequenceState(Bare):
    """Storage that belongs to the runtime."""

    kind: Literal["runtime_sequence_state"]


BatchLayout = Annotated[
    Shared | RequestAligned | RequestExpanded | TokenPacked | RuntimeSequenceState, Field(discriminator="kind")
]
SHARED = Shared()
Dimension = Annotated[int, Strict(), Field(ge=0, le=2**63 - 1)] | Text


class TensorContract(Closed):
    """What a value looks like. ``shape`` holds numbers and symbols; symbols are free names."""

    dtype: str
    rank: Uint
    shape: tuple[Dimension, ...] | None = None
    optional: Flag = False
    batch_layout: BatchLayout = SHARED

    @property
    def request_axis(self) -> int | None:
        """The axis with one entry, or one block, per request."""
        layout = self.batch_layout
        return layout.axis if isinstance(layout, RequestAligned | RequestExpanded) else None

    @property
    def row_scoped(self) -> bool:
        """Whether it differs from request to request."""
        return not isinstance(self.batch_layout, Shared)
