"""TensorRT-RTX: compiles whole graphs, so there is no kernel registry to read, only lists and what others emit."""

from __future__ import annotations

from workbench.ep.base import (
    ATTENTION,
    BF16,
    F16,
    F32,
    GELU,
    GQA,
    IF,
    LAYER_NORM,
    MHA,
    MOE,
    MS_ATTENTION,
    MS_ROTARY,
    PACKED_MHA,
    RMS_NORM,
    ROTARY,
    SIMPLIFIED_LAYER_NORM,
    SKIP_LAYER_NORM,
    SKIP_RMS_NORM,
    TENSOR_SCATTER,
    ExecutionProvider,
    Option,
    kernel,
)
from workbench.ep.quantized import QuantizedCache, QuantizedWeights

_LIST = "operator list of TensorRT 10.15's ONNX parser"
_GENAI = "ORT GenAI 0.18 emits it for NvTensorRtRtx in float16 and bfloat16; features are those that it emits"
_GQA = f"{_GENAI}; two RoPE tables in one with multi_rotary_cache_concat_offset, an option that its plugin documents"
_PLUGIN = "its plugin library holds it (onnxruntime-ep-nv-tensorrt-rtx 0.5.0); float32 was not seen"
_ATTENTION = (
    f"{_LIST}: four axes only, no cache, no softcap; TensorRT-RTX 1.7.1 refused the nodes of a generic decoder "
    '("Attention nodes with one output")'
)
_RMS = f"{_LIST} has it; ORT GenAI 0.18 writes primitives in float32 instead: acted on where both agree"
_LAYER = f"{_LIST}; ORT GenAI 0.18 keeps it for NvTensorRtRtx"
_EMITTED = "ORT GenAI 0.18 emits it for NvTensorRtRtx; no list of kernels has it and nobody ran it: not acted on"
_NOBODY = "no list has it; the first design's matrix allows packed attention, and nobody recorded or tried it"
_WRITES = "ORT GenAI 0.18 writes it for NvTensorRtRtx; not tried on a device"
_LISTS = "ORT GenAI 0.18 writes it for NvTensorRtRtx and lists these sizes (8 bits refused); not tried on a device"
_EXPERTS = "ORT GenAI 0.18 writes it for NvTensorRtRtx without zero points; its plugin library holds QMoE; not tried"

TRT_RTX = ExecutionProvider(
    name="trt-rtx",
    title="TensorRT-RTX",
    computes=frozenset({F32, F16, BF16}),
    default_dtype=F16,
    kernels={
        GQA: kernel(
            F16, BF16, has="do_rotary packed_qkv softcap local_window two_tables", source=_GQA, confidence="documented"
        ),
        MHA: kernel(source=_NOBODY, confidence="documented"),
        MOE: kernel(source=_EMITTED, confidence="documented"),
        MS_ATTENTION: kernel(source=_NOBODY, confidence="documented"),
        PACKED_MHA: kernel(source="no list of TensorRT-RTX has it", confidence="documented"),
        LAYER_NORM: kernel(F32, F16, BF16, source=_LAYER, confidence="documented"),
        MS_ROTARY: kernel(F16, BF16, source=_PLUGIN, confidence="documented"),
        ATTENTION: kernel(F32, F16, BF16, has="float_mask", source=_ATTENTION, confidence="documented"),
        RMS_NORM: kernel(source=_RMS, confidence="documented"),
        ROTARY: kernel(F32, F16, BF16, source=_LIST, confidence="documented"),
        TENSOR_SCATTER: kernel(source="nobody recorded or tried it", confidence="documented"),
        GELU: kernel(F32, F16, BF16, source=_LIST, confidence="documented"),
    },
    # ORT GenAI 0.18 emits none of these for NvTensorRtRtx. The parser takes an If; no graph with one is captured.
    forbidden=frozenset({SKIP_RMS_NORM, SKIP_LAYER_NORM, SIMPLIFIED_LAYER_NORM, IF}),
    quantized={
        "dense": QuantizedWeights("QDQ", (4,), (16, 32, 64, 128, 256), 32, _LISTS, "documented"),
        "experts": QuantizedWeights(
            "QMoE", (4, 8), (16, 32, 64, 128, 256), 128, _EXPERTS, "documented", zero_points=False
        ),
    },
    quantized_cache=QuantizedCache((), "ORT GenAI 0.18 refuses it for NvTensorRtRtx", "documented"),
    ort_provider="NvTensorRTRTXExecutionProvider",
    genai_name="NvTensorRtRtx",
    rotary_offset_option="multi_rotary_cache_concat_offset",
    provider_options={"enable_cuda_graph": Option("1", _WRITES, growing="0")},
)  # fmt: skip
