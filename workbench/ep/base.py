"""The record of an execution provider: facts with their sources, and the one question a plan asks of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Literal

import onnx_ir as ir

from workbench.ep.quantized import QuantizedCache, QuantizedWeights
from workbench.types import MS_DOMAIN, GraphOptions, OpId, dtype_word

F32, F16, BF16 = ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16

ATTENTION, ROTARY, RMS_NORM = OpId("Attention"), OpId("RotaryEmbedding"), OpId("RMSNormalization")
SIMPLIFIED_LAYER_NORM = OpId("SimplifiedLayerNormalization")
GQA = OpId("GroupQueryAttention", MS_DOMAIN)
SKIP_RMS_NORM = OpId("SkipSimplifiedLayerNormalization", MS_DOMAIN)
MS_ROTARY = OpId("RotaryEmbedding", MS_DOMAIN)
LAYER_NORM, GELU = OpId("LayerNormalization"), OpId("Gelu")
SKIP_LAYER_NORM = OpId("SkipLayerNormalization", MS_DOMAIN)
BIAS_GELU, FAST_GELU = OpId("BiasGelu", MS_DOMAIN), OpId("FastGelu", MS_DOMAIN)
MS_GELU = OpId("Gelu", MS_DOMAIN)
MOE = OpId("MoE", MS_DOMAIN)
MHA, MS_ATTENTION = OpId("MultiHeadAttention", MS_DOMAIN), OpId("Attention", MS_DOMAIN)
PACKED_MHA = OpId("PackedMultiHeadAttention", MS_DOMAIN)
SHAPE, IF, TENSOR_SCATTER = OpId("Shape"), OpId("If"), OpId("TensorScatter")

Confidence = Literal["measured", "recorded", "documented"]
"""``measured``: ran here. ``recorded``: read from the kernel table of a shipped build. ``documented``: read only."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What a provider has for one operator: the dtypes, and the features somebody saw working.

    ``has`` is a whitelist (``rules.features`` says when a node asks for one): silence means no. ``checked`` is the ISO
    date on which the source was looked at.
    """

    dtypes: frozenset[ir.DataType]
    has: frozenset[str]
    source: str
    confidence: Confidence
    checked: str = "2026-11-29"


def kernel(*dtypes: ir.DataType, has: str = "", source: str, confidence: Confidence) -> Kernel:
    """A :class:`Kernel` from plain words; ``has`` is space-separated."""
    return Kernel(frozenset(dtypes), frozenset(has.split()), source, confidence)


@dataclasses.dataclass(frozen=True)
class Option:
    """A setting with which clients load a provider's graph, as text.

    ``growing`` is its value where the cache grows with each step: capturing a graph needs buffers that stay in place.
    """

    value: str
    source: str
    confidence: Confidence = "documented"
    growing: str | None = None
    checked: str = "2026-11-29"

    def text(self, *, shares_buffer: bool) -> str:
        """The value for a graph whose cache stays in one buffer, or grows."""
        return self.value if shares_buffer or self.growing is None else self.growing


@dataclasses.dataclass(frozen=True, eq=False)
class ExecutionProvider:
    """Facts about one execution provider; it decides nothing.

    ``kernels`` states what the shipped build runs, ``forbidden`` what must not appear in its graphs. An operator
    that ``kernels`` lists runs at the listed dtypes only. One that it does not list runs if it is of the ONNX
    standard (the floor, at the dtypes in ``computes``) and does not run if it is of any other domain.
    """

    name: str
    title: str
    computes: frozenset[ir.DataType]
    """Dtypes with MatMul and elementwise kernels: without those no plan can help."""
    kernels: Mapping[OpId, Kernel]
    default_dtype: ir.DataType
    forbidden: frozenset[OpId] = frozenset()
    domains: frozenset[str] = frozenset({"", MS_DOMAIN})
    falls_back: bool = True
    """A node without a kernel goes to the CPU provider, at a cost, instead of failing."""
    index_dtype: ir.DataType = ir.DataType.INT64
    """Dtype of ids, mask and positions at the graph's boundary."""
    index_dtype_exceptions: tuple[tuple[OpId, str], ...] = ()
    """``(operator, why)`` whose kernels take nothing but int64 although ``index_dtype`` is int32."""
    captures_graphs: bool = False
    """Graph capture needs concrete dimensions at build time here."""
    ort_provider: str = ""
    """Name under which ONNX Runtime knows it; empty for a portable form that is no provider."""
    genai_name: str = ""
    """Name under which ONNX Runtime GenAI knows it in ``provider_options``; empty where no entry is written."""
    provider_options: Mapping[str, Option] = dataclasses.field(default_factory=dict)
    """What that entry holds."""
    session_options: Mapping[str, Option] = dataclasses.field(default_factory=dict)
    """Session options (``AddConfigEntry``) that this provider's graphs are loaded with."""
    quantized: Mapping[str, QuantizedWeights] = dataclasses.field(default_factory=dict)
    """The form of quantized weights: ``dense`` (projections) and ``experts``; a part that is missing has none."""
    quantized_source: str = ""
    """Why a part is missing."""
    quantized_cache: QuantizedCache | None = None
    """How keys and values may be quantized; None where nobody has stated it."""
    rotary_offset_option: str = ""
    """Provider option that says where the second of two RoPE tables begins; empty where there is none."""
    local_kernels: bool = False
    """Whether the onnxruntime package of the core dependencies carries its kernels."""

    def runs(self, use: OpId, dtype: ir.DataType) -> bool:
        """Whether the provider runs this operator (with this feature) at this dtype."""
        if use.domain not in self.domains or {use, use.op} & self.forbidden:
            return False
        fact = self.kernels.get(use.op)
        if fact is None:
            # ONNX Runtime registers SimplifiedLayerNormalization under the standard's domain; it is none of it.
            standard = use.domain == "" and use.op != SIMPLIFIED_LAYER_NORM
            return standard and (dtype in self.computes or not dtype.is_floating_point())
        return dtype in fact.dtypes and (not use.feature or use.feature in fact.has)

    def says(self, use: OpId, dtype: ir.DataType) -> str:
        """The fact behind :meth:`runs`, in words with its source: what would have to be corrected to change it."""
        if use.domain not in self.domains:
            return f"operators of domain {use.domain!r} have no place in its graphs"
        if {use, use.op} & self.forbidden:
            return f"{use.op} must not remain in its graphs"
        fact = self.kernels.get(use.op)
        if fact is None:
            if use.domain or use.op == SIMPLIFIED_LAYER_NORM:
                return f"nobody has stated a kernel of {use.op}"
            return f"{use.op} is of the standard, which runs in {_words(self.computes)} where no fact says otherwise"
        where = f"({fact.confidence} {fact.checked}: {fact.source})"
        if dtype in fact.dtypes and use.feature and use.feature not in fact.has:
            return f"the kernel of {use.op} is not known to do {use.feature} {where}"
        return f"{use.op} has {f'kernels in {_words(fact.dtypes)}' if fact.dtypes else 'no kernel'} {where}"

    def graph_options(self, *, graph_capture: bool = False) -> GraphOptions:
        """What a graph for this provider has to be built with."""
        dims = (("batch_size", 1), ("sequence_length", 1)) if graph_capture else ()
        return GraphOptions(index_dtype=self.index_dtype, concrete_dims=dims)

    def __repr__(self) -> str:
        return f"ExecutionProvider({self.name!r}, computes={_words(self.computes)}, kernels={len(self.kernels)})"


def _words(dtypes: Iterable[ir.DataType]) -> str:
    return ", ".join(sorted(dtype_word(dtype) for dtype in dtypes))
