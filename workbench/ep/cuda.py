"""CUDA: kernels read from the registry of the shipped build; none of them has run on a machine of ours."""

from __future__ import annotations

from workbench.ep.base import (
    ATTENTION,
    BF16,
    BIAS_GELU,
    F16,
    F32,
    FAST_GELU,
    GELU,
    GQA,
    LAYER_NORM,
    MHA,
    MOE,
    MS_ATTENTION,
    MS_GELU,
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

_TABLE = "onnxruntime-gpu 1.31.1: kernel registry"
_GENAI = f"{_TABLE}; ORT GenAI 0.18 emits it for cuda"
_GQA = (
    f"{_GENAI} in float16 and bfloat16; features are those that it emits; onnxruntime's own fusion of norms of query "
    "and key (pull request 29186) asks for do_rotary and unpacked inputs"
)
_FUSED = f"{_TABLE}; ONNX Runtime's own fusions make it for cuda"
# Its pull request 27542 brought cache and bool and float masks. Sources differ about softcap (issues 27712, 28351, pull
# requests 28370, 28379: before or after the mask), so it is not in the list.
_ATTENTION = f"{_TABLE}, nodes with a cache placed on it; onnxruntime's pull request 27542; nobody emits it for cuda"
_WRITES = "ORT GenAI 0.18 writes it for cuda; not tried on a device"
_LISTS = "ORT GenAI 0.18 writes it for cuda and lists these sizes; not tried on a device"
_PACKS = f"{_LISTS}; its experts are prepacked for the kernel unless told otherwise, and run nowhere else"
_KV = "ORT GenAI 0.18 writes these for cuda; the kernel table has int8 beside float caches; not tried on a device"

CUDA = ExecutionProvider(
    name="cuda",
    title="CUDA",
    computes=frozenset({F32, F16, BF16}),
    default_dtype=F16,
    kernels={
        GQA: kernel(
            F16, BF16, has="do_rotary packed_qkv softcap local_window qk_norm window_cache head_sink", source=_GQA,
            confidence="recorded",
        ),
        MHA: kernel(
            F32, F16, BF16, has="bias key_padding_mask attention_bias", source=_FUSED, confidence="recorded"
        ),
        MOE: kernel(F32, F16, BF16, source=_GENAI, confidence="recorded"),
        MS_ATTENTION: kernel(F32, F16, BF16, has="mask attention_bias", source=_FUSED, confidence="recorded"),
        PACKED_MHA: kernel(F32, F16, source=f"{_TABLE}; no component of ours emits it", confidence="recorded"),
        SKIP_RMS_NORM: kernel(F32, F16, BF16, source=_GENAI, confidence="recorded"),
        SKIP_LAYER_NORM: kernel(F32, F16, BF16, source=_GENAI, confidence="recorded"),
        SIMPLIFIED_LAYER_NORM: kernel(F32, F16, BF16, source=_GENAI, confidence="recorded"),
        LAYER_NORM: kernel(F32, F16, BF16, source=_GENAI, confidence="recorded"),
        MS_ROTARY: kernel(F32, F16, BF16, source=_GENAI, confidence="recorded"),
        ATTENTION: kernel(
            F32, F16, BF16, has="cache three_axes float_mask", source=_ATTENTION, confidence="recorded"
        ),
        RMS_NORM: kernel(F32, F16, BF16, source=_TABLE, confidence="recorded"),
        ROTARY: kernel(F32, F16, BF16, source=_TABLE, confidence="recorded"),
        TENSOR_SCATTER: kernel(source="nobody recorded or tried it", confidence="documented"),
        GELU: kernel(F32, F16, BF16, source=_TABLE, confidence="recorded"),
        MS_GELU: kernel(F32, F16, BF16, source=_GENAI, confidence="recorded"),
        BIAS_GELU: kernel(F32, F16, BF16, source=_FUSED, confidence="recorded"),
        FAST_GELU: kernel(F32, F16, BF16, source=_GENAI, confidence="recorded"),
    },
    quantized={
        "dense": QuantizedWeights("MatMulNBits", (4, 8), (16, 32, 64, 128, 256), 32, _LISTS, "documented"),
        "experts": QuantizedWeights("QMoE", (4, 8), (32, 64, 128), 32, _PACKS, "documented", layout="prepacked"),
    },
    quantized_cache=QuantizedCache(
        ("int8_per_tensor", "int8_per_channel", "fp8_per_tensor", "fp8_per_channel"), _KV, "documented"
    ),
    ort_provider="CUDAExecutionProvider",
    genai_name="cuda",
    provider_options={"enable_cuda_graph": Option("0", _WRITES)},
)  # fmt: skip
