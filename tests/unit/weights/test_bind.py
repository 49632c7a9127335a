"""Binding: names, shapes and dtypes, and every tensor accounted for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx_ir as ir
import pytest

from workbench.errors import WeightsError
from workbench.weights.bind import BindReport, bind

FLOAT, HALF = ir.DataType.FLOAT, ir.DataType.FLOAT16
EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def graph(parameters: Mapping[str, tuple[int, ...] | None], dtype: ir.DataType | None = FLOAT) -> ir.Model:
    """A graph whose parameters have a name, a shape and no data, and one constant that has."""
    values = [
        ir.Value(name=n, shape=ir.Shape(s) if s is not None else None, type=ir.TensorType(dtype) if dtype else None)
        for n, s in parameters.items()
    ]
    constant = ir.Value(name="constant", const_value=ir.tensor(np.ones(2, np.float32), name="constant"))
    made = ir.Graph([], [], nodes=[], initializers=[*values, constant], opset_imports={"": 24}, name="g")
    return ir.Model(made, ir_version=11)


def tensor(*shape: int, dtype: type = np.float32, seed: int = 0) -> ir.TensorProtocol:
    return ir.tensor(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def value(model: ir.Model, name: str) -> ir.Value:
    return model.graph.initializers[name]


def test_the_same_dtype_is_bound_as_it_is() -> None:
    model, weights = graph({"a": (2, 3), "b": (4,)}), {"a": tensor(2, 3), "b": tensor(4)}
    report = bind(model, weights, dtype=FLOAT)
    assert report == BindReport(bound=("a", "b")) and report.complete
    assert value(model, "a").const_value is weights["a"] and value(model, "b").const_value is weights["b"]
    assert repr(report) == "BindReport(2 bound)"
    np.testing.assert_array_equal(value(model, "constant").const_value.numpy(), np.ones(2))


def test_another_dtype_is_cast_when_read_and_not_kept() -> None:
    model, weights = graph({"a": (2, 3)}, HALF), {"a": tensor(2, 3)}
    bind(model, weights, dtype=HALF)
    bound = value(model, "a").const_value
    assert bound is not None and bound.dtype == HALF and bound.nbytes == 12 and bound.name == "a"
    np.testing.assert_array_equal(bound.numpy(), weights["a"].numpy().astype(np.float16))
    assert bound.numpy() is not bound.numpy()


def test_a_declared_dtype_wins_and_an_undeclared_one_is_set() -> None:
    model = graph({"a": (2,)}, HALF)
    bind(model, {"a": tensor(2)}, dtype=FLOAT)
    assert value(model, "a").const_value.dtype == HALF
    model = graph({"a": None}, None)
    bind(model, {"a": tensor(2, 5)}, dtype=HALF)
    assert value(model, "a").dtype == HALF and tuple(value(model, "a").shape) == (2, 5)


def test_integers_stay_integers() -> None:
    model = graph({"a": (3,)}, None)
    bind(model, {"a": ir.tensor(np.arange(3))}, dtype=HALF)
    assert value(model, "a").dtype == ir.DataType.INT64


def test_all_faults_are_named_and_nothing_is_bound() -> None:
    model = graph({f"p{i}": (1,) for i in range(7)} | {"good": (2,), "bad": (2, 3)})
    with pytest.raises(WeightsError) as caught:
        bind(model, {"good": tensor(2), "bad": tensor(3, 2), "stranger": tensor(1)}, dtype=FLOAT)
    text = str(caught.value)
    assert "7 missing: p0, p1, p2, p3, p4, ...;" in text and "p5" not in text
    assert "1 of another shape: bad (found 3x2, expected 2x3)" in text
    assert "1 unexpected: stranger (the graph has no parameter of this name)" in text
    assert "1 fit." in text and "config.json belongs to these weights" in text
    assert all(value(model, name).const_value is None for name in ("good", "bad", "p0"))


def test_not_strict_binds_what_fits_and_reports_the_rest() -> None:
    model = graph({"good": (2,), "bad": (2,), "lost": (2,)})
    report = bind(model, {"good": tensor(2), "bad": tensor(3), "<x>": tensor(1)}, dtype=FLOAT, strict=False)
    assert report.bound == ("good",) and report.missing == ("lost",) and not report.complete
    assert report.wrong_shape == (("bad", (3,), (2,)),) and report.unexpected[0][0] == "<x>"
    assert repr(report) == "BindReport(1 bound, 1 missing, 1 unexpected, 1 wrong shape)"
    assert value(model, "good").const_value is not None and value(model, "bad").const_value is None
    frame = report.to_frame()
    assert list(frame.columns) == ["verdict", "name", "detail"]
    assert list(frame.verdict) == ["missing", "wrong_shape", "unexpected", "bound"]
    html = report._repr_html_()
    assert "&lt;x&gt;" in html and "<x>" not in html and "weights 3, graph 2" in html


def test_rotary_buffers_are_ignored() -> None:
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    report = bind(graph({"a": (2,)}), {"a": tensor(2), name: tensor(8)}, dtype=FLOAT)
    assert report.complete and report.ignored == ((name, "a buffer that RoPE computes anew"),)


def test_an_equal_head_of_a_tied_graph_is_ignored() -> None:
    embedding = tensor(5, 4)
    copy = ir.tensor(embedding.numpy().copy())
    report = bind(graph({EMBED: (5, 4)}), {EMBED: embedding, HEAD: copy}, dtype=FLOAT)
    assert report.complete and report.ignored[0][0] == HEAD


@pytest.mark.parametrize("head", [tensor(5, 4, seed=1), tensor(4, 5)])
def test_another_head_of_a_tied_graph_is_not(head: ir.TensorProtocol) -> None:
    with pytest.raises(WeightsError, match=r"lm_head.weight \(it differs from model.embed_tokens.weight, but the"):
        bind(graph({EMBED: (5, 4)}), {EMBED: tensor(5, 4), HEAD: head}, dtype=FLOAT)


def test_an_untied_graph_takes_its_head() -> None:
    model = graph({EMBED: (5, 4), HEAD: (5, 4)})
    assert bind(model, {EMBED: tensor(5, 4), HEAD: tensor(5, 4, seed=1)}, dtype=FLOAT).bound == (EMBED, HEAD)
    with pytest.raises(WeightsError, match="1 missing: lm_head.weight"):
        bind(graph({EMBED: (5, 4), HEAD: (5, 4)}), {EMBED: tensor(5, 4)}, dtype=FLOAT)
