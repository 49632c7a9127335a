"""A mixture of experts in its canonical dense form: every expert is computed and weighed, most of them by zero.

The form is exact and needs standard operators only; a rule may turn it into a sparse kernel.
"""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder, nn

from workbench.components.activation import activate
from workbench.config.model_config import ModelConfig, MoeConfig


class Experts(nn.Module):
    """Weights of all experts: ``gate_up_proj [N, 2F, E]`` (gate rows first), ``down_proj [N, E, F]``."""

    def __init__(self, config: ModelConfig, moe: MoeConfig, dtype: ir.DataType) -> None:
        super().__init__()
        count, inner, width = moe.num_experts, moe.moe_intermediate_size, config.hidden_size
        self.act = config.hidden_act
        self.gate_up_proj = nn.Parameter([count, 2 * inner, width], dtype=dtype)
        self.down_proj = nn.Parameter([count, width, inner], dtype=dtype)

    def forward(self, op: OpBuilder, x: ir.Value, weights: ir.Value) -> ir.Value:
        """``x [B, S, E]`` through every expert, summed with ``weights [B, S, N]``."""
        x_B1SE = op.Unsqueeze(x, [1])
        gate_up = op.MatMul(x_B1SE, op.Transpose(self.gate_up_proj, perm=[0, 2, 1]))  # [B, N, S, 2F]
        gate, up = op.Split(gate_up, axis=-1, num_outputs=2, _outputs=2)
        inner = op.Mul(activate(op, gate, self.act), up)
        out_BNSE = op.MatMul(inner, op.Transpose(self.down_proj, perm=[0, 2, 1]))
        weights_BNS1 = op.Unsqueeze(op.Transpose(weights, perm=[0, 2, 1]), [-1])
        return op.ReduceSum(op.Mul(out_BNSE, weights_BNS1), [1], keepdims=0)


class SparseMoe(nn.Module):
    """Router and experts: softmax over all experts, the best few kept, their weights made to sum to 1 if asked.

    The router's probabilities are computed in float32 whatever the model's dtype, as Hugging Face does.
    """

    def __init__(self, config: ModelConfig, moe: MoeConfig, dtype: ir.DataType) -> None:
        super().__init__()
        self.moe, self.dtype = moe, dtype
        self.gate = Router(config.hidden_size, moe.num_experts, dtype)
        self.experts = Experts(config, moe, dtype)

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        scores = self.gate(op, x)
        return self.experts(op, x, self._weights(op, scores))

    def _weights(self, op: OpBuilder, scores: ir.Value) -> ir.Value:
        """``[B, S, N]``, zero for experts that were not chosen."""
        wide = scores if self.dtype == ir.DataType.FLOAT else op.Cast(scores, to=ir.DataType.FLOAT)
        probabilities = op.Softmax(wide, axis=-1)
        best, chosen = op.TopK(probabilities, [self.moe.num_experts_per_tok], axis=-1, _outputs=2)
        if self.moe.norm_topk_prob:
            best = op.Div(best, op.ReduceSum(best, [-1], keepdims=1))
        zeros = op.Mul(probabilities, 0.0)
        weights = op.ScatterElements(zeros, chosen, best, axis=-1)
        return weights if self.dtype == ir.DataType.FLOAT else op.Cast(weights, to=self.dtype)


class Router(nn.Module):
    """``scores [B, S, N] = x [B, S, E] @ weight [N, E]^T``."""

    def __init__(self, hidden_size: int, num_experts: int, dtype: ir.DataType) -> None:
        super().__init__()
        self.weight = nn.Parameter([num_experts, hidden_size], dtype=dtype)

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        return op.MatMul(x, op.Transpose(self.weight, perm=[1, 0]))
