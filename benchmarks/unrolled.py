"""A mixture of experts written out: three matrix products for each expert, as exporters leave it. No weights' data."""

from __future__ import annotations

import dataclasses
from typing import Any

import onnx_ir as ir
from onnxscript import OpBuilder, nn

from benchmarks.building import SMALL
from workbench.components.decoder import CausalLM, Decoder, DecoderLayer
from workbench.components.mlp import GatedMLP
from workbench.components.moe import SparseMoe
from workbench.config.model_config import ModelConfig, MoeConfig

EXPERTS = 60
"""With attention and router about 690 nodes a layer."""
CONFIG = SMALL | {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_experts": EXPERTS,
    "num_experts_per_tok": 8, "moe_intermediate_size": 32, "norm_topk_prob": True,
}  # fmt: skip


class UnrolledMoe(SparseMoe):
    """The router of the dense form; then expert by expert, each weighed and added."""

    def __init__(self, config: ModelConfig, moe: MoeConfig, dtype: ir.DataType) -> None:
        super().__init__(config, moe, dtype)
        one = dataclasses.replace(config, intermediate_size=moe.moe_intermediate_size)
        each: list[nn.Module] = [GatedMLP(one, dtype) for _ in range(moe.num_experts)]
        self.experts = nn.ModuleList(each)

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        count = self.moe.num_experts
        weights = op.Split(self._weights(op, self.gate(op, x)), axis=-1, num_outputs=count, _outputs=count)
        total = None
        for expert, weight in zip(self.experts, weights, strict=True):
            part = op.Mul(expert(op, x), weight)
            total = part if total is None else op.Add(total, part)
        return total


class UnrolledLayer(DecoderLayer):
    def _mlp(self, layer: int, dtype: ir.DataType) -> nn.Module:
        assert self.config.moe is not None
        return UnrolledMoe(self.config, self.config.moe, dtype)


class UnrolledDecoder(Decoder):
    layer_class = UnrolledLayer


class UnrolledLM(CausalLM):
    decoder_class = UnrolledDecoder


def unrolled(**words: Any) -> ir.Model:
    """A generic graph; ``num_hidden_layers=1``: about 700 nodes."""
    from workbench.build import recipe_for
    from workbench.recipe import PLAIN

    recipe = recipe_for(CONFIG | words, module_class=UnrolledLM, load_weights=False)
    return recipe.generic(ir.DataType.FLOAT, PLAIN)[0]["model"]
