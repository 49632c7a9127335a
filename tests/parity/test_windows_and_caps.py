"""Sliding windows and capped scores: carried by the kernel that has them, spelled out for one that has not."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx_ir as ir
import pytest

from tests import make_goldens
from tests.cases import CASES
from tests.modules import filled
from tests.parity.running import RowLogits, alone, batch, distance, run
from workbench import CausalLM, ModelConfig, Package, build_from_module
from workbench.models import lookup
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.types import MS_DOMAIN

BOUND = 1e-5
WINDOW, CAP = 8, 1.5
CASE = CASES["gqa"]
LAYERS = CASE.hf["num_hidden_layers"]


def _config(**changes: object) -> ModelConfig:
    return dataclasses.replace(lookup("llama").config(CASE.hf), **changes)


def _build(config: ModelConfig, execution_provider: str, dtype: str = "float32", padding: str = "right") -> Package:
    return build_from_module(
        filled(CausalLM, CASE.seed), config, execution_provider=execution_provider, dtype=dtype, padding=padding,
    )  # fmt: skip


def _gqa(package: Package) -> list[ir.Node]:
    return [n for n in package.model.graph if (n.domain, n.op_type) == (MS_DOMAIN, "GroupQueryAttention")]


def _expected(package: Package) -> list[RowLogits]:
    with OrtCpuSession(package.generic["model"]) as session:
        return alone(session, CASE.rows, CASE.decode)


def _worst(package: Package, expected: list[RowLogits]) -> float:
    found = run(package.model, CASE.rows, CASE.decode, package.padding)
    return max(distance(logits, expected) for logits in found.values())


@pytest.mark.parametrize("name", ["cpu", "webgpu"])
def test_the_kernel_carries_the_window(name: str) -> None:
    package = _build(_config(sliding_window=WINDOW), name)
    assert [node.attributes["local_window_size"].value for node in _gqa(package)] == [WINDOW] * LAYERS
    assert _worst(package, _expected(package)) <= BOUND


@pytest.mark.parametrize("name", ["default", "onnx-standard", "dml"])
def test_without_a_kernel_the_mask_carries_the_window(name: str) -> None:
    package = _build(_config(sliding_window=WINDOW), name)
    assert _gqa(package) == []
    assert _worst(package, _expected(package)) <= BOUND


@pytest.mark.parametrize("name", ["cpu", "webgpu"])
def test_the_bias_carries_the_window_under_any_padding(name: str) -> None:
    package = _build(_config(sliding_window=WINDOW), name, padding="any")
    assert all("local_window_size" not in node.attributes for node in _gqa(package))
    assert len(_gqa(package)) == LAYERS
    expected = _expected(package)
    with OrtCpuSession(package.model) as session:
        left = batch(session, CASE.rows, CASE.decode, "left", package.padding)
    assert distance(left, expected) <= BOUND
    assert _worst(package, expected) <= BOUND


def test_only_the_sliding_layers_slide() -> None:
    kinds = ("full_attention", "sliding_attention", "full_attention")
    package = _build(_config(sliding_window=WINDOW, layer_types=kinds), "cpu")
    windows = [node.attributes.get("local_window_size") for node in _gqa(package)]
    assert [window and window.value for window in windows] == [None, WINDOW, None]
    assert _worst(package, _expected(package)) <= BOUND


@pytest.mark.torch
def test_the_window_is_mistrals() -> None:
    """Mistral is a llama with a window: Hugging Face's model with the same weights, each row alone."""
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    values = {k: v for k, v in CASE.hf.items() if k not in ("model_type", "attention_bias", "mlp_bias")}
    model = MistralForCausalLM(MistralConfig(**values, sliding_window=WINDOW, attn_implementation="eager"))
    state = {name: torch.from_numpy(array) for name, array in CASE.weights.items()}
    model.load_state_dict(state)
    model = model.float().eval()
    expected = [make_goldens.row_logits(model, row, decode) for row, decode in zip(CASE.rows, CASE.decode, strict=True)]
    package = _build(_config(sliding_window=WINDOW), "cpu")
    assert distance(_expected(package), expected) <= 5e-5


def test_window_and_cap_change_the_numbers() -> None:
    """Else the tests above would prove nothing: every row is longer than the window."""
    assert min(CASE.lengths) > WINDOW
    plain = _expected(_build(_config(), "default"))
    assert distance(_expected(_build(_config(sliding_window=WINDOW), "default")), plain) > 0.1
    assert distance(_expected(_build(_config(attn_logit_softcapping=CAP), "default")), plain) > 0.01


def test_cpu_carries_the_cap() -> None:
    package = _build(_config(attn_logit_softcapping=CAP), "cpu")
    assert [node.attributes["softcap"].value for node in _gqa(package)] == [CAP] * LAYERS
    assert _worst(package, _expected(package)) <= BOUND


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_webgpu_refuses_the_cap_as_a_fact(dtype: str) -> None:
    package = _build(_config(attn_logit_softcapping=CAP), "webgpu", dtype)
    misses = [miss for miss in package.report.misses if miss.rule == "fuse/gqa"]
    assert [(m.scope, m.kind, m.reason) for m in misses] == [
        (f"model.layers.{i}.self_attn", "fact", "the kernel does not apply softcap (1.5)") for i in range(LAYERS)
    ]
    ops = {node.op_type for node in package.model.graph}
    assert not ops & {"Attention", "GroupQueryAttention", "Shape"}
    lowering = next(rule for rule in package.report.rules if rule.rule == "lower/attention")
    assert (lowering.candidates, lowering.applied) == (LAYERS, LAYERS)
    expected = _expected(_build(_config(attn_logit_softcapping=CAP), "default"))
    bound = BOUND if dtype == "float32" else 2 * distance(_expected(package), expected)
    assert _worst(package, expected) <= bound


def test_the_cap_is_that_of_the_formula() -> None:
    """One head, one key of past: scores by hand, ``cap * tanh(q.k * scale / cap)``."""
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((1, 3, 16)).astype(np.float32) * 3 for _ in range(3))
    scores = CAP * np.tanh(q[0] @ k[0].T * 16**-0.5 / CAP)
    scores[np.triu_indices(3, 1)] = -np.inf
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    found = _attention(q, k, v)
    assert np.abs(found - weights @ v[0]).max() < 1e-5


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The standard's Attention as our components emit it, run by ONNX Runtime."""
    import onnxruntime as ort
    from onnx import TensorProto as T
    from onnx import helper

    mask = helper.make_tensor("mask", T.BOOL, [1, 1, 3, 3], np.tri(3, dtype=bool).ravel().tolist())
    node = helper.make_node(
        "Attention", ["q", "k", "v", "mask"], ["y"], q_num_heads=1, kv_num_heads=1, scale=16**-0.5, softcap=CAP
    )
    inputs = [helper.make_tensor_value_info(n, T.FLOAT, [1, 3, 16]) for n in "qkv"]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", T.FLOAT, None)], [mask])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"q": q, "k": k, "v": v})[0][0]
