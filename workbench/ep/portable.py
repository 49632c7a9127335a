"""The two portable forms: no provider's kernels, so that any runtime of the ONNX standard can load the graph."""

from __future__ import annotations

from workbench.ep.base import BF16, F16, F32, SIMPLIFIED_LAYER_NORM, ExecutionProvider
from workbench.types import WB_DOMAIN

ONNX_STANDARD = ExecutionProvider(
    name="onnx-standard",
    title="ONNX standard operators only",
    computes=frozenset({F32, F16, BF16}),
    default_dtype=F32,
    kernels={},
    # ONNX Runtime registers it under the standard's domain although the standard does not have it.
    forbidden=frozenset({SIMPLIFIED_LAYER_NORM}),
    domains=frozenset({""}),
    falls_back=False,
    quantized_source="a portable form: its weights are float",
)

DEFAULT = ExecutionProvider(
    name="default",
    title="Portable: standard operators and functions with bodies",
    computes=frozenset({F32, F16, BF16}),
    default_dtype=F32,
    kernels={},
    forbidden=frozenset({SIMPLIFIED_LAYER_NORM}),
    domains=frozenset({"", WB_DOMAIN}),
    falls_back=False,
    quantized_source="a portable form: its weights are float",
)
