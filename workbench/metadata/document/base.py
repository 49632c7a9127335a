"""What every mapping of the document is made from: closed, open or without fields; and the scalar types."""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic
from pydantic import ConfigDict, Field, Strict

_UINT64 = 2**64 - 1
_CONFIG = ConfigDict(frozen=True, defer_build=True, protected_namespaces=())


class Closed(pydantic.BaseModel):
    """A mapping whose keys are all known: any other key is a fault."""

    model_config = ConfigDict(**_CONFIG, extra="forbid")


class Open(pydantic.BaseModel):
    """A mapping that may hold more than is known here; what is not known is kept."""

    model_config = ConfigDict(**_CONFIG, extra="allow")


class Bare(Closed):
    """A kind without fields. The reference lets other keys pass beside it: they are ignored, with a warning."""


# Text is never made from a number, a number never from text or a truth value.
Uint = Annotated[int, Strict(), Field(ge=0, le=_UINT64)]
Positive = Annotated[int, Strict(), Field(ge=1, le=_UINT64)]
Uint32 = Annotated[int, Strict(), Field(ge=0, le=2**32 - 1)]
Positive32 = Annotated[int, Strict(), Field(ge=1, le=2**32 - 1)]
Uint16 = Annotated[int, Strict(), Field(ge=0, le=2**16 - 1)]
Int32 = Annotated[int, Strict(), Field(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Strict(), Field(ge=-(2**63), le=2**63 - 1)]
Flag = Annotated[bool, Strict()]
Number = Annotated[float, Strict()]
Text = Annotated[str, Strict(), Field(min_length=1)]
Names = tuple[str, ...]
Texts = tuple[Text, ...]
Scalar = Flag | Int64 | Number | str
Equivalence = Literal["bitwise", "distribution_preserving", "semantic"]
