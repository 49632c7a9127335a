"""WebGPU: kernels read from, and run with, the plugin provider on software adapters."""

from __future__ import annotations

import onnx_ir as ir

from workbench.ep.base import (
    ATTENTION,
    BIAS_GELU,
    F16,
    F32,
    FAST_GELU,
    GELU,
    GQA,
    IF,
    LAYER_NORM,
    MHA,
    MOE,
    MS_ATTENTION,
    MS_GELU,
    MS_ROTARY,
    PACKED_MHA,
    RMS_NORM,
    ROTARY,
    SHAPE,
    SIMPLIFIED_LAYER_NORM,
    SKIP_LAYER_NORM,
    SKIP_RMS_NORM,
    TENSOR_SCATTER,
    ExecutionProvider,
    Option,
    kernel,
)
from workbench.ep.quantized import QuantizedCache, QuantizedWeights

_RAN = "onnxruntime-ep-webgpu 0.4.0: kernel registry and one-node models on SwiftShader and lavapipe"
_GQA = (
    f"{_RAN}; GroupQueryAttention ignores softcap on both, so it is not in the list; it normalises query and key only "
    "with do_rotary and apart from each other, and small qwen3 and gemma3 graphs with that ran whole on SwiftShader; "
    "two RoPE tables in one (multiRotaryCacheConcatOffset) came out right for packed queries and wrong for others"
)
_NO_PADDING = f"{_RAN}; MultiHeadAttention refuses key_padding_mask"
_FAR_OFF = f"{_RAN}; com.microsoft.Attention was 3e-4 off in float32 and 2 in float16, so it is not acted on"
_ABSENT = "onnxruntime-ep-webgpu 0.4.0: no kernel; such a node is left to the CPU provider"
_INT64_POSITIONS = "its kernels take int64 positions only"
_FEATURES = "do_rotary packed_qkv local_window attention_bias qk_norm head_sink smooth_softmax"
_WRITES = "ORT GenAI 0.18 writes it for webgpu; not tried on a device"
_DENSE = f"{_RAN} in 2, 4 and 8 bits, these blocks and uint8 zero points; accuracy_level 4 as ORT GenAI 0.18 writes it"
_QMOE = f"{_RAN} in 4 and 8 bits with SwiGLU; blocks and default as ORT GenAI 0.18 lists them"
_KV = f"{_RAN}: GroupQueryAttention fails on int8 keys and values, and ORT GenAI 0.18 refuses them for webgpu"

WEBGPU = ExecutionProvider(
    name="webgpu",
    title="WebGPU",
    computes=frozenset({F32, F16}),
    default_dtype=F16,
    kernels={
        GQA: kernel(F32, F16, has=_FEATURES, source=_GQA, confidence="measured"),
        MHA: kernel(F32, F16, has="bias attention_bias", source=_NO_PADDING, confidence="measured"),
        MOE: kernel(source=_ABSENT, confidence="measured"),
        MS_ATTENTION: kernel(source=_FAR_OFF, confidence="measured"),
        PACKED_MHA: kernel(source=_ABSENT, confidence="measured"),
        SKIP_RMS_NORM: kernel(F32, F16, source=_RAN, confidence="measured"),
        SKIP_LAYER_NORM: kernel(F32, F16, source=_RAN, confidence="measured"),
        SIMPLIFIED_LAYER_NORM: kernel(F32, F16, source=_RAN, confidence="measured"),
        LAYER_NORM: kernel(F32, F16, source=_RAN, confidence="measured"),
        MS_ROTARY: kernel(F32, F16, source=_RAN, confidence="measured"),
        ATTENTION: kernel(source=_ABSENT, confidence="measured"),
        RMS_NORM: kernel(F32, F16, source=_RAN, confidence="measured"),
        ROTARY: kernel(F32, F16, source=_RAN, confidence="measured"),
        TENSOR_SCATTER: kernel(source="nobody recorded or tried it", confidence="documented"),
        GELU: kernel(F32, F16, source=_RAN, confidence="measured"),
        MS_GELU: kernel(F32, F16, source=_RAN, confidence="measured"),
        BIAS_GELU: kernel(F32, F16, source=_RAN, confidence="measured"),
        FAST_GELU: kernel(F32, F16, source=_RAN, confidence="measured"),
    },
    # The plugin registers an If whose branches run partly on the CPU provider, and captures no graph that has one.
    forbidden=frozenset({SHAPE, IF}),
    index_dtype=ir.DataType.INT32,
    index_dtype_exceptions=((ROTARY, _INT64_POSITIONS), (MS_ROTARY, _INT64_POSITIONS)),
    captures_graphs=True,
    quantized={
        "dense": QuantizedWeights(
            "MatMulNBits", (2, 4, 8), (16, 32, 64, 128), 32, _DENSE, "measured", accuracy_level=4
        ),
        "experts": QuantizedWeights("QMoE", (4, 8), (32, 64, 128), 32, _QMOE, "measured", divides=True),
    },
    quantized_cache=QuantizedCache((), _KV, "measured"),
    ort_provider="WebGpuExecutionProvider",
    genai_name="webgpu",
    provider_options={
        "enableGraphCapture": Option("0", _WRITES), "validationMode": Option("basic", _WRITES),
    },
)  # fmt: skip
