"""What com.microsoft operators compute, in standard ONNX operators: one text per variant of a node.

ONNX Runtime never falls back to a body for a name of its own that lacks a kernel, so the bodies are functions of *our*
domain with the operator's name (``ep_workbench.GroupQueryAttention``): a rule puts such a call in the node's place, and
the portable form keeps it while others inline it. A variant is named by the features that a node uses
(``cache.do_rotary``); it takes exactly the inputs that it reads, in the order of ``INPUTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from workbench.functions.contrib import attention, gqa, moe, simple
from workbench.types import MS_DOMAIN, WB_DOMAIN, OpId

Write = Callable[[frozenset[str]], str]

_TEXTS: Mapping[str, Write] = {
    "GroupQueryAttention": gqa.text, "MultiHeadAttention": attention.text,
    "Attention": attention.packed_text, "MoE": moe.text, **simple.TEXTS,
}  # fmt: skip

CONTRIB: frozenset[OpId] = frozenset(OpId(name, MS_DOMAIN) for name in _TEXTS)
"""The operators that have bodies."""


def stand_in(use: OpId) -> OpId:
    """Our function of a com.microsoft operator."""
    return OpId(use.op_type, WB_DOMAIN)


def variant(features: Iterable[str]) -> str:
    """The overload of a function that has these features."""
    return ".".join(sorted(features)) or "plain"


def text(use: OpId, overload: str) -> str:
    """Signature and body of one variant.

    Raises:
        KeyError: no body is written for this operator.
    """
    features = frozenset() if overload == "plain" else frozenset(overload.split("."))
    return _TEXTS[use.op_type](features)


def is_contrib(use: OpId) -> bool:
    """Whether a function of ours stands for a com.microsoft operator."""
    return use.domain == WB_DOMAIN and OpId(use.op_type, MS_DOMAIN) in CONTRIB


__all__ = ["CONTRIB", "is_contrib", "stand_in", "text", "variant"]
