"""Execution providers as facts: one record a file, known by name."""

from __future__ import annotations

from workbench.ep.base import BF16, F16, F32, ExecutionProvider, Kernel, Option, kernel
from workbench.ep.quantized import QuantizedCache, QuantizedWeights, quantized_cache, quantized_weights
from workbench.ep.registry import (
    default_comparison,
    ep_of_client,
    execution_providers,
    get_ep,
    register_ep,
    unregister_ep,
)  # fmt: skip

__all__ = [
    "BF16",
    "F16",
    "F32",
    "ExecutionProvider",
    "Kernel",
    "Option",
    "QuantizedCache",
    "QuantizedWeights",
    "default_comparison",
    "ep_of_client",
    "execution_providers",
    "get_ep",
    "kernel",
    "quantized_cache",
    "quantized_weights",
    "register_ep",
    "unregister_ep",
]
