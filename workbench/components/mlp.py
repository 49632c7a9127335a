"""Feed-forward blocks."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder, nn

from workbench.components.activation import activate
from workbench.components.linear import Linear
from workbench.config.parts import MlpParts


class GatedMLP(nn.Module):
    """``down(act(gate(x)) * up(x))``, as in llama."""

    def __init__(self, config: MlpParts, dtype: ir.DataType) -> None:
        super().__init__()
        self.act = config.hidden_act
        width, inner, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.gate_proj = Linear(width, inner, bias=bias, dtype=dtype)
        self.up_proj = Linear(width, inner, bias=bias, dtype=dtype)
        self.down_proj = Linear(inner, width, bias=bias, dtype=dtype)

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        return self.down_proj(op, op.Mul(activate(op, self.gate_proj(op, x), self.act), self.up_proj(op, x)))


class PlainMLP(nn.Module):
    """``down(act(up(x)))``, as in GPT-2."""

    def __init__(self, config: MlpParts, dtype: ir.DataType) -> None:
        super().__init__()
        self.act = config.hidden_act
        width, inner, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.up_proj = Linear(width, inner, bias=bias, dtype=dtype)
        self.down_proj = Linear(inner, width, bias=bias, dtype=dtype)

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        return self.down_proj(op, activate(op, self.up_proj(op, x), self.act))
