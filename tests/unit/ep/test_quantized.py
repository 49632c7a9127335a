"""Quantized forms as facts: what would be written for a provider, and what is refused with the list of what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from workbench.analysis.capabilities import capabilities
from workbench.ep import execution_providers, get_ep, quantized_cache, quantized_weights
from workbench.ep.quantized import PARTS
from workbench.errors import ArgumentError, UnknownNameError, UnsupportedError
from workbench.support import support
from workbench.types import MS_DOMAIN

# Form, default block, zero points, accuracy level, layout: as ORT GenAI 0.18's builder decides for each provider.
WRITTEN = {
    ("cpu", "dense"): ("MatMulNBits", 32, True, 4, "raw"),
    ("cuda", "dense"): ("MatMulNBits", 32, True, 0, "raw"),
    ("dml", "dense"): ("MatMulNBits", 32, True, 0, "raw"),
    ("webgpu", "dense"): ("MatMulNBits", 32, True, 4, "raw"),
    ("trt-rtx", "dense"): ("QDQ", 32, True, 0, "raw"),
    ("cpu", "experts"): ("QMoE", 32, True, 0, "raw"),
    ("cuda", "experts"): ("QMoE", 32, True, 0, "prepacked"),
    ("webgpu", "experts"): ("QMoE", 32, True, 0, "raw"),
    ("trt-rtx", "experts"): ("QMoE", 128, False, 0, "raw"),
}


def test_the_table() -> None:
    found = {}
    for name in execution_providers():
        for part in PARTS:
            try:
                made = quantized_weights(name, part=part)
            except UnsupportedError:
                continue
            found[name, part] = (
                made.form, made.block_size, get_ep(name).quantized[part].zero_points, made.accuracy_level, made.layout,
            )  # fmt: skip
            assert made.block_size in get_ep(name).quantized[part].block_sizes and made.source and made.confidence
    assert found == WRITTEN


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("cpu", {"block_size": 48}, "block_size=48: MatMulNBits for cpu takes 16, 32, 64 or 128 (measured 2026-11-29: "),
    ("trt-rtx", {"bits": 8}, "bits=8: QDQ for trt-rtx takes 4 (documented 2026-11-29: "),
    ("webgpu", {"part": "experts", "block_size": 16}, "block_size=16: QMoE for webgpu takes 32, 64 or 128 (measured "),
    ("trt-rtx", {"part": "experts", "symmetric": False}, "symmetric=False: QMoE for trt-rtx takes no zero points ("),
    ("dml", {"part": "experts"}, "DirectML: no form of quantized weights is known for experts (OperatorKernels.md "),
    ("default", {}, "Portable: standard operators and functions with bodies: no form of quantized weights is known "),
]


@pytest.mark.parametrize(("name", "words", "text"), REFUSED)
def test_what_is_not_taken_is_refused_with_what_is(name: str, words: dict[str, Any], text: str) -> None:
    with pytest.raises(UnsupportedError) as refused:
        quantized_weights(name, **words)
    assert str(refused.value).startswith(text)


def test_words_that_are_none() -> None:
    with pytest.raises(UnknownNameError, match="part of a model"):
        quantized_weights("cpu", part="embeddings")
    with pytest.raises(UnknownNameError, match="'cupid'"):
        quantized_weights("cupid")
    for words in ({"bits": "4"}, {"block_size": 32.0}, {"bits": None}, {"block_size": True}):
        with pytest.raises(ArgumentError, match="a whole number"):
            quantized_weights("cpu", **words)


def test_a_choice_says_itself() -> None:
    assert repr(quantized_weights("trt-rtx", part="experts", block_size=64)) == (
        "Written(experts for trt-rtx: QMoE, 4 bits, blocks of 64, symmetric, accuracy_level 0, raw)"
    )


def test_quantized_caches() -> None:
    """BP 2: listed where the attention's kernel takes one; elsewhere refused with what is allowed."""
    assert quantized_cache("cpu", "int8_per_channel").confidence == "measured"
    assert "int8_per_tensor" in quantized_cache("cuda", "int8_per_tensor").schemes
    with pytest.raises(UnsupportedError) as refused:
        quantized_cache("cpu", "fp8_per_tensor")
    assert "on cpu is known to take int8_per_tensor or int8_per_channel (measured" in str(refused.value)
    with pytest.raises(UnsupportedError, match="on webgpu is known to take none .measured"):
        quantized_cache("webgpu", "int8_per_tensor")
    with pytest.raises(UnsupportedError, match="on default is known to take none .nothing stated"):
        quantized_cache("default", "int8_per_tensor")


def test_they_are_shown() -> None:
    rows = capabilities(["trt-rtx"], dtypes=["float16"]).where(op="experts weights").facts
    assert [(f.kind, f.holds, f.confidence) for f in rows] == [("quantized", True, "documented")]
    assert "symmetric only" in rows[0].feature
    none = capabilities(["dml"], dtypes=["float16"]).where(op="experts weights").facts[0]
    assert (none.holds, none.feature, none.source) == (False, "no form is known", get_ep("dml").quantized_source)
    found = support("smollm2-135m", "cpu")
    assert found.quantized[0].startswith("dense: MatMulNBits in 2, 4 or 8 bits, blocks of 32")
    assert found.quantized[-1] == "cache in int8_per_tensor or int8_per_channel (measured)"
    assert "Quantized: dense: MatMulNBits" in found._repr_html_() and support("smollm2-135m", "default").quantized == ()


@pytest.mark.parametrize("bits", get_ep("cpu").quantized["dense"].bits)
@pytest.mark.parametrize("block_size", get_ep("cpu").quantized["dense"].block_sizes)
def test_the_cpu_kernel_takes_what_the_fact_says(bits: int, block_size: int, tmp_path: Path) -> None:
    """One node a form, with a known weight: each block holds one number, so the product is known."""
    import onnxruntime

    N, K, half = 3, 2 * block_size, 1 << (bits - 1)
    blocks, per_byte = K // block_size, 8 // bits
    one = sum((half + 1) << (bits * i) for i in range(per_byte))  # every weight is one step above zero
    packed = np.full((N, blocks, block_size // per_byte), one, np.uint8)
    scales = np.arange(1, N * blocks + 1, dtype=np.float32).reshape(N, blocks) / 8
    x = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([1, K]))
    weights = [ir.Value(name=n, const_value=ir.tensor(a, name=n), type=ir.TensorType(ir.tensor(a).dtype),
                        shape=ir.Shape(a.shape)) for n, a in (("b", packed), ("s", scales))]  # fmt: skip
    words = {"K": K, "N": N, "bits": bits, "block_size": block_size}
    node = ir.node("MatMulNBits", [x, *weights], words, domain=MS_DOMAIN)
    node.outputs[0].name, node.outputs[0].type = "y", x.type
    graph = ir.Graph([x], node.outputs, nodes=[node], initializers=weights, name="one",
                     opset_imports={"": 21, MS_DOMAIN: 1})  # fmt: skip
    ir.save(ir.Model(graph, ir_version=10), tmp_path / "one.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "one.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": np.ones((1, K), np.float32)})[0]
    assert np.allclose(found, block_size * scales.sum(1)[None], rtol=1e-5)
