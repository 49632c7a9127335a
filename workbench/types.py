"""Small shared words of the workbench: frozen, and without any logic that knows an execution provider."""

from __future__ import annotations

import dataclasses
import enum
from typing import Literal

import onnx_ir as ir

from workbench.errors import unknown

MS_DOMAIN = "com.microsoft"
"""Domain of ONNX Runtime's contributed operators."""

WB_DOMAIN = "ep_workbench"
"""Domain of our semantic functions: each has a body in standard ONNX operators."""

SCOPE_KEY = "ep_workbench.scope"
"""Node metadata: dotted module path that made the node, as in ``model.layers.3.self_attn``."""

RULES_KEY = "ep_workbench.rules"
"""Node metadata: space-separated rules that made the node, oldest first (``fuse/gqa fuse/pack_qkv``)."""

REPLACES_KEY = "ep_workbench.replaces"
"""Node metadata: space-separated names of the generic graph's nodes that this rewrite removed."""

ROTARY_OFFSET_KEY = "ep_workbench.rotary_offset"
"""Metadata of an attention whose RoPE tables are two, one behind the other: the row at which the second begins, and the
number of tokens beyond which it is used."""

MissKind = Literal["fact", "precondition", "unmatched"]
"""Why a candidate was not rewritten: the kernel cannot carry it, the graph computes something else, or its form was
not recognised."""

Padding = Literal["right", "any"]
"""Padding contract of a graph: rows padded on the right only, or anywhere."""


class Stage(enum.IntEnum):
    """Stages of the pipeline, in the order in which they run."""

    CLEANUP = 0
    FUSE = 1
    LOWER = 2
    FOLD = 3


class Role(enum.StrEnum):
    """What a graph of a package does; rules name the roles they are for."""

    DECODER = "decoder"
    ENCODER = "encoder"
    VISION = "vision"
    EMBEDDING = "embedding"


@dataclasses.dataclass(frozen=True, order=True)
class OpId:
    """An operator, or one feature of it (``com.microsoft.GroupQueryAttention+do_rotary``)."""

    op_type: str
    domain: str = ""
    feature: str = ""

    @property
    def op(self) -> OpId:
        """The operator without the feature."""
        return OpId(self.op_type, self.domain)

    def __str__(self) -> str:
        domain = f"{self.domain}." if self.domain else ""
        return domain + self.op_type + (f"+{self.feature}" if self.feature else "")


@dataclasses.dataclass(frozen=True)
class GraphOptions:
    """What must be known while a generic graph is built, because a rewrite afterwards could not add it.

    ``index_dtype`` is the dtype of ``input_ids``, ``attention_mask`` and ``position_ids``. ``concrete_dims`` fixes
    symbolic dimensions of the inputs (``{"batch_size": 1, "sequence_length": 1}`` for a decode graph that is captured).
    """

    index_dtype: ir.DataType = ir.DataType.INT64
    concrete_dims: tuple[tuple[str, int], ...] = ()
    cache_length: int | None = None
    """Slots of a cache of fixed length; None: the cache grows with every step."""
    last_token_logits: bool = False
    """Logits of the last real token of each row alone: ``[B, 1, V]``."""

    def dim(self, name: str) -> str | int:
        """The dimension of that name: a number where it is fixed, else the name itself."""
        return dict(self.concrete_dims).get(name, name)


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far two runs may be apart, with where the number comes from (``reason``)."""

    atol: float
    reason: str


FLOAT_DTYPES = {
    "float32": ir.DataType.FLOAT,
    "float16": ir.DataType.FLOAT16,
    "bfloat16": ir.DataType.BFLOAT16,
}
"""Dtype words of public signatures and of the command line."""

_DTYPE_WORDS = {value: word for word, value in FLOAT_DTYPES.items()}


def parse_dtype(dtype: str | ir.DataType) -> ir.DataType:
    """The ``ir.DataType`` of a dtype word.

    Raises:
        UnknownNameError: the word is none of float32, float16, bfloat16.
    """
    if isinstance(dtype, ir.DataType) and dtype in _DTYPE_WORDS:
        return dtype
    word = str(getattr(dtype, "name", dtype)).removeprefix("torch.").lower()
    if word not in FLOAT_DTYPES:
        raise unknown("dtype", dtype if isinstance(dtype, str) else word, FLOAT_DTYPES)
    return FLOAT_DTYPES[word]


def dtype_word(dtype: ir.DataType) -> str:
    """The public word of a dtype: ``float32``, ``float16``, ``bfloat16``, otherwise ONNX's own, lowercased."""
    return _DTYPE_WORDS.get(dtype, dtype.name.lower())
