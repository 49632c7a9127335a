"""Module paths of nodes, whoever built the graph."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from workbench.analysis.scopes import scope_of, scope_of_name
from workbench.types import SCOPE_KEY

PATHS = {
    "/model/layers.3/attn/q_proj/MatMul": "model.layers.3.attn.q_proj",
    "model/layers.0/self_attn/Attention_node_11": "model.layers.0.self_attn",
    "/lm_head/MatMul": "lm_head",
    "MatMul_3": "",
    "": "",
    "/": "",
    "//a//b": "a",
    "<script>/x": "<script>",
}


@pytest.mark.parametrize("name", PATHS)
def test_names_that_are_paths(name: str) -> None:
    assert scope_of_name(name) == PATHS[name]


METADATA = {
    "ours": ({SCOPE_KEY: "model.layers.3.self_attn"}, "model.layers.3.self_attn"),
    "onnxscript": (
        {
            "namespace": ": CausalLMModel/model: TextModel/layers.0: DecoderLayer",
            "pkg.onnxscript.class_hierarchy": "['CausalLMModel', 'TextModel', 'DecoderLayer']",
            "pkg.onnxscript.name_scopes": "['', 'model', 'layers.0']",
        },
        "model.layers.0",
    ),
    "torch.onnx": (
        {
            "namespace": ": Llama/model: Decoder/model.layers.0: Layer/linear: aten.linear.default",
            "pkg.torch.onnx.class_hierarchy": "['Llama', 'Decoder', 'Layer', 'aten.linear.default']",
            "pkg.torch.onnx.name_scopes": "['', 'model', 'model.layers.0', 'linear']",
        },
        "model.layers.0",
    ),
    "namespace alone": ({"namespace": ": Llama/model: Decoder/layers.7: Layer"}, "model.layers.7"),
    "namespace of torch": (
        {"namespace": ": L/model: D/model.layers.0: Y/linear: aten.linear.default"},
        "model.layers.0",
    ),
    "damaged": ({"pkg.onnxscript.name_scopes": "['', 'mod"}, ""),
    "no list": ({"pkg.onnxscript.name_scopes": "3"}, ""),
    "nothing": ({}, "named"),
}


@pytest.mark.parametrize("case", METADATA)
def test_metadata(case: str) -> None:
    props, expected = METADATA[case]
    node = ir.node("Relu", [ir.Value(name="x")], name="named/Relu", metadata_props=props)
    assert scope_of(node) == expected


def test_a_scope_of_our_own_is_believed_first() -> None:
    props = {"pkg.onnxscript.name_scopes": "['other']", SCOPE_KEY: "ours"}
    assert scope_of(ir.node("Relu", [ir.Value(name="x")], name="/name/Relu", metadata_props=props)) == "ours"
