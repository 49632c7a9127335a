"""Weights into a graph's parameters: by name, shapes checked, every tensor accounted for."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import onnx_ir as ir

from workbench.errors import WeightsError
from workbench.weights.lazy import cast, same_values

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["verdict", "name", "detail"]
_ROTARY_BUFFER = re.compile(r"(^|\.)rotary_emb\.inv_freq$")
_HEAD, _EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
_FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE)
_SHOWN = 5


@dataclasses.dataclass(frozen=True)
class BindReport:
    """What became of every parameter of a graph and every tensor of the weights.

    ``wrong_shape`` holds (name, shape of the weights, shape of the graph); ``unexpected`` and ``ignored`` hold
    (name, why). ``wrong_dtype`` holds (name, dtype of the weights): whole numbers where the graph wants fractions.
    """

    bound: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unexpected: tuple[tuple[str, str], ...] = ()
    wrong_shape: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    wrong_dtype: tuple[tuple[str, str], ...] = ()

    @property
    def complete(self) -> bool:
        """Every parameter has its tensor and every tensor its place."""
        return not (self.missing or self.unexpected or self.wrong_shape or self.wrong_dtype)

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{len(getattr(self, field))} {field.replace('_', ' ')}"
            for field in ("missing", "unexpected", "wrong_shape", "wrong_dtype", "ignored")
            if getattr(self, field)
        )
        return f"BindReport({len(self.bound)} bound{', ' + counts if counts else ''})"

    def rows(self) -> list[tuple[str, str, str]]:
        """(verdict, name, detail), faults first."""
        shapes = [
            ("wrong_shape", n, f"weights {_shape(found)}, graph {_shape(want)}") for n, found, want in self.wrong_shape
        ]
        return [
            *(("missing", name, "no such tensor in the weights") for name in self.missing),
            *shapes,
            *(("wrong_dtype", name, f"weights {dtype}") for name, dtype in self.wrong_dtype),
            *(("unexpected", name, why) for name, why in self.unexpected),
            *(("ignored", name, why) for name, why in self.ignored),
            *(("bound", name, "") for name in self.bound),
        ]

    def to_frame(self) -> pd.DataFrame:
        """A row per name: verdict, name, detail."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=COLUMNS)

    def _repr_html_(self) -> str:
        import html

        faults = [row for row in self.rows() if row[0] != "bound"]
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in faults)
        head = "".join(f"<th>{column}</th>" for column in COLUMNS)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if faults else ""
        return f"<div><p>{html.escape(repr(self))}</p>{table}</div>"


def bind(
    model: ir.Model, weights: Mapping[str, ir.TensorProtocol], *, dtype: ir.DataType, strict: bool = True
) -> BindReport:
    """Give every parameter (an initializer without a value) of the main graph the tensor of its name.

    A parameter that declares a float dtype keeps it, one without gets ``dtype``; a tensor of another dtype
    becomes a lazy cast, so nothing is read or copied. With ``strict`` nothing is bound unless all is well.

    Raises:
        WeightsError: (strict) a parameter has no tensor or one of another shape, or a tensor has no place.
    """
    parameters = {n: v for n, v in model.graph.initializers.items() if v.const_value is None}
    report, plan = _match(model, parameters, weights)
    if strict and not report.complete:
        raise WeightsError(_message(report))
    for name, tensor in plan.items():
        _set(parameters[name], tensor, dtype)
    return report


def _match(
    model: ir.Model, parameters: Mapping[str, ir.Value], weights: Mapping[str, ir.TensorProtocol]
) -> tuple[BindReport, dict[str, ir.TensorProtocol]]:
    plan, missing, wrong, odd = {}, [], [], []
    for name, value in parameters.items():
        if name not in weights:
            missing.append(name)
            continue
        found, wanted = tuple(weights[name].shape.numpy()), _value_shape(value)
        if wanted is not None and found != wanted:
            wrong.append((name, found, wanted))
        elif weights[name].dtype not in _FLOATS and value.dtype in _FLOATS:
            odd.append((name, weights[name].dtype.name.lower()))
        else:
            plan[name] = weights[name]
    unexpected: list[tuple[str, str]] = []
    ignored: list[tuple[str, str]] = []
    for name in weights:
        if name in parameters:
            continue
        kept, why = _left_over(name, model, weights)
        (ignored if kept else unexpected).append((name, why))
    report = BindReport(tuple(plan), tuple(missing), tuple(unexpected), tuple(wrong), tuple(ignored), tuple(odd))
    return report, plan


def _left_over(name: str, model: ir.Model, weights: Mapping[str, ir.TensorProtocol]) -> tuple[bool, str]:
    """Whether a tensor without a parameter is harmless, and why."""
    if _ROTARY_BUFFER.search(name):
        return True, "a buffer that RoPE computes anew"
    if name == _HEAD and _EMBEDDING in weights and _EMBEDDING in model.graph.initializers:
        if same_values(weights[_HEAD], weights[_EMBEDDING]):
            return True, f"equal to {_EMBEDDING}, which the tied graph uses"
        return False, (
            f"it differs from {_EMBEDDING}, but the config ties them (tie_word_embeddings); "
            "set tie_word_embeddings to false in the config"
        )
    return False, "the graph has no parameter of this name"


def _set(value: ir.Value, tensor: ir.TensorProtocol, dtype: ir.DataType) -> None:
    wanted = value.dtype if value.dtype is not None else dtype if tensor.dtype in _FLOATS else tensor.dtype
    bound = cast(tensor, wanted, value.name) if wanted in _FLOATS else tensor
    value.const_value = bound
    value.type = ir.TensorType(bound.dtype)
    if value.shape is None:
        value.shape = ir.Shape(tensor.shape.numpy())


def _value_shape(value: ir.Value) -> tuple[int, ...] | None:
    if value.shape is None or not value.shape.is_static():
        return None
    return value.shape.numpy()


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape) or "scalar"


def _message(report: BindReport) -> str:
    """All faults by kind, at most five names of each, and what to do."""
    parts = []
    if report.missing:
        parts.append(f"{len(report.missing)} missing: {_some(report.missing)}")
    if _HEAD in report.missing and _EMBEDDING in report.bound:
        parts.append(
            f"tie_word_embeddings is false in the config, so {_HEAD} is needed; if the model shares its embedding "
            "with the head, set it to true"
        )
    if report.wrong_shape:
        shapes = [f"{n} (found {_shape(f)}, expected {_shape(w)})" for n, f, w in report.wrong_shape]
        parts.append(f"{len(shapes)} of another shape: {_some(shapes)}")
    if report.wrong_dtype:
        dtypes = [f"{name} ({dtype})" for name, dtype in report.wrong_dtype]
        parts.append(f"{len(dtypes)} of a dtype that is no float, as in quantized checkpoints: {_some(dtypes)}")
    if report.unexpected:
        parts.append(f"{len(report.unexpected)} unexpected: {_some([f'{n} ({why})' for n, why in report.unexpected])}")
    return (
        f"The weights do not fit the graph of this config; {'; '.join(parts)}. {len(report.bound)} fit. "
        "Check that config.json belongs to these weights; load_weights=False builds the graph without them."
    )


def _some(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
