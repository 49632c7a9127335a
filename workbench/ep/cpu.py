"""The CPU provider of ONNX Runtime: the only one whose kernels run on every machine of ours."""

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
    kernel,
)
from workbench.ep.quantized import QuantizedCache, QuantizedWeights

_RAN = "onnxruntime 1.32.0: kernel registry and one-node models that were run"
_CASTS = f"{_RAN}; in float16 ONNX Runtime computes it in float32 between two Casts of its own"
_F32_ONLY = f"{_RAN}; in float16 ONNX Runtime computes it between two Casts, while Attention has a kernel"
_EXPERTS = f"{_RAN}: gates by SiLU, rows of gate and up in turn; in float16 computed between two Casts"
_FEATURES = "do_rotary packed_qkv softcap local_window attention_bias window_cache head_sink smooth_softmax"
_DENSE = f"{_RAN} in 2, 4 and 8 bits and these blocks; accuracy_level 4 is what ORT GenAI 0.18 writes"
_QMOE = f"{_RAN} in 4 and 8 bits; blocks and default as ORT GenAI 0.18 lists them"
_KV = f"{_RAN}: int8 keys and values, a scale for each tensor or channel"

CPU = ExecutionProvider(
    name="cpu",  # no bfloat16: onnxruntime 1.32.0 has no such kernel for MatMul, Add, Mul, Where, Sigmoid
    title="ONNX Runtime CPU",
    computes=frozenset({F32, F16}),
    default_dtype=F32,
    kernels={
        GQA: kernel(F32, F16, has=_FEATURES, source=_RAN, confidence="measured"),
        MHA: kernel(F32, has="bias key_padding_mask attention_bias cache", source=_F32_ONLY, confidence="measured"),
        MOE: kernel(F32, source=_EXPERTS, confidence="measured"),
        MS_ATTENTION: kernel(F32, has="mask attention_bias", source=_F32_ONLY, confidence="measured"),
        PACKED_MHA: kernel(source=f"{_RAN}: no kernel", confidence="measured"),
        SKIP_RMS_NORM: kernel(F32, F16, BF16, source=_RAN, confidence="measured"),
        SKIP_LAYER_NORM: kernel(F32, F16, BF16, source=_RAN, confidence="measured"),
        SIMPLIFIED_LAYER_NORM: kernel(F32, F16, BF16, source=_RAN, confidence="measured"),
        LAYER_NORM: kernel(F32, F16, BF16, source=_RAN, confidence="measured"),
        MS_ROTARY: kernel(F32, F16, source=_RAN, confidence="measured"),
        ATTENTION: kernel(F32, F16, has="cache three_axes softcap float_mask", source=_RAN, confidence="measured"),
        RMS_NORM: kernel(F32, F16, source=_RAN, confidence="measured"),
        ROTARY: kernel(F32, F16, source=_RAN, confidence="measured"),
        TENSOR_SCATTER: kernel(F32, F16, source=_RAN, confidence="measured"),
        GELU: kernel(F32, F16, source=_CASTS, confidence="measured"),
        MS_GELU: kernel(F32, F16, source=_CASTS, confidence="measured"),
        BIAS_GELU: kernel(F32, F16, source=_CASTS, confidence="measured"),
        FAST_GELU: kernel(F32, F16, source=_CASTS, confidence="measured"),
    },
    quantized={
        "dense": QuantizedWeights(
            "MatMulNBits", (2, 4, 8), (16, 32, 64, 128), 32, _DENSE, "measured", accuracy_level=4
        ),
        "experts": QuantizedWeights("QMoE", (4, 8), (32, 64, 128), 32, _QMOE, "measured"),
    },
    quantized_cache=QuantizedCache(("int8_per_tensor", "int8_per_channel"), _KV, "measured"),
    ort_provider="CPUExecutionProvider",
    local_kernels=True,
)  # fmt: skip
