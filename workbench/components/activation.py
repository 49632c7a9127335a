"""Activations by their Hugging Face names (``ModelConfig.hidden_act``)."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder

TANH_GELUS = ("gelu_pytorch_tanh", "gelu_new", "gelu_fast")
"""Three spellings of one formula in transformers: Gelu with the tanh approximation."""


def activate(op: OpBuilder, x: ir.Value, name: str) -> ir.Value:
    """Apply an activation.

    SiLU is two nodes: onnxruntime 1.32 runs Swish in models of opset 24 only, and no provider's table lists it.
    """
    if name in ("silu", "swish"):
        return op.Mul(x, op.Sigmoid(x))
    if name == "gelu":
        return op.Gelu(x)
    if name in TANH_GELUS:
        return op.Gelu(x, approximate="tanh")
    if name == "relu2":
        positive = op.Relu(x)
        return op.Mul(positive, positive)
    return op.Tanh(x) if name == "tanh" else op.Relu(x)
