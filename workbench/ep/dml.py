"""DirectML: has no wheel for Linux or macOS, so every fact here is recorded or documented, none measured."""

from __future__ import annotations

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
    SIMPLIFIED_LAYER_NORM,
    SKIP_LAYER_NORM,
    SKIP_RMS_NORM,
    TENSOR_SCATTER,
    ExecutionProvider,
    Option,
    kernel,
)
from workbench.ep.quantized import QuantizedCache, QuantizedWeights

_LISTED = "OperatorKernels.md of onnxruntime, section of the DML provider"
_TABLE = f"{_LISTED}; ORT GenAI 0.18 emits it for dml"
_FUSED = f"{_LISTED}; ONNX Runtime's own fusions make it"
_GENAI = (
    "OperatorKernels.md lists float32 and float16, ORT GenAI 0.18 emits float16 only: acted on where both agree; "
    "no do_rotary and no packed QKV in what it emits"
)
_ABSENT = "OperatorKernels.md of onnxruntime: not listed for the DML provider"
# The client captures unless told not to, and refuses to where the cache is no shared buffer (measured texts, 0.18).
_WRITES = "ORT GenAI 0.18 writes it for dml; not tried on a device"
_LISTS = "ORT GenAI 0.18 writes it for dml and lists these sizes; OperatorKernels.md has MatMulNBits"
_NO_QMOE = "OperatorKernels.md lists no QMoE, and ORT GenAI 0.18 refuses int4 experts for dml"

DML = ExecutionProvider(
    name="dml",
    title="DirectML",
    computes=frozenset({F32, F16}),
    default_dtype=F16,
    kernels={
        GQA: kernel(F16, has="softcap local_window", source=_GENAI, confidence="documented"),
        MHA: kernel(F32, F16, has="bias key_padding_mask attention_bias", source=_FUSED, confidence="documented"),
        MOE: kernel(source=_ABSENT, confidence="documented"),
        MS_ATTENTION: kernel(F32, F16, has="mask", source=_FUSED, confidence="documented"),
        PACKED_MHA: kernel(source=_ABSENT, confidence="documented"),
        SKIP_RMS_NORM: kernel(F32, F16, source=_TABLE, confidence="documented"),
        SKIP_LAYER_NORM: kernel(F32, F16, source=_TABLE, confidence="documented"),
        SIMPLIFIED_LAYER_NORM: kernel(F32, F16, source=_TABLE, confidence="documented"),
        LAYER_NORM: kernel(F32, F16, source=_TABLE, confidence="documented"),
        MS_ROTARY: kernel(F32, F16, source=_TABLE, confidence="documented"),
        ATTENTION: kernel(source=_ABSENT, confidence="documented"),
        RMS_NORM: kernel(source=_ABSENT, confidence="documented"),
        ROTARY: kernel(source=_ABSENT, confidence="documented"),
        TENSOR_SCATTER: kernel(source="nobody recorded or tried it", confidence="documented"),
        GELU: kernel(source=_ABSENT, confidence="documented"),
        MS_GELU: kernel(F32, F16, source=_TABLE, confidence="documented"),
        FAST_GELU: kernel(F32, F16, source=_TABLE, confidence="documented"),
        BIAS_GELU: kernel(F32, F16, source=_FUSED, confidence="documented"),
    },
    # OperatorKernels.md lists If; ORT GenAI 0.18 emits none for dml and its EP matrix forbids it: acted on.
    forbidden=frozenset({IF}),
    quantized={"dense": QuantizedWeights("MatMulNBits", (4, 8), (16, 32, 64, 128, 256), 32, _LISTS, "documented")},
    quantized_source=_NO_QMOE,
    quantized_cache=QuantizedCache((), "ORT GenAI 0.18 refuses it for dml", "documented"),
    ort_provider="DmlExecutionProvider",
    genai_name="dml",
    provider_options={"enable_graph_capture": Option("1", _WRITES, growing="0")},
)  # fmt: skip
