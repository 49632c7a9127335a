"""Feed-forward blocks."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder, nn

from workbench.components.linear import Linear


def activate(op: OpBuilder, x: ir.Value, name: str) -> ir.Value:
    """Apply an activation by its Hugging Face name (``ModelConfig.hidden_act``).

    SiLU is two nodes: onnxruntime 1.32 runs Swish in models of opset 24 only, and no provider's table lists it.
    """
    if name in ("silu", "swish"):
        return op.Mul(x, op.Sigmoid(x))
    if name == "gelu":
        return op.Gelu(x)
    if name in ("gelu_pytorch_tanh", "gelu_new"):
        return op.Gelu(x, approximate="tanh")
    return op.Relu(x)


class GatedMLP(nn.Module):
    """``down(act(gate(x)) * up(x))``, as in llama."""

    def __init__(self, hidden_size: int, intermediate_size: int, *, act: str, bias: bool, dtype: ir.DataType) -> None:
        super().__init__()
        self.act = act
        self.gate_proj = Linear(hidden_size, intermediate_size, bias=bias, dtype=dtype)
        self.up_proj = Linear(hidden_size, intermediate_size, bias=bias, dtype=dtype)
        self.down_proj = Linear(intermediate_size, hidden_size, bias=bias, dtype=dtype)

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        return self.down_proj(op, op.Mul(activate(op, self.gate_proj(op, x), self.act), self.up_proj(op, x)))
