"""What quantized weights and caches look like for a provider: facts, and what would be written for one of them.

Nothing here quantizes. The facts say in which form a tool has to write the weights, and refuse what the provider's
kernels, or the parser of its graphs, are not known to take.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from workbench.errors import UnsupportedError, unknown, wrong_type

if TYPE_CHECKING:
    from workbench.ep.base import Confidence, ExecutionProvider

Form = Literal["MatMulNBits", "QDQ", "QMoE"]
"""One node that holds packed weights, or DequantizeLinear before a MatMul, or the experts of a layer in one node."""
Layout = Literal["raw", "prepacked"]
"""As the operator's schema says, or as one provider's kernel reads them: the CPU kernel then computes garbage."""
PARTS = ("dense", "experts")


@dataclasses.dataclass(frozen=True)
class QuantizedWeights:
    """One form of quantized weights: sizes in bits and in weights to a block.

    ``zero_points``: asymmetric weights are taken as well. ``accuracy_level`` is what the operator's attribute is set
    to (4: activations in int8; 0: as they are). ``divides``: a block has to divide the sizes of the weight.
    """

    form: Form
    bits: tuple[int, ...]
    block_sizes: tuple[int, ...]
    block_size: int
    source: str
    confidence: Confidence
    zero_points: bool = True
    accuracy_level: int = 0
    layout: Layout = "raw"
    divides: bool = False
    checked: str = "2026-11-29"

    def __str__(self) -> str:
        parts = [
            f"{self.form} in {_or(self.bits)} bits, blocks of {self.block_size} (or {_or(self.others)})",
            "with or without zero points" if self.zero_points else "symmetric only",
            f"accuracy_level {self.accuracy_level}" if self.form == "MatMulNBits" else "",
            f"{self.layout} layout" if self.form == "QMoE" else "",
            "blocks divide both sizes" if self.divides else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def others(self) -> tuple[int, ...]:
        """Block sizes beside the default."""
        return tuple(size for size in self.block_sizes if size != self.block_size)


@dataclasses.dataclass(frozen=True)
class QuantizedCache:
    """How a cache of keys and values may be quantized: ``int8_per_tensor`` and the like."""

    schemes: tuple[str, ...]
    source: str
    confidence: Confidence
    checked: str = "2026-11-29"

    def __str__(self) -> str:
        return f"cache in {_or(self.schemes)}" if self.schemes else "cache in the dtype of the model only"


@dataclasses.dataclass(frozen=True)
class Written:
    """What would be written for a provider: the form with one choice of each size."""

    execution_provider: str
    part: str
    form: Form
    bits: int
    block_size: int
    symmetric: bool
    accuracy_level: int
    layout: Layout
    source: str
    confidence: Confidence
    checked: str

    def __repr__(self) -> str:
        kind = "symmetric" if self.symmetric else "with zero points"
        return (
            f"Written({self.part} for {self.execution_provider}: {self.form}, {self.bits} bits, blocks of "
            f"{self.block_size}, {kind}, accuracy_level {self.accuracy_level}, {self.layout})"
        )


def quantized_weights(
    execution_provider: str,
    *,
    part: str = "dense",
    bits: int = 4,
    block_size: int | None = None,
    symmetric: bool = True,
) -> Written:
    """What would be written for the ``dense`` weights or the ``experts`` of a model.

    ``block_size`` None takes the provider's default.

    Raises:
        UnknownNameError: another part, or an execution provider that nobody knows.
        ArgumentError: sizes that are no whole numbers.
        UnsupportedError: no form is known, or not with these bits, this block size or zero points; the text lists what
            is allowed.
    """
    if part not in PARTS:
        raise unknown("part of a model", part, PARTS)
    for name, size in (("bits", bits), ("block_size", block_size)):
        if isinstance(size, bool) or not isinstance(size, int) and not (size is None and name == "block_size"):
            raise wrong_type(name, size, "a whole number")
    ep = _record(execution_provider)
    fact = ep.quantized.get(part)
    if fact is None:
        why = ep.quantized_source or "nothing stated"
        raise UnsupportedError(
            f"{ep.title}: no form of quantized weights is known for {part} ({why}). "
            "Build in a float dtype, or choose another execution provider."
        )
    size = fact.block_size if block_size is None else block_size
    for name, found, allowed in (("bits", bits, fact.bits), ("block_size", size, fact.block_sizes)):
        if found not in allowed:
            raise UnsupportedError(
                f"{name}={found}: {fact.form} for {ep.name} takes {_or(allowed)} ({fact.confidence} {fact.checked}: "
                f"{fact.source}). Choose one of these."
            )
    if not symmetric and not fact.zero_points:
        raise UnsupportedError(
            f"symmetric=False: {fact.form} for {ep.name} takes no zero points ({fact.confidence} {fact.checked}: "
            f"{fact.source}). Quantize symmetrically."
        )
    return Written(
        ep.name, part, fact.form, bits, size, symmetric, fact.accuracy_level, fact.layout, fact.source,
        fact.confidence, fact.checked,
    )  # fmt: skip


def quantized_cache(execution_provider: str, scheme: str) -> QuantizedCache:
    """The fact behind a quantized cache, if the provider's attention is known to take this scheme.

    Raises:
        UnknownNameError: an execution provider that nobody knows.
        UnsupportedError: it is not; the text says what is allowed. No graph with such a cache is built here.
    """
    ep = _record(execution_provider)
    fact = ep.quantized_cache
    if fact is not None and scheme in fact.schemes:
        return fact
    allowed = _or(fact.schemes) if fact is not None and fact.schemes else "none"
    source = f"{fact.confidence} {fact.checked}: {fact.source}" if fact is not None else "nothing stated"
    raise UnsupportedError(
        f"cache {scheme!r}: GroupQueryAttention on {ep.name} is known to take {allowed} ({source}). Keep the cache in "
        "the dtype of the model."
    )


def _record(execution_provider: str) -> ExecutionProvider:
    from workbench.ep.registry import get_ep  # the registry knows the records, which hold these facts

    return get_ep(execution_provider)


def _or(words: tuple[int, ...] | tuple[str, ...]) -> str:
    *most, last = map(str, words)
    return f"{', '.join(most)} or {last}" if most else last


__all__ = ["QuantizedCache", "QuantizedWeights", "Written", "quantized_cache", "quantized_weights"]
