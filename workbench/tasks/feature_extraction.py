"""Feature extraction: tokens in, the last hidden states out."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnxscript import nn

from workbench.tasks.base import finish, new_builder
from workbench.types import GraphOptions, Role


class FeatureExtraction:
    """``input_ids, attention_mask, token_type_ids [B, S]`` to ``last_hidden_state [B, S, E]``."""

    name = "feature-extraction"
    roles = {"model": Role.ENCODER}

    def build(self, module: nn.Module, config: Any, dtype: ir.DataType, options: GraphOptions) -> dict[str, ir.Model]:
        """The one generic graph of an encoder."""
        builder = new_builder("encoder")
        shape = [options.dim("batch_size"), options.dim("sequence_length")]
        inputs = [
            builder.input(name, options.index_dtype, shape)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        hidden = module(builder.op, *inputs)
        hidden.shape = ir.Shape([*shape, config.hidden_size])
        builder.add_output(hidden, "last_hidden_state")
        return {"model": finish(builder)}
