"""DirectML: has no wheel for Linux or macOS, so every fact here is recorded or documented, none measured."""

from __future__ import annotations

from workbench.ep.base import (
    ATTENTION,
    F16,
    F32,
    GQA,
    MS_ROTARY,
    RMS_NORM,
    ROTARY,
    SIMPLIFIED_LAYER_NORM,
    SKIP_RMS_NORM,
    ExecutionProvider,
    kernel,
)

_TABLE = "OperatorKernels.md of onnxruntime; ORT GenAI 0.18 emits it for dml"
_GENAI = (
    "OperatorKernels.md lists float32 and float16, ORT GenAI 0.18 emits float16 only: acted on where both agree; "
    "no do_rotary and no packed QKV in what it emits"
)
_ABSENT = "OperatorKernels.md of onnxruntime: not listed"

DML = ExecutionProvider(
    name="dml",
    title="DirectML",
    computes=frozenset({F32, F16}),
    default_dtype=F16,
    kernels={
        GQA: kernel(F16, has="softcap local_window", source=_GENAI, confidence="documented"),
        SKIP_RMS_NORM: kernel(F32, F16, source=_TABLE, confidence="documented"),
        SIMPLIFIED_LAYER_NORM: kernel(F32, F16, source=_TABLE, confidence="documented"),
        MS_ROTARY: kernel(F32, F16, source=_TABLE, confidence="documented"),
        ATTENTION: kernel(source=_ABSENT, confidence="documented"),
        RMS_NORM: kernel(source=_ABSENT, confidence="documented"),
        ROTARY: kernel(source=_ABSENT, confidence="documented"),
    },
    ort_provider="DmlExecutionProvider",
)
